'use strict'

const { define, own } = require('./native.js')

const { apply } = Reflect

/** Functions of a module that is loaded by the first call of one of them. */
function lazily(load, names) {
  const functions = {}
  for (let index = 0; index < names.length; index++) {
    const name = names[index]
    const call = { [name]: (...args) => apply(load()[name], undefined, args) }[name]
    define(functions, name, own(call))
  }
  return functions
}

module.exports = { lazily }
