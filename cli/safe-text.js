'use strict'

const { stringified } = require('./stringify.js')

// Escapes text from files for a terminal: control sequences, directional controls and invisible characters.

/** Control characters, bidi controls, zero-width characters and lone surrogates. Joiners are allowed, because emoji contain them. */
const UNSAFE =
  /[\p{Cc}\p{Cs}\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu

const SHORT = { 8: '\\b', 9: '\\t', 10: '\\n', 13: '\\r' }

function escape(character) {
  const code = character.codePointAt(0)
  if (SHORT[code]) return SHORT[code]
  if (code < 0x100) return `\\x${code.toString(16).padStart(2, '0')}`
  return code > 0xffff ? `\\u{${code.toString(16)}}` : `\\u${code.toString(16).padStart(4, '0')}`
}

/** Escapes a text, including white space other than blanks. Values that are not strings are shown as JSON. */
function escaped(text) {
  return asText(text).replace(UNSAFE, escape)
}

/** Uses JSON rather than `String`, which would call a `toString` member from the file. */
const asText = (value) => (typeof value === 'string' ? value : (stringified(value) ?? 'undefined'))

/** Escapes a text of several lines, and keeps its line ends. */
function escapedLines(text) {
  return text.split('\n').map(escaped).join('\n')
}

/** A text on one line of at most `longest` characters, with white space collapsed to blanks. */
function printable(text, longest = 400) {
  // Truncated first, because the string may be very long.
  const line = asText(text).slice(0, longest * 4).replace(/\s+/gu, ' ').trim()
  const letters = [...escaped(line)]
  return letters.length > longest ? `${letters.slice(0, longest - 1).join('')}…` : letters.join('')
}

module.exports = { UNSAFE, escaped, escapedLines, printable }
