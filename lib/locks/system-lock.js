'use strict'

// The system's lock on a lock file. It tells whether the owner is alive where its pid does not: in another pid namespace, or after another process
// was given the pid. The system releases it when the process ends.

const { native, parseRecord } = require('../builtins.js')
const { LOCK, resultOf } = require('../binding/job.js')

/** The member of a lock file whose owner holds the system's lock on it. */
const HELD = 'flock'

/** Locks a file. Resolves to the number of the lock, or to `null` if the system refuses: not every file system has such locks. */
async function hold(filePath, { dev, ino }) {
  return resultOf(LOCK, parseRecord(await native.holdLock(filePath, `${dev}`, `${ino}`)))
}

/** Releases a lock, if there is one. Never rejects. */
async function letGo(number) {
  if (number !== null) await native.letGoOfLock(number)
}

/**
 * Looks whether a process holds the system's lock on a file that was read. Resolves to `'held'`, `'free'`, `'another'` if the path no longer leads to
 * that file, or `'unknown'` if the file does not have such a lock or the system does not tell.
 */
async function look(filePath, { record, dev, ino }) {
  if (record === null || record.held !== HELD) return 'unknown'
  return resultOf(LOCK, parseRecord(await native.lookAtLock(filePath, `${dev}`, `${ino}`)))
}

module.exports = { HELD, hold, letGo, look }
