'use strict'

const { apply, defineProperty } = Reflect

/** The functions of a module, by their names. The module is loaded by the first call of one of them. */
function lazily(load) {
  const get = (_, name) => ({ [name]: (...args) => apply(load()[name], undefined, args) })[name]
  return new Proxy({}, { __proto__: null, get })
}

/** Gives an object a member of a module. The module is loaded when the member is looked at. To all else it is an ordinary property. */
function defineLazily(object, name, load) {
  const define = (value) => defineProperty(object, name, { __proto__: null, value, writable: true, enumerable: true, configurable: true })
  const get = () => {
    define(load()[name])
    return object[name]
  }
  defineProperty(object, name, { __proto__: null, get, set: define, enumerable: true, configurable: true })
}

module.exports = { lazily, defineLazily }
