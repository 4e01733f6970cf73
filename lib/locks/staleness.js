'use strict'

const { startOf } = require('./process-start.js')
const { look } = require('./system-lock.js')
const { isOfThisThread } = require('./thread.js')

/** The age of a lock, in milliseconds, above which a process with the owner's pid counts as another one that was given the same pid. */
const PID_REUSE_MS = 48 * 60 * 60 * 1000

/** How far in the future a timestamp counts: one that is further ahead would keep a lock for years, and comes from another clock. */
const FUTURE_MS = PID_REUSE_MS

/** How much earlier than its process a lock may seem to have been written, because a clock was corrected. */
const CORRECTION_MS = 5 * 60 * 1000

/** Resolves to whether a lock file that was read is stale. With `pidReuse` its age counts too, unless the system knows whether it is held. */
async function isStale(filePath, file, pidReuse) {
  if (!hasPid(file)) return pidReuse && modifiedBefore(file, PID_REUSE_MS)
  if (isOfThisThread(file)) return false
  const found = await look(filePath, file)
  if (found !== 'unknown') return found === 'free'
  return isDead(file.record.pid) || (pidReuse && (isOlderThan(file, PID_REUSE_MS) || isOlderThanItsProcess(file)))
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

/** Whether a file is older than `age` milliseconds, by its timestamp or, if that does not count, its last modification. */
function isOlderThan(file, age) {
  const written = writtenAt(file)
  return Number.isNaN(written) ? modifiedBefore(file, age) : Date.now() - written > age
}

/** Whether the process with the pid of a lock began after the lock was written: another process, after a restart of the machine or the container. */
function isOlderThanItsProcess(file) {
  return writtenAt(file) < startOf(file.record.pid) - CORRECTION_MS
}

/** The timestamp of a file, or `NaN` if it does not parse or is in the future. */
function writtenAt({ record }) {
  const timestamp = record?.timestamp
  const written = typeof timestamp === 'string' ? Date.parse(timestamp) : NaN
  return written > Date.now() + FUTURE_MS ? NaN : written
}

function modifiedBefore({ modified }, age) {
  return Date.now() - modified > age
}

module.exports = { isStale, hasPid, isDead, isOlderThan }
