import { define, own } from '../builtins.js'
import { SessionLockedError } from '../locks/locked-error.js'

/**
 * A lock that a function for names and checkpoints needs could not be acquired: `Session <id> is in use by another process`, or
 * `Failed to acquire lock for session <id>: …`. `cause` is the reason.
 */
export class CheckpointLockError extends Error {
  declare readonly name: 'CheckpointLockError'
}
define(CheckpointLockError.prototype, 'name', { ...own('CheckpointLockError'), enumerable: false })

/** The error for a lock that could not be acquired for this reason. @internal */
export function lockError(sessionId: string, cause: unknown): CheckpointLockError {
  const isBusy = cause instanceof SessionLockedError
  const message = isBusy
    ? `Session ${sessionId} is in use by another process`
    : `Failed to acquire lock for session ${sessionId}: ${(cause as Error).message}`
  return new CheckpointLockError(message, { cause })
}
