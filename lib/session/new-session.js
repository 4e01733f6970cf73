'use strict'

// The beginning of a new session: its file's name, and its first record.

const { SESSION_FILE_ID_PREFIX_LENGTH } = require('./constants.js')
const { stringify } = require('../builtins.js')

/** With `fileName: 'minutes'`, this many characters of the session id end the file's name. */
const SHORT_PREFIX_LENGTH = 8

/** The form of a file's name, for the addon. */
function nameOf({ sessionId, fileName }) {
  const nameHasSeconds = fileName === 'seconds'
  const idPrefix = sessionId.slice(0, nameHasSeconds ? SESSION_FILE_ID_PREFIX_LENGTH : SHORT_PREFIX_LENGTH)
  return { __proto__: null, nameHasSeconds, idPrefix }
}

/** The payload of `session_start`, as JSON. */
function startPayload({ sessionId, projectHash, workspaceDirs, cwd, provider, model }, startTime) {
  return stringify({ sessionId, projectHash, workspaceDirs, cwd, provider, model, startTime })
}

module.exports = { nameOf, startPayload }
