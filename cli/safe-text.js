'use strict'

const { stringified } = require('./stringify.js')

// Text out of files on its way to a terminal. Whatever could move the cursor, repaint the screen, turn the direction of reading or hide
// itself is shown as an escape instead.

/** Control characters, bidi controls, what has no width, and halves of surrogate pairs. Joiners stay: emoji are made of them. */
const UNSAFE =
  /[\p{Cc}\p{Cs}\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu

const SHORT = { 8: '\\b', 9: '\\t', 10: '\\n', 13: '\\r' }

function escape(character) {
  const code = character.codePointAt(0)
  if (SHORT[code]) return SHORT[code]
  if (code < 0x100) return `\\x${code.toString(16).padStart(2, '0')}`
  return code > 0xffff ? `\\u{${code.toString(16)}}` : `\\u${code.toString(16).padStart(4, '0')}`
}

/** A text with nothing unsafe in it. White space other than blanks is escaped too. What a file has in place of a text comes as JSON. */
function escaped(text) {
  return asText(text).replace(UNSAFE, escape)
}

/** Not by `String`: of an object it calls what stands in the file as `toString`. */
const asText = (value) => (typeof value === 'string' ? value : (stringified(value) ?? 'undefined'))

/** The same of a text of several lines, which stay lines. */
function escapedLines(text) {
  return text.split('\n').map(escaped).join('\n')
}

/** One line, no longer than `longest`, white space as single blanks. */
function printable(text, longest = 400) {
  // Cut before it is worked on: a string may be as long as a line of the file.
  const line = asText(text).slice(0, longest * 4).replace(/\s+/gu, ' ').trim()
  const letters = [...escaped(line)]
  return letters.length > longest ? `${letters.slice(0, longest - 1).join('')}…` : letters.join('')
}

module.exports = { UNSAFE, escaped, escapedLines, printable }
