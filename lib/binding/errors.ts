import { withFields } from '../builtins.js'

/** The members of an error of the addon. */
export interface Failure {
  message: string
  code: string
}

/** The Error for an error of the addon, with all its fields as own properties. */
export function errorOf<F extends Failure>({ message, ...fields }: F): Error & Omit<F, 'message'> {
  return withFields(new Error(message), fields)
}

/** The Error for a panic of the addon. `doing` names the operation for the message; `panic`, the message of the panic, becomes the cause. */
export function panicError(code: string, doing: string, panic: unknown): Error & { code: string } {
  const cause = typeof panic === 'string' ? new Error(panic) : undefined
  const message = `session-tape failed while ${doing}. This is a bug in session-tape: please report it`
  return withFields(new Error(message, cause && { cause }), { code })
}
