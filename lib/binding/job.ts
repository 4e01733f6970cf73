// Runs background jobs of the addon and receives their batches (src/job.rs).

import { parse, nextTurn } from '../builtins.js'
import type { Progress } from '../progress.js'
import { onAbort } from './abort.js'
import type { Batch, End } from './batch.js'
import { type Failure, errorOf, panicError } from './errors.js'
import type { NativeJob } from './native.js'
import { Pieces } from './pieces.js'

/** What the jobs of one kind have in common. */
export interface JobKind {
  /** The code of the error of a panic. */
  panicCode: string
  /** The operation, for the message of that error. */
  doing: string
  /** Converts the addon's errors. */
  errorOf: (failure: Failure) => Error
  /** Whether such a job is stopped rather than cancelled, and its promise rejects only after its temporary files are removed. */
  cleansUp: boolean
}

export const SESSION: JobKind = { panicCode: 'ESESSIONPANIC', doing: 'replaying a session', errorOf, cleansUp: false }
export const HEADERS: JobKind = { panicCode: 'ESESSIONPANIC', doing: 'reading headers', errorOf, cleansUp: false }
export const LOCK: JobKind = { panicCode: 'ESESSIONPANIC', doing: 'locking a session', errorOf, cleansUp: false }
export const SEARCH: JobKind = { panicCode: 'ESESSIONPANIC', doing: 'searching sessions', errorOf, cleansUp: false }
export const PREVIEW: JobKind = {
  panicCode: 'ESESSIONPANIC',
  doing: 'looking into a session',
  errorOf,
  cleansUp: false,
}
export const RUN: JobKind = { panicCode: 'ERUNPANIC', doing: 'reading a run', errorOf, cleansUp: false }

export interface JobOptions {
  signal?: AbortSignal | undefined
  onProgress?: ((progress: Progress) => void) | undefined
  /** Is called with each batch and with the job, which has its tape. If it returns an object, the job ends with that as its result. */
  takeBatch?: ((batch: Batch, job: NativeJob) => object | undefined) | undefined
}

/**
 * Runs a job to its end. `start` returns the addon's job; its argument is the callback for available batches. One batch is taken in
 * each turn of the event loop, so that the job does not block other work. A promised job may have ended, and calls nothing then.
 *
 * Resolves to the result. Rejects with the job's error, the reason of an aborted `signal`, an exception of `onProgress` or `takeBatch`,
 * or the error of a panic.
 *
 * @typeParam T - The result, as the addon sends it. Not checked.
 */
export function runJob<T>(
  kind: JobKind,
  start: (onReady: () => void) => NativeJob | Promise<NativeJob>,
  { signal, onProgress, takeBatch }: JobOptions = NO_OPTIONS,
): Promise<T> {
  if (signal?.aborted) return Promise.reject(signal.reason)
  return new Promise<T>((resolve, reject) => {
    let job: NativeJob | undefined
    let removeAbortListener: (() => void) | undefined
    let hasSettled = false
    /** The exception of `onProgress`, while the job cleans up. */
    let thrown: { error: unknown } | undefined
    const pieces = new Pieces()
    const settle = <V>(settleWith: (value: V) => void, value: V): void => {
      hasSettled = true
      settleWith(value)
      removeAbortListener?.()
    }
    /** Settles before the job has ended, and ends it. */
    const settleEarly = <V>(settleWith: (value: V) => void, value: V): void => {
      settle(settleWith, value)
      if (kind.cleansUp) job?.stop()
      else job?.cancel()
    }
    const abort = (): void => {
      if (kind.cleansUp) job?.stop()
      else settleEarly(reject, signal?.reason)
    }
    const reportProgress = ({ bytes, total, files }: Batch): void => {
      if (!onProgress || thrown || bytes === undefined) return
      try {
        onProgress((files === undefined ? { bytes, total } : { bytes, total, files }) as Progress)
      } catch (error) {
        if (!kind.cleansUp) throw error
        thrown = { error }
        job?.stop()
      }
    }
    const end = (batch: Batch): void => {
      if (thrown) settle(reject, thrown.error)
      else if (batch.cancelled !== undefined && signal?.aborted) settle(reject, signal.reason)
      else settle(resolve, resultOf<T>(kind, batch))
    }
    /** Takes a batch, if there is one. Returns whether there may be more. */
    const takeNext = (): boolean => {
      const text = job!.take()
      if (text === null) return false
      const batch = pieces.add(parse(text))
      if (batch === undefined) return true
      const early = takeBatch?.(batch, job!)
      reportProgress(batch)
      // `onProgress` may have aborted the signal.
      if (hasSettled) return false
      if (early !== undefined) settleEarly(resolve, early as T)
      else if (isEnd(batch)) end(batch)
      return !hasSettled
    }
    const onReady = (): void => {
      if (hasSettled) return
      try {
        // With faked timers there is no next turn to wait for, so all available batches are taken at once.
        while (takeNext()) if (nextTurn) return void nextTurn(onReady)
      } catch (error) {
        settleEarly(reject, error)
      }
    }
    try {
      const started = start(onReady)
      if ('then' in started) {
        return void started.then((promised) => {
          job = promised
          onReady()
        }, reject)
      }
      job = started
      removeAbortListener = onAbort(signal, abort)
    } catch (error) {
      settleEarly(reject, error)
    }
  })
}

const NO_OPTIONS: JobOptions = {}

function isEnd({ done, error, cancelled, panicked }: Batch): boolean {
  return done !== undefined || error !== undefined || cancelled !== undefined || panicked !== undefined
}

/** The result in the last batch of a job. Throws if the job failed. */
export function resultOf<T>(kind: JobKind, { done, error, cancelled, panicked }: Partial<End>): T {
  if (done !== undefined) return done as T
  if (panicked !== undefined) throw panicError(kind.panicCode, kind.doing, panicked)
  throw kind.errorOf((error ?? cancelled)!)
}
