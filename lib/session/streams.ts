// Records that are written in parts, one after the other. What is recorded after one of them waits for its end.

import timers = require('node:timers')
import type { NativeRecorder } from '../binding/native.js'
import { LineSize } from './line-limit.js'
import type { Settling } from './commits.js'
import type { Commit } from './recorder-config.js'

/** The recorder behind the streams. */
interface Recorder {
  native: NativeRecorder
  /** Begins a record that is written in parts. Returns its number, null if the recorder is inactive. */
  begin(type: string): number | null
  /** Resolves when everything is in the file that precedes it. */
  flush(): Promise<void>
  /** Settles when the record with this number is acknowledged, in the order of all acknowledgements. */
  wait(seq: number, settling: Settling): void
  /** The record with this number has ended. Unless it keeps its number, what follows has moved up. */
  ended(seq: number, keepsNumber: boolean): void
  /** Why nothing more is written. */
  refusal(): Error
}

/** Where the parts of a payload go. */
export interface Line {
  /** Throws if the recording has ended. */
  write(text: string, isLast: boolean): Promise<void>
  /** The stream goes on. */
  goesOn(): void
}

/** Writes the payload. Ends with the signal's reason. */
type Write = (line: Line, signal: AbortSignal) => Promise<void>

/** How long a stream may pause once the recorder is to end. */
const PAUSE_MS = 2000
const { setInterval, clearInterval } = timers

interface Stream extends Settling {
  seq: number
  type: string
  ending: AbortController
}

/** Without this reference a recorder could be collected while a stream pauses, with what waits. */
const streaming = new Set<Streams>()

export class Streams {
  #recorder: Recorder
  /** The first one is being written. */
  #begun: Stream[] = []
  #pending = 0
  #last: Promise<void> = Promise.resolve()
  #dropped = 0
  /** When a stream has gone on last. */
  #wentOn = 0

  constructor(recorder: Recorder) {
    this.#recorder = recorder
  }

  /** Whether what is recorded waits. */
  isRunning(): boolean {
    return this.#begun.length > 0
  }

  /** Whether a promise has not settled. */
  isPending(): boolean {
    return this.#pending > 0
  }

  /** Resolves when those that have begun by now have ended: to the number of those that were not completed. */
  async ended(): Promise<number> {
    const before = this.#dropped
    await this.#last
    return this.#dropped - before
  }

  /** Waits for them as long as they go on. Ends those that pause then. */
  async conclude(reason: Error): Promise<void> {
    this.#wentOn = performance.now()
    const look = (): void => {
      if (performance.now() - this.#wentOn >= PAUSE_MS) this.#begun.forEach(({ ending }) => ending.abort(reason))
    }
    const looking = setInterval(look, PAUSE_MS / 10)
    await this.ended()
    clearInterval(looking)
  }

  /** Records an event, in the place that it has among the others when this is called. */
  record(type: string, signal: AbortSignal | undefined, write: Write): Promise<Commit> {
    if (signal?.aborted === true) return Promise.reject(signal.reason)
    const seq = this.#recorder.begin(type)
    if (seq === null) return this.#unwritten()
    this.#pending++
    streaming.add(this)
    return new Promise((resolve, reject) => {
      const settled = (settle: () => void): void => {
        this.#pending--
        settle()
      }
      const settling: Settling = {
        resolve: (commit) => settled(() => resolve(commit)),
        reject: (error) => settled(() => reject(error)),
      }
      const stream = { seq, type, ending: new AbortController(), ...settling }
      this.#begun.push(stream)
      this.#last = this.#last.then(() => this.#write(stream, signal, write)).catch(settling.reject)
    })
  }

  async #write(stream: Stream, signal: AbortSignal | undefined, write: Write): Promise<void> {
    const { ending } = stream
    const onAbort = (): void => ending.abort(signal?.reason)
    if (signal?.aborted === true) onAbort()
    signal?.addEventListener('abort', onAbort)
    try {
      await this.#recorder.flush()
      await write(this.#line(stream.type), ending.signal)
      if (!this.#recorder.native.endStream()) await this.#unwritten()
      // Before what follows is acknowledged.
      this.#recorder.wait(stream.seq, stream)
      this.#end(true)
    } catch (error) {
      if (this.#begun[0] === stream) this.#abort()
      throw error
    } finally {
      signal?.removeEventListener('abort', onAbort)
    }
  }

  #line(type: string): Line {
    const { native } = this.#recorder
    const size = new LineSize(type)
    return {
      goesOn: () => {
        this.#wentOn = performance.now()
      },
      write: async (text, isLast) => {
        size.add(text)
        if (!native.isActive()) await this.#unwritten()
        await native.writePart(text, isLast)
        if (!native.isActive()) await this.#unwritten()
      },
    }
  }

  /** Rejects with the reason for which nothing more is written. */
  async #unwritten(): Promise<never> {
    await undefined
    throw this.#recorder.refusal()
  }

  #abort(): void {
    const { native } = this.#recorder
    const isActive = native.isActive()
    native.abortStream()
    this.#end(!isActive)
  }

  /** The first one has ended. Unless it keeps its number, the next record has that. */
  #end(keepsNumber: boolean): void {
    const { seq } = this.#begun.shift()!
    if (!keepsNumber) {
      this.#dropped++
      this.#begun.forEach((stream) => stream.seq--)
    }
    if (this.#begun.length === 0) streaming.delete(this)
    this.#recorder.ended(seq, keepsNumber)
  }
}
