'use strict'

const { createColors } = require('picocolors')

/** @typedef {ReturnType<typeof coloursFor>} Colours */

/**
 * Functions that colour text for a stream. They change nothing for a pipe, a dumb terminal, and with NO_COLOR or FORCE_COLOR=0; NO_COLOR
 * takes precedence over FORCE_COLOR.
 * @param {NodeJS.WriteStream} stream
 * @param {NodeJS.ProcessEnv} env
 */
function coloursFor(stream, env) {
  return createColors(isColoured(stream, env))
}

/** @type {(stream: NodeJS.WriteStream, env: NodeJS.ProcessEnv) => boolean} */
function isColoured(stream, { NO_COLOR, FORCE_COLOR, TERM }) {
  if (NO_COLOR) return false
  if (FORCE_COLOR !== undefined) return FORCE_COLOR !== '0' && FORCE_COLOR !== 'false'
  return stream.isTTY === true && TERM !== 'dumb'
}

module.exports = { coloursFor }
