import { define, own, withFields } from '../builtins.js'

/**
 * The session is locked already, by another process, another thread, or a lock of this thread. The message is
 * `Session is in use by another process`.
 */
export class SessionLockedError extends Error {
  declare readonly name: 'SessionLockedError'
  declare readonly code: 'ESESSIONLOCKED'

  /** @internal */
  constructor(message = 'Session is in use by another process', options?: { cause?: unknown }) {
    super(message, options)
    withFields(this, { code: 'ESESSIONLOCKED' })
  }
}
define(SessionLockedError.prototype, 'name', { ...own('SessionLockedError'), enumerable: false })
