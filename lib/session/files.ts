// The files that belong to a session: its own, and those that this library keeps for it.

import fs = require('node:fs/promises')
import path = require('node:path')
import { check, checkNoOptions } from '../arguments.js'
import { companionsOf, ownCompanionsOf } from '../locks/companions.js'
import { hasCode } from '../system-error.js'
import { archiveOf, sessionPathOf } from './archive-name.js'

/**
 * Removes a session file, its archive, and everything that session-tape keeps next to it: the receipt of its import, the list of its
 * archive's media, the lock file of `exclusive`, and the snapshot that earlier versions kept (`<file>.snap`). Programs that delete
 * session files by age or size should call it, so that no leftover file keeps a directory from becoming empty. The lock of the session itself
 * (`<sessionId>.lock`) is not touched and should be held by the caller.
 *
 * @returns Resolves also for files that do not exist. Rejects with the system's error if a file cannot be removed.
 * @throws TypeError - At once, if an argument is of the wrong type.
 */
export function removeSessionFiles(filePath: string): Promise<void> {
  check.filledString(filePath, 'filePath')
  checkNoOptions(arguments[1])
  return remove(path.resolve(filePath))
}

/**
 * What earlier versions kept to replay the session sooner goes first: a session is complete without it. The archive goes before the file: alone, it
 * would be the session again.
 */
async function remove(filePath: string): Promise<void> {
  const session = sessionPathOf(filePath)
  await removeCaches(session)
  await removeBeside(archiveOf(session))
  await removeFile(session)
  await removeCompanions(session)
  await removeFile(`${session}.lock`)
}

/** Removes what was kept for a session that is gone. The list of an archive's media is needed until then. @internal */
export async function removeCompanions(session: string): Promise<void> {
  await removeCaches(session)
  for (const companion of await ownCompanionsOf(session)) await removeBeside(companion)
}

async function removeCaches(session: string): Promise<void> {
  for (const cache of companionsOf(session).caches) await removeBeside(cache)
}

/** Removes a file that has a longer name than its session: there is none if that is too long. */
async function removeBeside(filePath: string): Promise<void> {
  try {
    await removeFile(filePath)
  } catch (error) {
    if (!hasCode(error, 'ENAMETOOLONG')) throw error
  }
}

async function removeFile(filePath: string): Promise<void> {
  await unlessAbsent(fs.unlink(filePath))
}

/** Resolves to the result of an operation, or to `undefined` if the file does not exist. */
async function unlessAbsent<T>(operation: Promise<T>): Promise<T | undefined> {
  try {
    return await operation
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) throw error
    return undefined
  }
}
