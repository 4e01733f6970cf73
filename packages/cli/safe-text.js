'use strict'

const { INVISIBLE } = require('./invisible.js')
const { stringified } = require('./stringify.js')

// Escapes text from files for a terminal: control sequences, directional controls and other characters that can't be seen.

/** @type {Record<number, string>} */
const SHORT = { 8: '\\b', 9: '\\t', 10: '\\n', 13: '\\r' }

/** @param {string} character */
function escape(character) {
  const code = /** @type {number} */ (character.codePointAt(0))
  if (SHORT[code]) return SHORT[code]
  if (code < 0x100) return `\\x${code.toString(16).padStart(2, '0')}`
  return code > 0xffff ? `\\u{${code.toString(16)}}` : `\\u${code.toString(16).padStart(4, '0')}`
}

/** Escapes a text, including white space other than blanks. Values that are not strings are shown as JSON. @param {unknown} text */
function escaped(text) {
  return asText(text).replace(INVISIBLE, escape)
}

/** Uses JSON rather than `String`, which would call a `toString` member from the file. @param {unknown} value */
const asText = (value) => (typeof value === 'string' ? value : (stringified(value) ?? 'undefined'))

/** Escapes a text of several lines, and keeps its line ends. @param {string} text */
function escapedLines(text) {
  return text.split('\n').map(escaped).join('\n')
}

/** A text on one line of at most `longest` characters, with white space collapsed to blanks. @param {unknown} text */
function printable(text, longest = 400) {
  // Truncated first, because the string may be very long.
  const line = asText(text)
    .slice(0, longest * 4)
    .replace(/\s+/gu, ' ')
    .trim()
  return shortened(escaped(line), longest)
}

/** At most `longest` characters of an escaped text. @type {(text: string, longest: number) => string} */
function shortened(text, longest) {
  if (text.length <= longest) return text
  const letters = [...text]
  // An emoji that is cut may leave a joiner, which nothing needs any more.
  return letters.length > longest
    ? `${letters
        .slice(0, longest - 1)
        .join('')
        .replace(INVISIBLE, '')}…`
    : text
}

module.exports = { escaped, escapedLines, printable, shortened }
