// Provider and model of a session that are known only when its file is made.

import { parse, stringify } from '../builtins.js'

/** The payload of a `session_start`, with what the resolver returns, or why it keeps its values. */
export function resolved(payload: string, resolve: () => unknown): { payload: string; failure?: { cause: unknown } } {
  try {
    const answer = resolve()
    if (answer instanceof Promise) {
      // A rejection would otherwise end the process.
      answer.catch(() => {})
      throw new TypeError('it returned a promise')
    }
    const { provider, model } = answer as { provider?: unknown; model?: unknown }
    const isResolved = typeof provider === 'string' && typeof model === 'string'
    if (!isResolved) throw new TypeError('it did not return an object with the strings provider and model')
    return { payload: stringify({ ...parse(payload), provider, model }) }
  } catch (cause) {
    return { payload, failure: { cause } }
  }
}
