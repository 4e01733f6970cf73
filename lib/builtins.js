'use strict'

// The addon, and the built-in functions that this library uses. They are captured at load time, so that a test suite that replaces
// timers or JSON later does not break a running replay. `Date.now` is not captured, because recordings must show faked time.

// The global timers may be absent or those of a browser, as in jsdom.
const timers = require('node:timers')

const { defineProperty: define, hasOwn, keys, setPrototypeOf } = Object
const { parse, stringify } = JSON
const { isArray } = Array

/** Whether a timer function is a fake, which would never run its callback by itself. Fake timers have this property. */
function isFaked(timer) {
  return hasOwn(timer, 'clock')
}

/** The time of a monotonic clock in milliseconds. (Loading `performance` takes Node.js a millisecond.) */
const { uptime } = process
function elapsed() {
  return uptime() * 1000
}

/** A method as a function that takes `this` as its first argument. */
const uncurried = (method) => Function.prototype.call.bind(method)

/**
 * Parses the JSON text of an object and removes its prototype, so that missing members are `undefined` even if `Object.prototype` is
 * polluted. Throws if the text is not that of an object.
 */
function parseRecord(text) {
  return record(parse(text))
}

/** Removes the prototype of a parsed object, as `parseRecord` does. Nested objects keep theirs. */
function record(parsed) {
  if (typeof parsed !== 'object' || parsed === null) throw new TypeError('The text is not that of an object')
  return setPrototypeOf(parsed, null)
}

/** The property descriptor of an ordinary property. */
function own(value) {
  return { __proto__: null, value, writable: true, enumerable: true, configurable: true }
}

/** Adds a property. Calls no inherited setter; if there is none, an assignment is several times as fast as a definition. */
function add(object, name, value) {
  if (name in object) define(object, name, own(value))
  else object[name] = value
}

/** Adds an element to a list. Unlike `push`, calls no inherited setter of an index. */
function append(list, value) {
  add(list, list.length, value)
}

/** Adds the members of `fields` to an object and returns it. Unlike `Object.assign`, calls no inherited setters. */
function withFields(object, fields) {
  const names = keys(fields)
  for (let index = 0; index < names.length; index++) add(object, names[index], fields[names[index]])
  return object
}

/** The JSON text of a plain value. Ignores a `toJSON` method of a polluted prototype. */
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
  native: require('./binding/addon.js'),
  parse,
  parseRecord,
  record,
  stringify,
  plainJson,
  define,
  own,
  hasOwn,
  append,
  withFields,
  join: uncurried(Array.prototype.join),
  slice: uncurried(Array.prototype.slice),
  substring: uncurried(String.prototype.substring),
  RealDate: Date,
  queueMicrotask: globalThis.queueMicrotask ?? process.nextTick,
  setTimeout: timers.setTimeout,
  elapsed,
  nextTurn: isFaked(timers.setImmediate) ? undefined : timers.setImmediate,
}
