'use strict'

// Checks of arguments. A value of the wrong type throws a TypeError with Node's code for it.

const { withFields } = require('./builtins.js')

/** The default for options. It has no prototype, so that nothing is inherited from a polluted one. */
const NO_OPTIONS = Object.freeze({ __proto__: null })

function shown(value) {
  if (typeof value === 'function') return 'a function'
  // Loaded on first use, because loading it takes Bun milliseconds.
  const { inspect } = require('node:util')
  const text = inspect(value, { depth: 0, breakLength: Infinity })
  return text.length > 60 ? `${text.slice(0, 60)}…` : text
}

function expect(holds, name, expected, value) {
  if (holds) return
  throw withFields(new TypeError(`${name} must be ${expected}, got ${shown(value)}`), { code: 'ERR_INVALID_ARG_TYPE' })
}

function isObject(value) {
  return typeof value === 'object' && value !== null
}

const check = {
  string(value, name) {
    expect(typeof value === 'string', name, 'a string', value)
  },
  stringOrNull(value, name) {
    expect(value === null || typeof value === 'string', name, 'a string or null', value)
  },
  filledString(value, name) {
    expect(typeof value === 'string' && value !== '', name, 'a non-empty string', value)
  },
  strings(value, name) {
    // `every` alone would skip holes.
    expect(Array.isArray(value) && Array.from(value).every((one) => typeof one === 'string'), name, 'an array of strings', value)
  },
  filledStrings(value, name) {
    const areFilled = Array.isArray(value) && Array.from(value).every((one) => typeof one === 'string' && one !== '')
    expect(areFilled, name, 'an array of non-empty strings', value)
  },
  object(value, name) {
    expect(isObject(value) && !Array.isArray(value), name, 'an object', value)
  },
  finiteNumber(value, name) {
    expect(Number.isFinite(value), name, 'a finite number', value)
  },
  count(value, name) {
    expect(Number.isFinite(value) && value >= 0, name, 'a number, 0 or more', value)
  },
  safeCount(value, name) {
    expect(Number.isSafeInteger(value) && value >= 0, name, 'a safe integer, 0 or more', value)
  },
  lock(value, name) {
    const isLock = isObject(value) && typeof value.release === 'function' && typeof value.ownsLock === 'function'
    expect(isLock, name, 'a session lock', value)
  },
  /** A logical time, or Infinity for the last one. */
  time(value, name) {
    const isTime = value === Infinity || (Number.isSafeInteger(value) && value >= 0)
    expect(isTime, name, 'an integer, 0 or more, or Infinity', value)
  },
  oneOf(value, name, choices) {
    expect(choices.includes(value), name, `one of ${choices.map((choice) => `'${choice}'`).join(', ')}`, value)
  },
  optional(value, name, type) {
    expect(value === undefined || typeof value === type, name, `a ${type}, if it is given`, value)
  },
  signal(value, name) {
    const usable = isObject(value) && typeof value.aborted === 'boolean' && typeof value.addEventListener === 'function'
    expect(value === undefined || usable, name, 'an AbortSignal', value)
  },
}

/**
 * Calls `checkOne` with each element of an array, including holes, and its name. The loop goes by index because array destructuring
 * calls a `return` method of a polluted Object.prototype.
 */
function checkEach(list, name, checkOne) {
  for (let index = 0; index < list.length; index++) checkOne(list[index], `${name}[${index}]`)
}

/** Checks the options of functions that keep snapshots. */
function checkSnapshotOptions(options, name = 'options') {
  check.object(options, name)
  check.optional(options.snapshot, `${name}.snapshot`, 'boolean')
  if (options.snapshotDir !== undefined) check.filledString(options.snapshotDir, `${name}.snapshotDir`)
}

/** Checks the options of functions that scan files. */
function checkScanOptions(options) {
  checkSnapshotOptions(options)
  check.optional(options.onProgress, 'options.onProgress', 'function')
  check.signal(options.signal, 'options.signal')
}

module.exports = { NO_OPTIONS, check, checkEach, checkScanOptions, checkSnapshotOptions, expect }
