'use strict'

const { createColors } = require('picocolors')

/**
 * Colours for a stream, as functions of text: none for a pipe, a dumb terminal, or where NO_COLOR or FORCE_COLOR=0 ask for none. NO_COLOR has
 * the last word.
 */
function coloursFor(stream, env) {
  return createColors(isColoured(stream, env))
}

function isColoured(stream, { NO_COLOR, FORCE_COLOR, TERM }) {
  if (NO_COLOR) return false
  if (FORCE_COLOR !== undefined) return FORCE_COLOR !== '0' && FORCE_COLOR !== 'false'
  return stream.isTTY === true && TERM !== 'dumb'
}

module.exports = { coloursFor }
