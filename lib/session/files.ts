// The files that belong to a session: its own, and those that this library keeps for it.

import crypto = require('node:crypto')
import fs = require('node:fs/promises')
import path = require('node:path')
import { NO_OPTIONS, check, checkedStrictly } from '../arguments.js'
import { companionsOf, ownCompanionsOf } from '../locks/companions.js'
import { hasCode } from '../system-error.js'
import { archiveOf, sessionPathOf } from './archive-name.js'

/** The number of hexadecimal digits of a path's hash in the name of a snapshot. */
const HASH_DIGITS = 16

/**
 * Removes a session file, its archive, and everything that session-tape keeps next to it: its snapshot, the receipt of its import, the list of its
 * archive's media, and the lock file of `exclusive`. Programs that delete
 * session files by age or size should call it, so that no leftover file keeps a directory from becoming empty. The lock of the session itself
 * (`<sessionId>.lock`) is not touched and should be held by the caller.
 *
 * @param options - `snapshotDir`: the directory of the session's snapshot, if it is not next to the file.
 * @returns Resolves also for files that do not exist. Rejects with the system's error if a file cannot be removed.
 * @throws TypeError - At once, if an argument is of the wrong type.
 */
export function removeSessionFiles(filePath: string, options: { snapshotDir?: string | undefined } = NO_OPTIONS): Promise<void> {
  check.filledString(filePath, 'filePath')
  const { snapshotDir } = checkedStrictly<typeof options>(options, { snapshotDir: 'filledString?' })
  return remove(path.resolve(filePath), snapshotDir === undefined ? undefined : path.resolve(snapshotDir))
}

/**
 * Removes the snapshots first: a snapshot without its session is useless, but a session without its snapshot is complete. The archive goes before the
 * file: alone, it would be the session again.
 */
async function remove(filePath: string, snapshotDir: string | undefined): Promise<void> {
  const session = sessionPathOf(filePath)
  await removeSnapshots(session, snapshotDir)
  await removeBeside(archiveOf(session))
  await removeFile(session)
  await removeCompanions(session, snapshotDir)
  await removeFile(`${session}.lock`)
}

/** Removes what was kept for a session that is gone. The list of an archive's media is needed until then. @internal */
export async function removeCompanions(session: string, snapshotDir: string | undefined): Promise<void> {
  await removeSnapshots(session, snapshotDir)
  for (const companion of await ownCompanionsOf(session)) await removeBeside(companion)
}

async function removeSnapshots(session: string, snapshotDir: string | undefined): Promise<void> {
  for (const cache of companionsOf(session).caches) await removeBeside(cache)
  if (snapshotDir !== undefined) await removeSnapshotIn(snapshotDir, session)
}

/**
 * Removes the snapshot in a directory of snapshots. Its name contains a hash of the path of the session's file, archived or not, with links in its
 * directory resolved.
 */
async function removeSnapshotIn(snapshotDir: string, filePath: string): Promise<void> {
  const directory = await unlessAbsent(fs.realpath(path.dirname(filePath)))
  if (directory === undefined) return
  const name = path.basename(filePath)
  const hash = crypto.createHash('sha256').update(path.join(directory, name)).digest('hex').slice(0, HASH_DIGITS)
  await removeBeside(path.join(snapshotDir, `${name}-${hash}.snap`))
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
