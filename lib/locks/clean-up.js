'use strict'

const fs = require('node:fs/promises')
const { removeLeftOverGuard } = require('./left-over-guard.js')
const { isSnapshotName, removeLeftOverSnapshot } = require('./left-over-snapshot.js')
const { EXACT, isSameInode, readLockFile } = require('./lock-file.js')
const { childOf, isGuard, isSafeId, isTemporary, lockPathOfGuard, sessionOfLock } = require('./path.js')
const { removeIfStale } = require('./removal.js')
const { hasPid, isStale } = require('./staleness.js')
const { removeQuietly, writeClock } = require('./temporary-file.js')
const { wait } = require('./waiting.js')

const MINUTE_MS = 60 * 1000
const LOCK_TEMPORARY_MS = 5 * MINUTE_MS
const OTHER_TEMPORARY_MS = 60 * MINUTE_MS

/** The prefix of the names of snapshots and sessions while they are written. */
const OTHER_TEMPORARY = '.session-tape-'

/** How long to wait for a file to stay unchanged, in milliseconds: longer than any step of removing a left-over guard takes. */
const AT_REST_MS = 260

/** Removes what interrupted processes left in a directory, and the snapshots of sessions that are gone. Resolves to the number of stale locks that were removed. */
async function cleanUp(directory) {
  const names = await namesIn(directory)
  const pathsOf = (list) => list.map((name) => childOf(directory, name))
  const linked = await removeOld(pathsOf(names.filter(isTemporary)), LOCK_TEMPORARY_MS)
  await removeOld(pathsOf(names.filter((name) => name.startsWith(OTHER_TEMPORARY))), OTHER_TEMPORARY_MS)
  await removeSnapshots(pathsOf(names.filter(isSnapshotName)))
  const marked = await removeGuards(pathsOf(names.filter(isGuard)))
  if (linked.length > 0) await removeAtRest(linked)
  if (marked.length > 0) await removeGuardsAgain(marked)
  return removeLocks(directory, names)
}

async function namesIn(directory) {
  try {
    return await fs.readdir(directory)
  } catch {
    return []
  }
}

/**
 * Removes the files that were last modified more than `age` milliseconds ago. Keeps those that have other names too (hard links), and resolves to
 * them.
 */
async function removeOld(filePaths, age) {
  const linked = []
  for (let index = 0; index < filePaths.length; index++) {
    const filePath = filePaths[index]
    const stat = await statOf(filePath)
    if (stat === null || !stat.isFile() || Date.now() - Number(stat.mtimeMs) <= age) continue
    if (stat.nlink === 1n) {
      if (!(await namesLiveOwner(filePath))) await removeQuietly(filePath)
    } else linked[linked.length] = { filePath, stat }
  }
  return linked
}

/** Whether a file names an owner that is alive: a process that was suspended may still publish its lock. */
async function namesLiveOwner(filePath) {
  const file = await readLockFile(filePath)
  return file !== null && hasPid(file) && !(await isStale(filePath, file, true))
}

/**
 * Removes those of the files that are not in use. The mark of a guard has the guard's time of modification, however new the mark is, but a mark in
 * use is removed within milliseconds.
 */
async function removeAtRest(linked) {
  await wait(AT_REST_MS)
  for (let index = 0; index < linked.length; index++) {
    const { filePath, stat } = linked[index]
    const now = await statOf(filePath)
    if (now !== null && isSameInode(now, stat) && now.ctimeNs === stat.ctimeNs) await removeQuietly(filePath)
  }
}

async function removeSnapshots(snapshotPaths) {
  for (let index = 0; index < snapshotPaths.length; index++) await removeLeftOverSnapshot(snapshotPaths[index])
}

/** Removes left-over guards. Resolves to those that another process has begun to remove. */
async function removeGuards(guardPaths) {
  const marked = []
  for (let index = 0; index < guardPaths.length; index++) {
    if ((await removeGuard(guardPaths[index])) === 'marked') marked[marked.length] = guardPaths[index]
  }
  return marked
}

/** Tries again, because the other process may have ended. Waits first: removing its mark was a change of the guard's inode. */
async function removeGuardsAgain(guardPaths) {
  await wait(AT_REST_MS)
  await removeGuards(guardPaths)
}

/** Writes a temporary file to learn the time of the file system. */
async function removeGuard(guardPath) {
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

async function removeLocks(directory, names) {
  let removed = 0
  for (let index = 0; index < names.length; index++) {
    const sessionId = sessionOfLock(names[index])
    if (sessionId === null) continue
    const isEligible = (file) => isLockOf(sessionId, file)
    if (await removeIfStale(childOf(directory, names[index]), sessionId, isEligible)) removed += 1
  }
  return removed
}

/** Whether a file is the lock of a session, and not a lock file of another program. */
function isLockOf(sessionId, { isJson, record }) {
  const named = record?.sessionId
  return isJson && (!isSafeId(named) || named === sessionId)
}

async function statOf(filePath) {
  try {
    return await fs.lstat(filePath, EXACT)
  } catch {
    return null
  }
}

module.exports = { cleanUp }
