/**
 * Calls `stop` when `signal`, if given, is aborted. Returns a function that removes the listener. A caller's own implementation of a
 * signal may throw on removal, where no caller could handle the error, so that is ignored.
 */
export function onAbort(signal: AbortSignal | undefined, stop: () => void): () => void {
  signal?.addEventListener('abort', stop, { once: true })
  return () => {
    try {
      signal?.removeEventListener('abort', stop)
    } catch {
      // The result does not depend on it.
    }
  }
}
