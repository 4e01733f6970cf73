// The background part of session and run recorders: flushes, failures, and the end of the process.

import path = require('node:path')
import { native } from './addon.js'
import type { NativeWriting, RecorderGroup } from './binding/native.js'
import { parse, withFields, queueMicrotask, stringify } from './builtins.js'
import type { RecordingError, RecordingOwner, RecordingWarning } from './recording-warning.js'

/** The failure that ended a writing. `kept` is how many of the queued lines are in the file. */
export interface WriteFailure {
  code: string
  message: string
  path: string
  errno?: number
  syscall?: string
  kept: number
  /** Whether its code is a `RecordingWarningCode`. */
  isEnvironmental: boolean
  /** What the host's own function for appending threw. */
  thrown?: unknown
  /** The content of the lock file of a recorder that is in the way. */
  owner?: string
}

/** A recorder of the addon. */
interface Recorder {
  takeWriting(): NativeWriting | null
  dispose(): Promise<void>
  /** The recorder of a session: what is written by now is no longer pending. */
  endTurn?(): boolean
  /** What is to be appended next, for a recorder with a seam. */
  takeAppend?(): { path: string; data: string } | null
  /** That is done, or has failed with the error of this number, 0 if it has none. */
  answerAppend?(errno: number | null): void
}

/** The acknowledgements of a recorder. */
interface Acknowledgements {
  settle(): void
  settled(): Promise<void>
  leave(): void
}

/** The writings of this thread that have not warned yet, by id. The references are weak, so that unreferenced recorders are collected. */
const writings = new Map<number, WeakRef<Writing<Recorder>>>()
/** Those with a seam: what they have to write is passed to the seam, whether or not anything else refers to them. */
const seamed = new Map<number, Writing<Recorder>>()
const registry = new FinalizationRegistry((id: number) => writings.delete(id))
let lastId = 0
let group: RecorderGroup | undefined
/** Whether the process or the worker is ending. */
export const ending: { hasBegun: boolean } = { hasBegun: false }

/** Created with the first recorder, so that a program that only replays gets no exit listener. */
function recorderGroup(): RecorderGroup {
  if (!group) {
    group = new native.RecorderGroup(
      (id) => writings.get(id)?.deref()?.warn(),
      (id) => writings.get(id)?.deref()?.settle(),
      (id) => void seamed.get(id)?.append(),
    )
    // Before other listeners, of which one may record and then call `process.exit` again.
    process.prependListener('exit', leave)
    if ((process as NodeJS.Process & { _exiting?: boolean })._exiting) leave()
    drainBeforeExecve()
  }
  return group
}

/** From now on, recording waits until its records are written, and warns at once: no later turn of the event loop will. */
function leave(): void {
  ending.hasBegun = true
  for (const writing of writings.values()) writing.deref()?.commits?.leave()
  group?.leave()
  warnAll()
}

function warnAll(): void {
  for (const writing of writings.values()) writing.deref()?.warn()
}

/** `process.execve` (Node.js 24) replaces the program without an event: it ends all threads, and waits for none. */
function drainBeforeExecve(): void {
  const { execve } = process as Partial<NodeJS.Process>
  if (typeof execve !== 'function') return
  process.execve = {
    execve(this: NodeJS.Process, ...args: unknown[]): never {
      native.drainAllRecorders()
      warnAll()
      return Reflect.apply(execve, this, args) as never
    },
  }.execve
}

/** Appends to a file in the place of the system. */
type AppendFile = (path: string, data: string, encoding: 'utf-8') => Promise<void> | void

/** How often a seam is tried that is interrupted. */
const MAX_ATTEMPTS = 100

export class Writing<R extends Recorder> {
  recorder: R
  commits: Acknowledgements | undefined
  #native: NativeWriting
  #id: number
  #onWarning: ((warning: RecordingWarning) => void) | undefined
  #describe: (failure: WriteFailure) => RecordingWarning
  #flushing: Promise<WriteFailure | null> | undefined
  #hasWarned = false
  #seam: AppendFile | undefined
  /** Whether the seam is appending. */
  isAppending = false
  #thrown: { error: unknown } | undefined

  /**
   * Opens a recorder with `open(group, id)`, whose exceptions are passed on. `describe` turns a failure into a warning.
   */
  constructor(
    open: (group: RecorderGroup, id: number) => R,
    onWarning: ((warning: RecordingWarning) => void) | undefined,
    describe: (failure: WriteFailure) => RecordingWarning,
    seam?: AppendFile,
  ) {
    this.#id = ++lastId
    this.recorder = open(recorderGroup(), this.#id)
    this.#native = this.recorder.takeWriting()!
    this.#onWarning = onWarning
    this.#describe = describe
    writings.set(this.#id, new WeakRef(this))
    registry.register(this, this.#id)
    this.#seam = seam
    if (seam !== undefined) seamed.set(this.#id, this as unknown as Writing<Recorder>)
  }

  /** Also rejects for failures that precede the call, until `onWarning` has reported them: only then does the caller know. */
  async flush(): Promise<void> {
    if (this.#hasWarned) return
    const queued = this.#native.unflushed()
    if (queued === null) {
      await undefined
      this.settle()
      return this.commits?.settled()
    }
    const failure = await this.#flushThisTurn()
    if (failure && !failure.isEnvironmental && queued > failure.kept) throw writeError(failure)
  }

  /** Combines the flushes of one turn of the event loop. Resolves to the writer's failure, if there is one. */
  #flushThisTurn(): Promise<WriteFailure | null> {
    this.#flushing ??= Promise.resolve().then(async () => {
      this.#flushing = undefined
      await this.#native.flush()
      this.settle()
      this.warn()
      await this.commits?.settled()
      const failure = this.#native.failure()
      return failure === null ? null : this.#failureOf(failure)
    })
    return this.#flushing
  }

  /** Resolves when everything is written, and the file is closed and unlocked. */
  async dispose(): Promise<void> {
    await this.recorder.dispose()
    this.settle()
    // Failures are reported by `onWarning` and by flushes; `dispose` does not reject.
    this.warn()
    seamed.delete(this.#id)
  }

  /** Everything written so far is no longer pending, and is acknowledged. */
  settle(): void {
    this.recorder.endTurn?.()
    this.commits?.settle()
  }

  /** Reports the writer's failure to `onWarning`, once. */
  warn(): void {
    const text = this.#native.takeFailure()
    if (!text) return
    this.#hasWarned = true
    writings.delete(this.#id)
    seamed.delete(this.#id)
    this.callOnWarning(this.#describe(this.#failureOf(text)))
  }

  /** Passes what is written next to the seam. */
  async append(): Promise<void> {
    const next = this.recorder.takeAppend?.()
    if (next === undefined || next === null || this.#seam === undefined) return
    this.isAppending = true
    const errno = await this.#tryToAppend(this.#seam, next.path, next.data)
    this.isAppending = false
    this.recorder.answerAppend?.(errno)
  }

  /** Returns the number of the error, if there is one. */
  async #tryToAppend(seam: AppendFile, path: string, data: string): Promise<number | null> {
    for (let attempt = 1; ; attempt++) {
      try {
        await seam(path, data, 'utf-8')
        return null
      } catch (error) {
        if (codeOf(error) === 'EINTR' && attempt < MAX_ATTEMPTS) continue
        this.#thrown = { error }
        return numberOf(codeOf(error))
      }
    }
  }

  #failureOf(text: string): WriteFailure {
    const failure = parse<WriteFailure>(text)
    if (this.#thrown === undefined) return failure
    const { error } = this.#thrown
    return {
      ...failure,
      code: codeOf(error) ?? failure.code,
      message: error instanceof Error ? error.message : String(error),
      thrown: error,
    }
  }

  /** Calls `onWarning`. Its exceptions are reported as uncaught exceptions rather than to the caller of this library. */
  callOnWarning(warning: RecordingWarning): void {
    try {
      this.#onWarning?.(warning)
    } catch (error) {
      queueMicrotask(() => {
        throw error
      })
    }
  }
}

function codeOf(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null | undefined)?.code
  return typeof code === 'string' ? code : undefined
}

/** The system's number for a code; 0 if it has none. */
function numberOf(code: string | undefined): number {
  const os = require('node:os') as typeof import('node:os')
  return (code !== undefined && (os.constants.errno as Record<string, number>)[code]) || 0
}

/** An absolute path, because the file is opened again for each batch and the process may change its working directory. */
export function absolute(filePath: string): string {
  return path.isAbsolute(filePath) ? filePath : path.resolve(filePath)
}

/** This process as the owner of its locks, as JSON for the lock file. */
export function thisProcess(): string {
  const os = require('node:os') as typeof import('node:os')
  // That of the module: the global one may be a browser's, which begins with its window.
  const { performance } = require('node:perf_hooks') as typeof import('node:perf_hooks')
  const startTime = new Date(performance.timeOrigin).toISOString()
  return stringify({ pid: process.pid, startTime, host: os.hostname() })
}

/** Returns the owner of a lock, or `undefined` if another program has the lock or its owner can't be read. */
export function ownerOf({ owner }: { owner?: string }): RecordingOwner | undefined {
  if (owner === undefined) return undefined
  try {
    const { pid, startTime, host } = parse<Record<keyof RecordingOwner, unknown>>(owner)
    if (typeof pid === 'number' && typeof startTime === 'string' && typeof host === 'string')
      return { pid, startTime, host }
  } catch {
    // The text was not written by this library.
  }
  return undefined
}

/** The description of an owner for messages. */
export function shownOwner(owner: RecordingOwner | undefined): string {
  return owner ? `process ${owner.pid} on ${owner.host}, which started ${owner.startTime}` : 'another recorder'
}

/** The error for a record that is lost because of a failure. */
export function writeError({ code, errno, syscall, message, path: filePath, thrown }: WriteFailure): RecordingError {
  if (thrown instanceof Error) return thrown as RecordingError
  const where = message.includes(filePath) ? '' : ` '${filePath}'`
  // `FileReplaced` is found when the file is opened, and has no number of the system.
  return withFields(new Error(`${message}${where}`), {
    errno: errno ?? 0,
    code,
    syscall: syscall ?? 'open',
    path: filePath,
  })
}
