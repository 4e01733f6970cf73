'use strict'

// One-line summaries of events, for scanning the timeline.

/** @import { Fields } from './session/items.js' */

const LONGEST = 240
/** The number of characters that are read of a text: enough for a line even after white space is collapsed. */
const LOOKED_AT = 2000

const HASH = /^[0-9a-f]{64}$/

/** White space other than a single blank, which is the most frequent and would be replaced by itself. */
const WHITE_SPACE = /[^\S ]\s*| \s+/gu

/** Text on one line. @param {string} text */
function oneLine(text) {
  const line = text.slice(0, LOOKED_AT).replace(WHITE_SPACE, ' ').trim()
  return line.length > LONGEST ? `${line.slice(0, LONGEST - 1)}…` : line
}

/** A value on one line: strings verbatim, hashes truncated, other values as JSON. @type {(value: unknown) => string} */
function briefly(value) {
  if (typeof value === 'string') return HASH.test(value) ? `${value.slice(0, 8)}…` : oneLine(value)
  if (typeof value !== 'object' || value === null) return String(value)
  if (Array.isArray(value)) return `[${someOf(value, (item) => nested(item))}]`
  return `{${someOf(Object.entries(value), ([key, item]) => `${oneLine(key)}: ${nested(item)}`)}}`
}

/** Shows one level only, because content may be nested to any depth. @param {unknown} value */
function nested(value) {
  if (Array.isArray(value)) return value.length === 0 ? '[]' : '[…]'
  if (typeof value === 'object' && value !== null) return Object.keys(value).length === 0 ? '{}' : '{…}'
  return briefly(value)
}

/** @type {<T>(items: T[], shown: (item: T) => string) => string} */
function someOf(items, shown) {
  const first = items.slice(0, 8).map(shown)
  return [...first, ...(items.length > first.length ? ['…'] : [])].join(', ')
}

/** The fields of an object as `name value`, without the given ones. @type {(object: Fields, without: unknown[]) => string} */
function fieldsBriefly(object, without) {
  const entries = Object.entries(object).filter(([key]) => !without.includes(key))
  return oneLine(
    entries
      .slice(0, 8)
      .map(([key, value]) => `${oneLine(key)} ${briefly(value)}`)
      .join(' · '),
  )
}

module.exports = { oneLine, briefly, fieldsBriefly }
