'use strict'

const { UNSAFE } = require('./safe-text.js')
const { stringified } = require('./stringify.js')

/**
 * A value that came out of `JSON.parse`, as JSON text on one line. Characters that a terminal would act upon are written as `\uXXXX`, which
 * is the same value: the text may end up on a terminal.
 */
function jsonText(value) {
  return stringified(value).replace(UNSAFE, escapeUnits)
}

function escapeUnits(character) {
  return Array.from({ length: character.length }, (_, i) => `\\u${character.charCodeAt(i).toString(16).padStart(4, '0')}`).join('')
}

module.exports = { jsonText }
