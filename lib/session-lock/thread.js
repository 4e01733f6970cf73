'use strict'

// What this thread holds. A worker thread has its own: two threads exclude each other through the lock's file, as two processes do.

/** In place of the lock while it is being acquired. */
const ACQUIRING = Symbol('acquiring')

/** The locks that this thread holds or is acquiring, by absolute path. */
const locks = new Map()

/** The `ownerToken`s of the locks and guards of this thread. Their files are in use, whatever can be found out about the process. */
const tokens = new Set()

/** Whether a file that was read is a lock or a guard of this thread. */
function isOfThisThread(file) {
  return file.record !== null && tokens.has(file.record.ownerToken)
}

module.exports = { ACQUIRING, locks, tokens, isOfThisThread }
