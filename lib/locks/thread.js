'use strict'

// The locks and guards that this thread holds. Each worker thread has its own: threads exclude each other through lock files, as processes do.

/** Placeholder for a lock that is being acquired. */
const ACQUIRING = Symbol('acquiring')

/** The locks that this thread holds or is acquiring, by absolute path. */
const locks = new Map()

/** The `ownerToken`s of the locks and guards of this thread. Their files are in use, regardless of what is known about the process. */
const tokens = new Set()

/** Whether a file that was read is a lock or a guard of this thread. */
function isOfThisThread(file) {
  return file.record !== null && tokens.has(file.record.ownerToken)
}

module.exports = { ACQUIRING, locks, tokens, isOfThisThread }
