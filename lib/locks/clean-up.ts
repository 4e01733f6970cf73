import type { BigIntStats } from 'node:fs'
import fs = require('node:fs/promises')
import { removeLeftOverGuard } from './left-over-guard.js'
import { isLeftOverSnapshot, isSnapshotName, sessionOfSnapshot } from './left-over-snapshot.js'
import { EXACT, type LockFile, isSameInode, readLockFile } from './lock-file.js'
import { childOf, isGuard, isSafeId, isTemporary, lockPathOfGuard, sessionOfLock } from './path.js'
import { removeIfStale } from './removal.js'
import { hasPid, isStale } from './staleness.js'
import { lookAt } from './system-lock.js'
import { removeQuietly, writeClock } from './temporary-file.js'
import { wait } from './waiting.js'

/** A file that may have other names (hard links). */
interface Linked {
  filePath: string
  stat: BigIntStats
}

const MINUTE_MS = 60 * 1000
const LOCK_TEMPORARY_MS = 5 * MINUTE_MS
const OTHER_TEMPORARY_MS = 60 * MINUTE_MS

/** The prefix of the names of snapshots and sessions while they are written. */
const OTHER_TEMPORARY = '.session-tape-'

/** How long to wait for a file to stay unchanged, in milliseconds: longer than any step of removing a left-over guard takes. */
const AT_REST_MS = 260

/** How much was removed of what interrupted processes have left. */
export interface Cleaned {
  /** Stale locks. */
  locks: number
  /** Snapshots of sessions that are gone. */
  snapshots: number
  /** Temporary files. */
  temporaries: number
}

/** Removes what interrupted processes left in a directory, and the snapshots of sessions that are gone. */
export async function cleanUp(directory: string): Promise<Cleaned> {
  const names = await namesIn(directory)
  const pathsOf = (list: string[]) => list.map((name) => childOf(directory, name))
  const old = await oldOf(pathsOf(names.filter(isTemporary)), LOCK_TEMPORARY_MS)
  append(old, await abandoned(pathsOf(names.filter(isOtherTemporary))))
  const { linked, single } = await withoutLiveOwner(old)
  const snapshots = await leftOverSnapshots(pathsOf(withoutSession(names)))
  await removeAll(single)
  await removeAll(snapshots)
  const marked = await removeGuards(pathsOf(names.filter(isGuard)))
  if (linked.length > 0) await removeAtRest(linked)
  if (marked.length > 0) await removeGuardsAgain(marked)
  const locks = await removeLocks(directory, names)
  return { locks, snapshots: snapshots.length, temporaries: single.length }
}

/** What {@link cleanUp} would remove. Changes nothing. */
export async function wouldCleanUp(directory: string): Promise<Cleaned> {
  const names = await namesIn(directory)
  const pathsOf = (list: string[]) => list.map((name) => childOf(directory, name))
  const old = await oldOf(pathsOf(names.filter(isTemporary)), LOCK_TEMPORARY_MS)
  append(old, await abandoned(pathsOf(names.filter(isOtherTemporary))))
  const { single } = await withoutLiveOwner(old)
  const snapshots = await leftOverSnapshots(pathsOf(withoutSession(names)))
  let locks = 0
  for (let index = 0; index < names.length; index++) {
    const sessionId = sessionOfLock(names[index]!)
    if (sessionId !== null && (await isStaleLock(childOf(directory, names[index]!), sessionId))) locks += 1
  }
  return { locks, snapshots: snapshots.length, temporaries: single.length }
}

async function isStaleLock(lockPath: string, sessionId: string): Promise<boolean> {
  const file = await readLockFile(lockPath)
  return file !== null && isLockOf(sessionId, file) && isStale(lockPath, file, true)
}

/** The names of snapshots next to which there is no file of their session. */
function withoutSession(names: string[]): string[] {
  const all = new Set(names)
  return names.filter((name) => isSnapshotName(name) && !all.has(sessionOfSnapshot(name)))
}

function isOtherTemporary(name: string): boolean {
  return name.startsWith(OTHER_TEMPORARY)
}

function append<T>(list: T[], others: T[]): void {
  for (let index = 0; index < others.length; index++) list[list.length] = others[index]!
}

async function removeAll(filePaths: string[]): Promise<void> {
  for (let index = 0; index < filePaths.length; index++) await removeQuietly(filePaths[index]!)
}

async function namesIn(directory: string): Promise<string[]> {
  try {
    return await fs.readdir(directory)
  } catch {
    return []
  }
}

/** Those of the files that were last modified more than `age` milliseconds ago. */
async function oldOf(filePaths: string[], age: number): Promise<Linked[]> {
  const old: Linked[] = []
  for (let index = 0; index < filePaths.length; index++) {
    const filePath = filePaths[index]!
    const stat = await statOf(filePath)
    if (stat !== null && stat.isFile() && Date.now() - Number(stat.mtimeMs) > age) old[old.length] = { filePath, stat }
  }
  return old
}

/** The old ones of the files that nobody is writing: who writes one has the system's lock on it. Without such locks, the time of change decides, which no program can set. */
async function abandoned(filePaths: string[]): Promise<Linked[]> {
  const found: Linked[] = []
  const old = await oldOf(filePaths, OTHER_TEMPORARY_MS)
  for (let index = 0; index < old.length; index++) {
    const { filePath, stat } = old[index]!
    const look = await lookAt(filePath, stat)
    if (look === 'free' || (look === 'unknown' && Date.now() - Number(stat.ctimeMs) > OTHER_TEMPORARY_MS)) found[found.length] = old[index]!
  }
  return found
}

/** The files that have other names too, and those of the others that no live process owns. */
async function withoutLiveOwner(files: Linked[]): Promise<{ linked: Linked[]; single: string[] }> {
  const linked: Linked[] = []
  const single: string[] = []
  for (let index = 0; index < files.length; index++) {
    const file = files[index]!
    if (file.stat.nlink !== 1n) linked[linked.length] = file
    else if (!(await namesLiveOwner(file.filePath))) single[single.length] = file.filePath
  }
  return { linked, single }
}

/** Whether a file names an owner that is alive: a process that was suspended may still publish its lock. */
async function namesLiveOwner(filePath: string): Promise<boolean> {
  const file = await readLockFile(filePath)
  return file !== null && hasPid(file) && !(await isStale(filePath, file, true))
}

/**
 * Removes those of the files that are not in use. The mark of a guard has the guard's time of modification, however new the mark is, but a mark in
 * use is removed within milliseconds.
 */
async function removeAtRest(linked: Linked[]): Promise<void> {
  await wait(AT_REST_MS)
  for (let index = 0; index < linked.length; index++) {
    const { filePath, stat } = linked[index]!
    const now = await statOf(filePath)
    if (now !== null && isSameInode(now, stat) && now.ctimeNs === stat.ctimeNs) await removeQuietly(filePath)
  }
}

async function leftOverSnapshots(snapshotPaths: string[]): Promise<string[]> {
  const found: string[] = []
  for (let index = 0; index < snapshotPaths.length; index++) {
    if (await isLeftOverSnapshot(snapshotPaths[index]!)) found[found.length] = snapshotPaths[index]!
  }
  return found
}

/** Removes left-over guards. Resolves to those that another process has begun to remove. */
async function removeGuards(guardPaths: string[]): Promise<string[]> {
  const marked: string[] = []
  for (let index = 0; index < guardPaths.length; index++) {
    const guardPath = guardPaths[index]!
    if ((await removeGuard(guardPath)) === 'marked') marked[marked.length] = guardPath
  }
  return marked
}

/** Tries again, because the other process may have ended. Waits first: removing its mark was a change of the guard's inode. */
async function removeGuardsAgain(guardPaths: string[]): Promise<void> {
  await wait(AT_REST_MS)
  await removeGuards(guardPaths)
}

/** Writes a temporary file to learn the time of the file system. */
async function removeGuard(guardPath: string): Promise<'gone' | 'kept' | 'marked'> {
  const lockPath = lockPathOfGuard(guardPath)
  try {
    const { filePath, now } = await writeClock(lockPath)
    const outcome = await removeLeftOverGuard(lockPath, now())
    await removeQuietly(filePath)
    return outcome
  } catch {
    return 'kept'
  }
}

async function removeLocks(directory: string, names: string[]): Promise<number> {
  let removed = 0
  for (let index = 0; index < names.length; index++) {
    const name = names[index]!
    const sessionId = sessionOfLock(name)
    if (sessionId === null) continue
    const isEligible = (file: LockFile) => isLockOf(sessionId, file)
    if (await removeIfStale(childOf(directory, name), sessionId, isEligible)) removed += 1
  }
  return removed
}

/** Whether a file is the lock of a session, and not a lock file of another program. */
function isLockOf(sessionId: string, { isJson, record }: LockFile): boolean {
  const named = record?.sessionId
  return isJson && (!isSafeId(named) || named === sessionId)
}

async function statOf(filePath: string): Promise<BigIntStats | null> {
  try {
    return await fs.lstat(filePath, EXACT)
  } catch {
    return null
  }
}
