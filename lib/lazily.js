'use strict'

const { apply, defineProperty } = Reflect

/** Returns the functions of a module, by name. The first call of any of them loads the module. */
function lazily(load) {
  const get = (_, name) => ({ [name]: (...args) => apply(load()[name], undefined, args) })[name]
  return new Proxy({}, { __proto__: null, get })
}

/** Defines a member of a module as a property of an object. The first read loads the module, and leaves an ordinary property with the value. */
function defineLazily(object, name, load) {
  const define = (value) => defineProperty(object, name, { __proto__: null, value, writable: true, enumerable: true, configurable: true })
  const get = () => {
    define(load()[name])
    return object[name]
  }
  defineProperty(object, name, { __proto__: null, get, set: define, enumerable: true, configurable: true })
}

module.exports = { lazily, defineLazily }
