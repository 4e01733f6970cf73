'use strict'

const { parse, define, own, push, slice, substring } = require('./native.js')
const { getOwnPropertyNames } = Object

/** The kinds of codes, and how many there can be: as `src/jsonl/tape.rs` has them. */
const OBJECT = 0
const ARRAY = 1
const NARROW = 2
const WIDE = 3
const NAME = 4
const TEXT = 5
const JSON_TEXT = 6
const INTEGER = 7
const NUMBER = 8
const TRUE = 9
const FALSE = 10
const MAX_CODES = 32 << 10

/**
 * The batch that is being built. These are variables of the module, not properties: the function that reads them is what a replay
 * spends its time in. Nothing else runs between the first value of a batch and its last.
 */
let codes
let at = 0
let names
/** Which names are also those of something that all objects inherit, by number; undefined if none is. */
let inherited
let narrow = ''
let narrowAt = 0
let wide = ''
let wideAt = 0
let texts

/** The bits of a number, as codes and as the number. */
const halves = new Int32Array(2)
const number = new Float64Array(halves.buffer)

/**
 * Builds the values on the tape of a batch, which `job` has: what `JSON.parse` makes of their texts. Appends as many of them to each array
 * as the batch says.
 */
function appendValues(job, batch, items, events, checkpoints, results) {
  begin(job, batch)
  const append = hasIndices(Array.prototype) || hasIndices(Object.prototype) ? appendDefined : appendPushed
  try {
    append(items, batch.items)
    append(events, batch.events)
    append(checkpoints, batch.checkpoints)
    append(results, batch.results)
  } finally {
    // The pools live as long as strings that were cut off them, and no longer.
    names = texts = inherited = undefined
    narrow = wide = ''
  }
}

function appendPushed(all, count) {
  for (let left = count; left > 0; left--) push(all, value())
}

/** The same, slower: pushing would call a setter of that index that arrays inherit. */
function appendDefined(all, count) {
  for (let left = count; left > 0; left--) define(all, all.length, own(value()))
}

/** Whether a prototype has a property whose name is an index. Such names come first. */
function hasIndices(prototype) {
  return /^\d/.test(getOwnPropertyNames(prototype)[0])
}

function begin(job, batch) {
  codes ??= new Int32Array(MAX_CODES)
  job.codes(codes)
  at = 0
  names = batch.names
  inherited = undefined
  for (let index = 0; index < names.length; index++) {
    // Setting a property of this name might do something else than to add it.
    if (names[index] in Object.prototype) define((inherited ??= []), index, own(true))
  }
  narrow = job.narrow()
  narrowAt = 0
  wide = batch.wide ? job.wide() : ''
  wideAt = 0
  texts = job
}

function value() {
  const code = codes[at++]
  switch (code & 15) {
    case NAME:
      return names[code >> 4]
    case NARROW: {
      const start = narrowAt
      narrowAt += code >> 4
      return substring(narrow, start, narrowAt)
    }
    case OBJECT:
      return object(code >> 4)
    case ARRAY:
      return array(code >> 4)
    case INTEGER:
      return code >> 4
    case WIDE: {
      const start = wideAt
      wideAt += code >> 4
      return substring(wide, start, wideAt)
    }
    case TEXT:
      return texts.text(code >> 4)
    case JSON_TEXT:
      return parse(texts.text(code >> 4))
    case NUMBER:
      halves[0] = codes[at++]
      halves[1] = codes[at++]
      return smallest(number[0])
    case TRUE:
      return true
    case FALSE:
      return false
    default:
      return null
  }
}

/** An integer as V8 stores it best. Minus zero is none. */
function smallest(value) {
  const integer = value | 0
  return integer === value && (integer !== 0 || 1 / value > 0) ? integer : value
}

function object(members) {
  const built = {}
  for (; members > 0; members--) {
    const index = codes[at++]
    if (inherited !== undefined && inherited[index] === true) define(built, names[index], own(value()))
    else built[names[index]] = value()
  }
  return built
}

/** Arrays without holes, like those that are parsed: to whom clones or serialises them, that is a difference. */
function array(length) {
  if (length === 0) return []
  if (length === 1) return [value()]
  if (length === 2) return [value(), value()]
  if (length === 3) return [value(), value(), value()]
  const built = slice((nulls ??= manyNulls()), 0, length)
  for (let index = 0; index < length; index++) built[index] = value()
  return built
}

/** What longer arrays are copied from, to be filled: they take just the room that they need. */
let nulls

function manyNulls() {
  return parse(`[${'null,'.repeat(MAX_CODES - 1)}null]`)
}

module.exports = { appendValues }
