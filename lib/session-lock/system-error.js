'use strict'

/**
 * Whether an error of the file system has a code, such as `ENOENT`. The message begins with it too: where all objects inherit a `code` that cannot
 * be set, Node's errors have none of their own.
 */
function hasCode(error, code) {
  return error?.code === code || (error instanceof Error && error.message.startsWith(`${code}:`))
}

/** Whether a path that gave this error has no file. */
function isAbsence(error) {
  return hasCode(error, 'ENOENT') || hasCode(error, 'ENOTDIR')
}

module.exports = { hasCode, isAbsence }
