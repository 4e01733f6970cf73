// The permissions of new recordings, as of `fs.open`: less the umask of the process, and without effect on Windows.

import { expect } from './arguments.js'

/** Recordings contain whatever was said and read, so by default no one else may read them. */
export const OWNER_ONLY = 0o600
const ALL = 0o777

/** A recorder opens its file again and again, so its owner must be able to read and write it. */
export function checkMode(mode: unknown, name: string): void {
  if (mode === undefined) return
  const isMode =
    typeof mode === 'number' && Number.isInteger(mode) && (mode & ALL) === mode && (mode & OWNER_ONLY) === OWNER_ONLY
  expect(isMode, name, 'permissions from 0o600 to 0o777 with which the owner can read and write', mode)
}
