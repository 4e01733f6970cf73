// The content of locks and guards, and how they are read. Other versions write such files too, so their content is not trusted.

import fileSystem = require('node:fs')
import fs = require('node:fs/promises')
import { parse, stringify } from '../builtins.js'
import { isAbsence } from '../system-error.js'
import { HELD, type Inode } from './system-lock.js'

const { closeSync, constants, fstatSync, openSync, readSync } = fileSystem

/** The size in bytes above which a file is not read. A lock is far smaller. */
const LARGEST = 65_536

/** Without O_NONBLOCK, a pipe in the lock's place would block a thread until something opens its other end. */
const READ = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0)
export const WRITE = constants.O_RDWR | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0)

/** Inode numbers can exceed the range that a number represents exactly. */
export const EXACT: Readonly<{ bigint: true }> = Object.freeze({ bigint: true })

const NANOSECONDS = 1_000_000n

/** What was found at the path of a lock or a guard. */
export interface LockFile extends Inode {
  isFile: boolean
  /** Last change of the inode, links to it included. */
  changedNs: bigint
  /** Last modification of the content, in milliseconds. */
  modified: number
  /** `null` if it is not a regular file, is too large or cannot be read. */
  bytes: Buffer | null
  isJson: boolean
  /** `null` unless the content is a JSON object. */
  record: LockRecord | null
}

/** The content of a lock or a guard, not validated. */
export type LockRecord = { [Key in 'pid' | 'timestamp' | 'sessionId' | 'ownerToken' | 'held']?: unknown }

/** The content of a lock or a guard of this process, as of `now`. `isHeld`: the system holds a lock on the file too. */
export function contentOf(sessionId: string, ownerToken: string, now: number, isHeld: boolean): Buffer {
  const owner = { pid: process.pid, timestamp: new Date(now).toISOString(), sessionId, ownerToken }
  return Buffer.from(stringify(isHeld ? { ...owner, held: HELD } : owner))
}

/**
 * Describes the file at a path. Resolves to `null` if there is none. Never rejects.
 */
export async function readLockFile(filePath: string): Promise<LockFile | null> {
  let handle: fs.FileHandle | undefined
  try {
    handle = await fs.open(filePath, READ)
    return await readOpened(handle)
  } catch {
    return statOnly(filePath)
  } finally {
    await handle?.close().catch(() => {})
  }
}

export async function readOpened(handle: fs.FileHandle): Promise<LockFile> {
  const stat = await handle.stat(EXACT)
  const isReadable = stat.isFile() && stat.size <= LARGEST
  return found(stat, isReadable ? await bytesOf(handle, Number(stat.size)) : null)
}

async function bytesOf(handle: fs.FileHandle, size: number): Promise<Buffer> {
  const buffer = Buffer.alloc(size)
  if (size === 0) return buffer
  const { bytesRead } = await handle.read(buffer, 0, size, 0)
  return buffer.subarray(0, bytesRead)
}

/** The same as `readLockFile`, on this thread, except that a file that cannot be read gives `undefined`. */
export function readLockFileNow(filePath: string): LockFile | null | undefined {
  let fd: number | undefined
  try {
    fd = openSync(filePath, READ)
    const stat = fstatSync(fd, EXACT)
    const buffer = Buffer.alloc(stat.isFile() && stat.size <= LARGEST ? Number(stat.size) : 0)
    return found(stat, buffer.subarray(0, readSync(fd, buffer, 0, buffer.length, 0)))
  } catch (error) {
    return isAbsence(error) ? null : undefined
  } finally {
    if (fd !== undefined) closeSync(fd)
  }
}

/** Describes a file that cannot be opened. */
async function statOnly(filePath: string): Promise<LockFile | null> {
  try {
    return found(await fs.lstat(filePath, EXACT), null)
  } catch (error) {
    return isAbsence(error) ? null : unknown()
  }
}

/** The description if it cannot be determined whether there is a file. */
function unknown(): LockFile {
  return { isFile: false, dev: null, ino: null, changedNs: 0n, modified: NaN, bytes: null, isJson: false, record: null }
}

function found(stat: fileSystem.BigIntStats, bytes: Buffer | null): LockFile {
  return {
    isFile: stat.isFile(),
    dev: stat.dev,
    ino: stat.ino,
    changedNs: stat.ctimeNs,
    modified: Number(stat.mtimeNs / NANOSECONDS),
    bytes,
    ...parsed(bytes),
  }
}

function parsed(bytes: Buffer | null): Pick<LockFile, 'isJson' | 'record'> {
  try {
    const value: unknown = bytes === null ? undefined : parse(bytes.toString())
    const isRecord = typeof value === 'object' && value !== null
    return { isJson: value !== undefined, record: isRecord ? (value as LockRecord) : null }
  } catch {
    return { isJson: false, record: null }
  }
}

export function isSameInode(a: Inode, b: Inode): boolean {
  return a.dev === b.dev && a.ino === b.ino
}

/** Whether two readings of a path found the same file with the same content. */
export function isSameFile(a: LockFile, b: LockFile): boolean {
  if (!isSameInode(a, b)) return false
  return a.bytes === null || b.bytes === null
    ? a.bytes === b.bytes && a.changedNs === b.changedNs
    : a.bytes.equals(b.bytes)
}
