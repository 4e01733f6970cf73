'use strict'

const { look } = require('./system-lock.js')
const { isOfThisThread } = require('./thread.js')

/** The age of a lock, in milliseconds, above which a process with the owner's pid counts as another one that was given the same pid. */
const PID_REUSE_MS = 48 * 60 * 60 * 1000

/** Resolves to whether a lock file that was read is stale. With `pidReuse` its age counts too, unless the system knows whether it is held. */
async function isStale(filePath, file, pidReuse) {
  if (!hasPid(file)) return pidReuse && modifiedBefore(file, PID_REUSE_MS)
  if (isOfThisThread(file)) return false
  const found = await look(filePath, file)
  if (found !== 'unknown') return found === 'free'
  return isDead(file.record.pid) || (pidReuse && isOlderThan(file, PID_REUSE_MS))
}

function hasPid({ record }) {
  return record !== null && Number.isSafeInteger(record.pid) && record.pid > 0
}

/** Whether no process with a pid exists. Looks up `process.kill` at each call, because a program may have replaced it. */
function isDead(pid) {
  try {
    process.kill(pid, 0)
    return false
  } catch (error) {
    // EPERM: the process exists, but belongs to another user.
    return error?.code !== 'EPERM'
  }
}

/** Whether a file is older than `age` milliseconds, by its timestamp or, if that does not parse, its last modification. */
function isOlderThan(file, age) {
  const timestamp = file.record?.timestamp
  const written = typeof timestamp === 'string' ? Date.parse(timestamp) : NaN
  return Number.isNaN(written) ? modifiedBefore(file, age) : Date.now() - written > age
}

function modifiedBefore({ modified }, age) {
  return Date.now() - modified > age
}

module.exports = { isStale, hasPid, isDead, isOlderThan, modifiedBefore }
