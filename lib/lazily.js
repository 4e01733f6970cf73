'use strict'

const { apply } = Reflect

/** The functions of a module, by their names. The module is loaded by the first call of one of them. */
function lazily(load) {
  const get = (_, name) => ({ [name]: (...args) => apply(load()[name], undefined, args) })[name]
  return new Proxy({}, { __proto__: null, get })
}

module.exports = { lazily }
