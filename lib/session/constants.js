'use strict'

/** The reference to the newest session that is not in use and can be resumed. */
const CONTINUE_LATEST = '__CONTINUE_LATEST__'

/** With `fileName: 'seconds'`, this many characters of the session id end the file's name. */
const SESSION_FILE_ID_PREFIX_LENGTH = 12

module.exports = { CONTINUE_LATEST, SESSION_FILE_ID_PREFIX_LENGTH }
