'use strict'

const { EDQUOT } = require('node:os').constants.errno

/**
 * Whether an error of the file system has a code, such as `ENOENT`. The message begins with it too: where all objects inherit a `code` that cannot
 * be set, Node's errors have none of their own.
 */
function hasCode(error, code) {
  nameQuota(error)
  return error?.code === code || (error instanceof Error && error.message.startsWith(`${code}:`))
}

/**
 * Gives an error its code if the disk quota is used up. libuv has no name for that, so that Node's error has the code `Unknown system error -122`.
 * Returns the error.
 */
function nameQuota(error) {
  if (error instanceof Error && EDQUOT !== undefined && error.errno === -EDQUOT) {
    const { syscall, path } = error
    const at = path === undefined ? '' : ` '${path}'`
    set(error, 'code', 'EDQUOT')
    set(error, 'message', `EDQUOT: disk quota exceeded, ${syscall}${at}`)
  }
  return error
}

const set = (error, key, value) =>
  Object.defineProperty(error, key, { __proto__: null, value, writable: true, configurable: true, enumerable: key === 'code' })

/** Whether a path that gave this error has no file. */
function isAbsence(error) {
  return hasCode(error, 'ENOENT') || hasCode(error, 'ENOTDIR')
}

module.exports = { hasCode, nameQuota, isAbsence }
