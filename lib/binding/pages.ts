// Iterates over a recording that the addon reads page by page (src/pages.rs).

import { onAbort } from './abort.js'
import { type JobKind, type JobOptions, runJob } from './job.js'
import type { NativeJob, NativePages } from './native.js'

export interface Page<T> {
  length: number
  at: (index: number) => T
  isLast: boolean
  /** Is thrown after the elements. */
  error?: Error | undefined
}

/** Resolves to the page of a job. */
type ReadPage<T> = (start: (onReady: () => void) => NativeJob, options: JobOptions) => Promise<Page<T>>

/**
 * Yields the elements of all pages. `open` returns the addon's reader; nothing is opened before the first page is requested. If it `readsAhead`, the next
 * page is read while the caller handles this one.
 */
export async function* elementsOfPages<T>(
  kind: JobKind,
  open: () => NativePages,
  readPage: ReadPage<T>,
  signal: AbortSignal | undefined,
  readsAhead = true,
): AsyncGenerator<T, void, undefined> {
  if (signal?.aborted) throw signal.reason
  const reader = open()
  // Also aborted at the end of the iteration, which may be early.
  const stopped = new AbortController()
  const removeAbortListener = onAbort(signal, () => stopped.abort(signal?.reason))
  const request = () => {
    const page = readPage((onReady) => reader.next(onReady), { signal: stopped.signal })
    // Prevents an unhandled rejection if the page fails before it is awaited.
    page.catch(() => {})
    return page
  }
  let next = request()
  try {
    for (;;) {
      const page = await next
      const { length, isLast, error } = page
      // At most two pages are in memory.
      if (!isLast && readsAhead) next = request()
      for (let index = 0; index < length; index++) {
        if (stopped.signal.aborted) throw signal?.reason
        yield page.at(index)
      }
      if (error !== undefined) throw error
      if (isLast) return
      if (!readsAhead) next = request()
    }
  } finally {
    removeAbortListener()
    stopped.abort()
    // An abort does not wait for the system.
    if (signal?.aborted) reader.abandon()
    else await close(kind, reader)
  }
}

/** Closes the recording after a read in progress. Resolves when what was unpacked is removed, which takes a while for a large bundle. */
async function close(kind: JobKind, reader: NativePages): Promise<void> {
  if (!reader.closeAtOnce()) await runJob(kind, (onReady) => reader.close(onReady)).catch(() => {})
}
