import os = require('node:os')

const { EDQUOT } = os.constants.errno

/**
 * Whether a file system error has a code, such as `ENOENT`. Also checks whether the message begins with the code: if objects inherit a read-only
 * `code`, Node's errors have none of their own.
 */
export function hasCode(error: unknown, code: string): boolean {
  nameQuota(error)
  return (
    (error as NodeJS.ErrnoException | undefined)?.code === code ||
    (isError(error) && error.message.startsWith(`${code}:`))
  )
}

/** Whether an error is one that the system has reported for a call. */
export function isOfSystem(error: unknown): boolean {
  nameQuota(error)
  return isError(error) && typeof error.syscall === 'string'
}

/**
 * Sets the code of an error to `EDQUOT` if the disk quota is exceeded. libuv has no name for this error, so Node's error has the code
 * `Unknown system error -122`. Returns the error.
 */
export function nameQuota<E>(error: E): E {
  if (isError(error) && EDQUOT !== undefined && error.errno === -EDQUOT) {
    const { syscall, path } = error
    const at = path === undefined ? '' : ` '${path}'`
    set(error, 'code', 'EDQUOT')
    set(error, 'message', `EDQUOT: disk quota exceeded, ${syscall}${at}`)
  }
  return error
}

const set = (error: object, key: string, value: string): void => {
  Object.defineProperty(error, key, { value, writable: true, configurable: true, enumerable: key === 'code' })
}

/** Node's errors are no instances of `Error` in another context, such as that of a test runner. */
function isError(value: unknown): value is NodeJS.ErrnoException {
  return typeof (value as Error | null | undefined)?.message === 'string'
}

/** Whether an error means that a path has no file. */
export function isAbsence(error: unknown): boolean {
  return hasCode(error, 'ENOENT') || hasCode(error, 'ENOTDIR')
}
