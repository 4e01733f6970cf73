import type { BigIntStats } from 'node:fs'
import fs = require('node:fs/promises')
import { SESSION_FILE_ID_PREFIX_LENGTH } from '../constants.js'
import { isLeftOverGuard, removeLeftOverGuard } from './left-over-guard.js'
import { leftOverCompanions } from './companions.js'
import { EXACT, type LockFile, isSameInode, readLockFile } from './lock-file.js'
import { childOf, isGuard, isSafeId, isTemporary, lockPathOfGuard, sessionOfLock } from './path.js'
import { removeIfStale } from './removal.js'
import { hasPid, isStale } from './staleness.js'
import { isFileLocked, lookAt } from './system-lock.js'
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

const NANOSECONDS = 1_000_000n

/** What was removed of what interrupted processes have left. */
export interface Cleaned {
  /** Stale locks. */
  locks: string[]
  /** Companions of sessions that are gone: snapshots, receipts of imports, lists of media. */
  snapshots: string[]
  /** Temporary files. */
  temporaries: string[]
  /** What stands between processes that take a lock: guards, and files with two names. */
  guards: string[]
}

/** What is left over in a directory, but for locks and guards. */
interface LeftOvers {
  names: string[]
  companions: string[]
  temporaries: string[]
  /** Temporary files with other names. */
  linked: Linked[]
}

/** Removes what interrupted processes left in a directory, and the companions of sessions that are gone. */
export async function cleanUp(directory: string): Promise<Cleaned> {
  const { names, linked, ...found } = await leftOversIn(directory)
  const temporaries = await removeAll(found.temporaries)
  const snapshots = await removeAll(found.companions)
  const guards: string[] = []
  const marked = await removeGuards(guardsIn(directory, names), guards)
  if (linked.length > 0) append(guards, await removeAtRest(linked))
  if (marked.length > 0) await removeGuardsAgain(marked, guards)
  return { locks: await removeLocks(directory, names), snapshots, temporaries, guards }
}

/** What {@link cleanUp} would remove. Changes nothing. */
export async function wouldCleanUp(directory: string): Promise<Cleaned> {
  const { names, linked, companions, temporaries } = await leftOversIn(directory)
  const now = Date.now()
  const guards: string[] = []
  for (const guardPath of guardsIn(directory, names)) {
    if (await isLeftOverGuard(lockPathOfGuard(guardPath), BigInt(now) * NANOSECONDS)) guards.push(guardPath)
  }
  for (const { filePath, stat } of linked) if (now - Number(stat.ctimeMs) > AT_REST_MS) guards.push(filePath)
  const locks: string[] = []
  for (const name of names) {
    const sessionId = sessionOfLock(name)
    if (sessionId !== null && (await isStaleLock(childOf(directory, name), sessionId)))
      locks.push(childOf(directory, name))
  }
  return { locks, snapshots: companions, temporaries, guards }
}

async function leftOversIn(directory: string): Promise<LeftOvers> {
  const names = (await namesIn(directory)).sort()
  const pathsOf = (list: string[]) => list.map((name) => childOf(directory, name))
  const old = await oldOf(pathsOf(names.filter(isTemporary)), LOCK_TEMPORARY_MS)
  append(old, await abandoned(pathsOf(names.filter(isOtherTemporary))))
  const { linked, single } = await withoutLiveOwner(old)
  return { names, companions: await companionsIn(directory, names), temporaries: single, linked }
}

/** The companions of sessions that are gone and not locked: the holder of a lock may be about to write the session. */
async function companionsIn(directory: string, names: string[]): Promise<string[]> {
  const found = await leftOverCompanions(directory, names)
  const free: string[] = []
  for (let index = 0; index < found.length; index++) {
    const { filePath, name } = found[index]!
    if (!(await isLocked(directory, names, name))) free[free.length] = filePath
  }
  return free
}

/** How much of a session's id may be in the name of its file. */
const ID_LENGTHS = [8, SESSION_FILE_ID_PREFIX_LENGTH, Infinity]

/** Whether the session in the file `<name>.jsonl`, which does not exist, may be locked: only its name says which session it was. */
async function isLocked(directory: string, names: string[], name: string): Promise<boolean> {
  const exclusive = childOf(directory, `${name}.jsonl.lock`)
  if (await isFileLocked(exclusive).catch(() => true)) return true
  for (let index = 0; index < names.length; index++) {
    const sessionId = sessionOfLock(names[index]!)
    if (sessionId === null || !ID_LENGTHS.some((length) => `-${name}-`.includes(`-${sessionId.slice(0, length)}-`)))
      continue
    const lockPath = childOf(directory, names[index]!)
    const file = await readLockFile(lockPath)
    if (file !== null && isLockOf(sessionId, file) && !(await isStale(lockPath, file, true))) return true
  }
  return false
}

function guardsIn(directory: string, names: string[]): string[] {
  return names.filter(isGuard).map((name) => childOf(directory, name))
}

async function isStaleLock(lockPath: string, sessionId: string): Promise<boolean> {
  const file = await readLockFile(lockPath)
  return file !== null && isLockOf(sessionId, file) && isStale(lockPath, file, true)
}

function isOtherTemporary(name: string): boolean {
  return name.startsWith(OTHER_TEMPORARY)
}

function append<T>(list: T[], others: T[]): void {
  for (let index = 0; index < others.length; index++) list[list.length] = others[index]!
}

/** Resolves to those that could be removed. */
async function removeAll(filePaths: string[]): Promise<string[]> {
  const removed: string[] = []
  for (let index = 0; index < filePaths.length; index++)
    if (await removeQuietly(filePaths[index]!)) removed[removed.length] = filePaths[index]!
  return removed
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
    if (stat?.isFile() && Date.now() - Number(stat.mtimeMs) > age) old[old.length] = { filePath, stat }
  }
  return old
}

/**
 * The old ones of the files that nobody is writing: who writes one has the system's lock on it. Without such locks, the time of change decides, which
 * no program can set.
 */
async function abandoned(filePaths: string[]): Promise<Linked[]> {
  const found: Linked[] = []
  const old = await oldOf(filePaths, OTHER_TEMPORARY_MS)
  for (let index = 0; index < old.length; index++) {
    const { filePath, stat } = old[index]!
    const look = await lookAt(filePath, stat)
    if (look === 'free' || (look === 'unknown' && Date.now() - Number(stat.ctimeMs) > OTHER_TEMPORARY_MS))
      found[found.length] = old[index]!
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
async function removeAtRest(linked: Linked[]): Promise<string[]> {
  await wait(AT_REST_MS)
  const atRest: string[] = []
  for (let index = 0; index < linked.length; index++) {
    const { filePath, stat } = linked[index]!
    const now = await statOf(filePath)
    if (now !== null && isSameInode(now, stat) && now.ctimeNs === stat.ctimeNs) atRest[atRest.length] = filePath
  }
  return removeAll(atRest)
}

/** Removes left-over guards, and adds them to `gone`. Resolves to those that another process has begun to remove. */
async function removeGuards(guardPaths: string[], gone: string[]): Promise<string[]> {
  const marked: string[] = []
  for (let index = 0; index < guardPaths.length; index++) {
    const guardPath = guardPaths[index]!
    const outcome = await removeGuard(guardPath)
    if (outcome === 'marked') marked[marked.length] = guardPath
    else if (outcome === 'gone') gone[gone.length] = guardPath
  }
  return marked
}

/** Tries again, because the other process may have ended. Waits first: removing its mark was a change of the guard's inode. */
async function removeGuardsAgain(guardPaths: string[], gone: string[]): Promise<void> {
  await wait(AT_REST_MS)
  await removeGuards(guardPaths, gone)
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

async function removeLocks(directory: string, names: string[]): Promise<string[]> {
  const removed: string[] = []
  for (let index = 0; index < names.length; index++) {
    const name = names[index]!
    const sessionId = sessionOfLock(name)
    if (sessionId === null) continue
    const isEligible = (file: LockFile) => isLockOf(sessionId, file)
    const lockPath = childOf(directory, name)
    if (await removeIfStale(lockPath, sessionId, isEligible)) removed[removed.length] = lockPath
  }
  return removed
}

/** Whether a file is the lock of the session that its name says, and not the lock file of another program, such as `composer.lock`. */
function isLockOf(sessionId: string, { record }: LockFile): boolean {
  if (typeof record?.pid !== 'number') return false
  const { timestamp, sessionId: named } = record
  return (typeof timestamp === 'string' || typeof named === 'string') && (!isSafeId(named) || named === sessionId)
}

async function statOf(filePath: string): Promise<BigIntStats | null> {
  try {
    return await fs.lstat(filePath, EXACT)
  } catch {
    return null
  }
}
