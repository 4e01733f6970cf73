'use strict'

// The addon, and of JavaScript's own what it stands on. All of it is taken now: a test suite that replaces timers or JSON later
// must not stop a replay that is under way. `Date.now` is not among them: faked time is to show in recordings.

const { defineProperty: define, hasOwn, keys, setPrototypeOf } = Object
const { parse, stringify } = JSON
const { isArray } = Array

/** Fake timers mark what they put in place of the real ones. They would never come to the next turn. */
function isFaked(timer) {
  return hasOwn(timer, 'clock')
}

/** A method as a function of what it is called on. */
const uncurried = (method) => Function.prototype.call.bind(method)

/**
 * The object of a JSON text that the addon or another program wrote, without a prototype: a member that the text doesn't have is
 * `undefined`, whatever a test suite has put on `Object.prototype`. Throws if the text is not that of an object.
 */
function parseRecord(text) {
  return record(parse(text))
}

/** Takes the prototype off a parsed object, which then is a record as `parseRecord` returns it. Nested objects keep theirs. */
function record(parsed) {
  if (typeof parsed !== 'object' || parsed === null) throw new TypeError('The text is not that of an object')
  return setPrototypeOf(parsed, null)
}

/** The descriptor of an ordinary property. */
function own(value) {
  return { __proto__: null, value, writable: true, enumerable: true, configurable: true }
}

/** Defines the members of `fields` on an object. Unlike `Object.assign`, it calls no setter that the object inherits. Returns the object. */
function withFields(object, fields) {
  const names = keys(fields)
  for (let index = 0; index < names.length; index++) define(object, names[index], own(fields[names[index]]))
  return object
}

/** The JSON text of a value that this library made. A `toJSON` that all objects or arrays inherit does not change it. */
function plainJson(value) {
  const isPolluted = 'toJSON' in Object.prototype || 'toJSON' in Array.prototype
  return stringify(isPolluted ? bareCopy(value) : value)
}

function bareCopy(value) {
  if (typeof value !== 'object' || value === null) return value
  const copy = setPrototypeOf(isArray(value) ? [] : {}, null)
  const names = keys(value)
  for (let index = 0; index < names.length; index++) define(copy, names[index], own(bareCopy(value[names[index]])))
  return copy
}

module.exports = {
  native: require('../binding.js'),
  parse,
  parseRecord,
  record,
  stringify,
  plainJson,
  define,
  own,
  hasOwn,
  withFields,
  push: uncurried(Array.prototype.push),
  slice: uncurried(Array.prototype.slice),
  substring: uncurried(String.prototype.substring),
  queueMicrotask: globalThis.queueMicrotask,
  now: performance.now.bind(performance),
  nextTurn: isFaked(setImmediate) ? undefined : setImmediate,
}
