/** Calls every function about locks on a directory, in a process that permissions apply to. Prints the outcomes as JSON. */
import {
  acquireSessionLock,
  cleanUpLocks,
  isLockStale,
  isSessionLocked,
  removeStaleLock,
  sessionLockPath,
} from '../../index.mjs'

const [directory, id] = process.argv.slice(2)
const outcome = (attempt) =>
  attempt.then(
    () => 'held',
    ({ code }) => code,
  )
console.log(
  JSON.stringify({
    acquire: await outcome(acquireSessionLock(directory, `${id}-new`)),
    inside: await outcome(acquireSessionLock(`${directory}/new`, id)),
    isLocked: await isSessionLocked(directory, id),
    isStale: await isLockStale(sessionLockPath(directory, id)),
    removed: await removeStaleLock(directory, id),
    cleaned: await cleanUpLocks(directory),
  }),
)
