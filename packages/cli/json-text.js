'use strict'

const { INVISIBLE } = require('./invisible.js')
const { stringified } = require('./stringify.js')

/**
 * The JSON text, on one line, of a value from `JSON.parse`. Characters that control a terminal are escaped as `\uXXXX`, which does not
 * change the value.
 *
 * @param {unknown} value
 */
function jsonText(value) {
  return stringified(value).replace(INVISIBLE, escapeUnits)
}

/** @param {string} character */
function escapeUnits(character) {
  return Array.from(
    { length: character.length },
    (_, i) => `\\u${character.charCodeAt(i).toString(16).padStart(4, '0')}`,
  ).join('')
}

module.exports = { jsonText }
