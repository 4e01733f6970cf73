// The temporary file of a lock or a guard. It gets its complete content before it is linked to its final name, so that no reader ever sees partial
// content, and only one of several programs succeeds. On a file system without links the file is created under its final name instead: a reader
// may find it empty; an empty file counts as a lock that is held until it is old.

import crypto = require('node:crypto')
import fileSystem = require('node:fs')
import fs = require('node:fs/promises')
import { EXACT, isSameInode } from './lock-file.js'
import { temporaryPathOf } from './path.js'
import { hasCode, isAbsence } from '../system-error.js'
import { type Inode, hold, unlock } from './system-lock.js'
import { elapsed } from './waiting.js'

const { fsync } = fileSystem
const { randomUUID } = crypto

const NANOSECONDS = 1e6

/** The content of a lock file. Its argument says whether the system holds a lock on the file. */
export type Describe = (isHeld: boolean) => Buffer

/** A lock or a guard that was written, and published or not. */
export interface TemporaryFile extends Inode {
  filePath: string
  content: Buffer
  /** The number of the system's lock on it, or `null`. */
  systemLock: number | null
  /** `undefined` for a file that has no owner. */
  describe: Describe | undefined
  /** Returns the time of its file system in nanoseconds, in which changes of inodes are recorded, and from which the clock of the process may differ. */
  now: () => bigint
}

/** The same before everything about it is known. */
interface Unwritten extends Omit<TemporaryFile, 'dev' | 'ino' | 'now'> {
  dev: bigint | undefined
  ino: bigint | undefined
  now: TemporaryFile['now'] | undefined
}

/** The errors of a file system that cannot sync, and of one that cannot link (exFAT, shares of SMB, virtiofs, Android). */
const UNSYNCABLE = ['EINVAL', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS']
const UNLINKABLE = ['EPERM', 'EACCES', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EISDIR']

/**
 * Syncs a file. Does not use the handle's method first, because Yarn's Plug'n'Play replaces it by one that throws, nor `promisify`, because loading
 * `node:util` takes Bun milliseconds.
 */
const sync = ({ fd }: fs.FileHandle) =>
  new Promise<void>((resolve, reject) => fsync(fd, (error) => (error ? reject(error) : resolve())))

/** Syncs a file as far as its file system can. Under Node's permission model only the handle's method is allowed. */
async function syncIfPossible(handle: fs.FileHandle): Promise<void> {
  try {
    await sync(handle)
  } catch (error) {
    if (hasCode(error, 'ERR_ACCESS_DENIED')) await handle.sync()
    else if (!hasOneOf(error, UNSYNCABLE)) throw error
  }
}

/** Whether an error of linking means that the file system has no links. */
export function refusesLinks(error: unknown): boolean {
  return hasOneOf(error, UNLINKABLE)
}

function hasOneOf(error: unknown, codes: string[]): boolean {
  for (let index = 0; index < codes.length; index++) if (hasCode(error, codes[index]!)) return true
  return false
}

/** The content of a file that has no owner. */
const NOTHING = Buffer.alloc(0)

/**
 * Writes and syncs a temporary file of a lock. If writing fails, rejects with the system's error and leaves no file.
 */
export function writeTemporary(lockPath: string, describe: Describe | undefined): Promise<TemporaryFile> {
  return writeNew(temporaryPathOf(lockPath, randomUUID()), describe)
}

/** Without an owner to describe, for a file that shows only the time. */
export function writeClock(lockPath: string): Promise<TemporaryFile> {
  return writeTemporary(lockPath, undefined)
}

async function writeNew(filePath: string, describe: Describe | undefined): Promise<TemporaryFile> {
  const handle = await fs.open(filePath, 'wx')
  const file: Unwritten = {
    filePath,
    dev: undefined,
    ino: undefined,
    content: NOTHING,
    systemLock: null,
    describe,
    now: undefined,
  }
  try {
    try {
      await writeTo(handle, file)
    } finally {
      await handle.close()
    }
    return file as TemporaryFile
  } catch (error) {
    if (file.dev === undefined || (await isStillAt(filePath, file as TemporaryFile))) await removeQuietly(filePath)
    await unlock(file.systemLock)
    throw error
  }
}

/** Locks the file before its content says so, because a program that reads the content looks for the system's lock. */
async function writeTo(handle: fs.FileHandle, file: Unwritten): Promise<void> {
  const { dev, ino } = await handle.stat(EXACT)
  file.dev = dev
  file.ino = ino
  if (file.describe !== undefined) {
    file.systemLock = await hold(file.filePath, { dev, ino })
    file.content = file.describe(file.systemLock !== null)
  }
  await writeAll(handle, file.content)
  await syncIfPossible(handle)
  const { ctimeNs } = await handle.stat(EXACT)
  const start = elapsed()
  file.now = () => ctimeNs + BigInt(Math.round((elapsed() - start) * NANOSECONDS))
}

/** Writes in a loop, because the system may write less than requested. */
async function writeAll(handle: fs.FileHandle, content: Buffer): Promise<void> {
  for (let written = 0; written < content.length; ) {
    const { bytesWritten } = await handle.write(content, written, content.length - written, written)
    written += bytesWritten
  }
}

/** Links a file to a name. Resolves to `false` if the name is taken. */
export async function linkTo(filePath: string, name: string): Promise<boolean> {
  try {
    await fs.link(filePath, name)
    return true
  } catch (error) {
    if (hasCode(error, 'EEXIST')) return false
    throw error
  }
}

/**
 * Publishes a temporary file under a name. Resolves to the published file, which is the temporary one if that was linked, or to `null` if the name is
 * taken.
 */
export async function publishAs(name: string, temporary: TemporaryFile): Promise<TemporaryFile | null> {
  try {
    return (await linkTo(temporary.filePath, name)) ? temporary : null
  } catch (error) {
    if (!refusesLinks(error)) throw error
    return createAs(name, temporary.describe, error)
  }
}

/** Creates the file under its name, as only one of several programs can. Afterwards it may be another's, if this process was suspended for days. */
async function createAs(
  name: string,
  describe: Describe | undefined,
  unlinkable: unknown,
): Promise<TemporaryFile | null> {
  let file: TemporaryFile
  try {
    file = await writeNew(name, describe)
  } catch (error) {
    if (hasCode(error, 'EEXIST')) return null
    // The directory refuses new files, too: that was the reason.
    throw hasCode(error, (unlinkable as NodeJS.ErrnoException).code!) ? unlinkable : error
  }
  if (await isStillAt(name, file)) return file
  await unlock(file.systemLock)
  return null
}

/** Removes a temporary file, and releases its lock unless it was published. */
export async function discard(temporary: TemporaryFile, published: TemporaryFile | null): Promise<void> {
  await removeQuietly(temporary.filePath)
  if (published !== temporary) await unlock(temporary.systemLock)
}

/** Whether a path leads to a file. */
async function isStillAt(filePath: string, file: TemporaryFile): Promise<boolean> {
  try {
    return isSameInode(await fs.lstat(filePath, EXACT), file)
  } catch (error) {
    return !isAbsence(error)
  }
}

/** Removes a file if it can be removed. Resolves to whether it was. */
export function removeQuietly(filePath: string): Promise<boolean> {
  return fs.unlink(filePath).then(
    () => true,
    () => false,
  )
}
