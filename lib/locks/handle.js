'use strict'

// The handles of locks that callers have, and the locks behind them.

const locksOf = new WeakMap()

/** The handle of a lock. Its functions can be called detached from it, and a copy of it is as good. */
function handleOf(lockPath, held) {
  const release = () => held.release()
  locksOf.set(release, held)
  return { lockPath, ownsLock: () => held.ownsLock(), release }
}

/** The lock behind a handle, or `undefined` if a caller has made the handle. */
function heldLockOf({ release }) {
  return locksOf.get(release)
}

module.exports = { handleOf, heldLockOf }
