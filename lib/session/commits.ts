// Acknowledgements: promises that settle when their records are in the file, or never will be.

import timers = require('node:timers')
import type { NativeRecorder } from '../binding/native.js'
import { queueMicrotask } from '../builtins.js'
import type { Commit } from './recorder-config.js'

/** A promise to be settled. */
export interface Settling {
  resolve: (commit: Commit) => void
  reject: (error: Error) => void
}

/** A record whose acknowledgement is awaited. Its number is Infinity if the writer has refused it, and the reason is about to be told. */
type Awaited = Settling & { seq: number }

/** A record that has no number, because the queue has no room for it. */
type Crowded = Settling & { type: string; text: string; promise: Promise<Commit> }

/** The recorder behind the acknowledgements. */
interface Recorder {
  native: NativeRecorder
  /** Records an event. Returns its number, NaN if the recorder is inactive, or null if the queue has no room. */
  record(type: string, text: string): number | null
  /** Whether there is a file. */
  hasFile(): boolean
  /** Calls the observers. */
  observed(commit: Commit): void
}

/** Recorders with acknowledgements to come. Without this reference a recorder could be collected before its caller gets them. */
const expecting = new Set<Commits>()

export class Commits {
  #recorder: Recorder
  /** In the order of their numbers. */
  #awaited: Awaited[] = []
  #crowded: Crowded[] = []
  /** The last of what is settled one after the other, each in a microtask of its own. */
  #settled: Promise<void> = Promise.resolve()
  /** Promises that are about to settle. */
  #unsettled = 0
  /** Why nothing more is acknowledged. */
  #refusal: Error | undefined
  #isWatchDue = false
  #isReleaseDue = false
  #isObserved = false
  #lastObserved = -1

  constructor(recorder: Recorder) {
    this.#recorder = recorder
  }

  /** From now on observers are called after every batch. */
  observe(): void {
    this.#isObserved = true
    this.#recorder.native.observe()
  }

  /** Whether a promise has not settled, unless its record waits for the file. */
  isAwaiting(): boolean {
    return this.#unsettled > 0 || this.#crowded.length > 0 || (this.#awaited.length > 0 && this.#recorder.hasFile())
  }

  /** The records after this number were taken back. */
  takeBack(last: number): void {
    this.#lastObserved = -1
    const refused = this.#awaited.filter(({ seq }) => seq > last && seq !== Infinity)
    this.#awaited = this.#awaited.filter((one) => !refused.includes(one))
    const reason = new Error('The record was rolled back before it was acknowledged')
    refused.forEach(({ reject }) => this.#settleNext(() => reject(reason)))
    this.#expect()
  }

  /** Records an event as soon as there is room, and resolves when it is in the file. */
  commit(type: string, text: string): Promise<Commit> {
    let settling!: Settling
    const promise = new Promise<Commit>((resolve, reject) => {
      settling = { resolve, reject }
    })
    const one: Crowded = { ...settling, type, text, promise }
    // Before anything is recorded: the writer leaves the record alone until it is watched.
    this.#watchSoon()
    if (this.#crowded.length > 0 || !this.#record(one)) this.#crowded.push(one)
    return promise
  }

  /** Resolves when the record with this number, which was recorded before, is in the file. */
  wait(seq: number): Promise<Commit> {
    return new Promise((resolve, reject) => this.waitWith(seq, { resolve, reject }))
  }

  /** The same, for a promise that the caller has made. */
  waitWith(seq: number, { resolve, reject }: Settling): void {
    this.#await({ seq, resolve, reject })
    this.#watchSoon()
  }

  /** Resolves when the promises are settled whose records are known to be in the file, or never will be. */
  settled(): Promise<void> {
    return this.#settled
  }

  #settleNext(settle: () => void): void {
    this.#unsettled++
    this.#settled = this.#settled.then(() => {
      this.#unsettled--
      settle()
    })
  }

  /** Whether the record was taken, or will never be. */
  #record({ type, text, resolve, reject }: Crowded): boolean {
    const refusal = this.#refusal
    if (refusal !== undefined) {
      this.#settleNext(() => reject(refusal))
      return true
    }
    const seq = this.#recorder.record(type, text)
    if (seq === null) return false
    this.#await({ seq: seq === seq ? seq : Infinity, resolve, reject })
    return true
  }

  #await(one: Awaited): void {
    let at = this.#awaited.length
    while (at > 0 && this.#awaited[at - 1]!.seq > one.seq) at--
    if (at === this.#awaited.length) this.#awaited.push(one)
    else this.#awaited.splice(at, 0, one)
  }

  /** Resolves when the records that wait for room are in the file, or never will be. `undefined` if none waits. */
  admitted(): Promise<void> | undefined {
    const last = this.#crowded[this.#crowded.length - 1]
    const ignore = () => {}
    return last?.promise.then(ignore, ignore)
  }

  /** The records that waited, with numbers beyond `after`, have other ones now. */
  renumber(shift: number, after: number): void {
    this.#awaited.forEach((one) => (one.seq += one.seq > after ? shift : 0))
    // The file may be gone for which they no longer wait.
    this.#expect()
  }

  /** The file exists: what waited for it is about to be written. */
  begin(): void {
    if (this.#awaited.length > 0) this.#watchSoon()
  }

  /** Once for all records of a turn, which then are one batch. */
  #watchSoon(): void {
    if (this.#isWatchDue) return
    this.#isWatchDue = true
    expecting.add(this)
    queueMicrotask(this.#watch)
  }

  #watch = (): void => {
    this.#isWatchDue = false
    // What was written before is not told again.
    while (this.#recorder.native.watch() && this.#settleReached());
    this.#expect()
  }

  /** Settles what a batch has acknowledged. */
  settle(): void {
    this.#settleReached()
    if (this.#awaited.length > 0 || this.#crowded.length > 0) this.#watch()
    else this.#releaseSoon()
  }

  /** Later than those who awaited the last record: they may commit the next one. */
  #releaseSoon(): void {
    if (this.#isReleaseDue) return
    this.#isReleaseDue = true
    this.#settled = this.#settled.then(this.#release)
  }

  #release = (): void => {
    this.#isReleaseDue = false
    this.#expect()
  }

  /** Returns whether there was anything to settle or to admit. Observers are called first. */
  #settleReached(): boolean {
    const { native } = this.#recorder
    let count = 0
    for (; count < this.#awaited.length; count++) {
      const { seq, resolve } = this.#awaited[count]!
      const byteOffset = native.lineEnd(seq)
      if (byteOffset !== byteOffset) break
      this.#settleNext(() => resolve({ seq, byteOffset }))
    }
    if (count === this.#awaited.length) this.#awaited.length = 0
    else if (count > 0) this.#awaited.splice(0, count)
    // What is acknowledged is no longer pending.
    if (count > 0) native.endTurn()
    // The promises settle in microtasks.
    this.#observe()
    return this.#admit() || count > 0
  }

  #admit(): boolean {
    let count = 0
    while (count < this.#crowded.length && this.#record(this.#crowded[count]!)) count++
    if (count > 0) this.#crowded.splice(0, count)
    return count > 0
  }

  /** Another file follows: what was recorded in the one before is acknowledged now, or never. */
  leaveFile(): void {
    this.#settleReached()
    const refused = this.#awaited
    this.#awaited = []
    const reason = new Error('The recorder has gone on in another file before the record was acknowledged')
    refused.forEach(({ reject }) => this.#settleNext(() => reject(reason)))
    this.#expect()
  }

  /** Records what waits for room, whether or not there is any: the process ends. */
  leave(): void {
    while (this.#crowded.length > 0 && this.#admit());
  }

  #observe(): void {
    const { native } = this.#recorder
    if (!this.#isObserved) return
    const seq = native.acknowledged()
    const byteOffset = native.lineEnd(seq)
    if (byteOffset !== byteOffset || seq === this.#lastObserved) return
    this.#lastObserved = seq
    this.#recorder.observed({ seq, byteOffset })
  }

  /** Nothing more will be written: settles everything, and refuses what comes later. */
  end(reason: Error): void {
    this.#settleReached()
    this.#refusal ??= reason
    const refusal = this.#refusal
    const refused: Settling[] = [...this.#awaited, ...this.#crowded]
    this.#awaited = []
    this.#crowded = []
    refused.forEach(({ reject }) => this.#settleNext(() => reject(refusal)))
    this.#expect()
  }

  /** Holds the recorder, and the process, as long as the writer has something to acknowledge. Records that wait for a file hold no process. */
  #expect(): void {
    const isExpecting = this.#awaited.length > 0 || this.#crowded.length > 0
    if (isExpecting) expecting.add(this)
    else expecting.delete(this)
    holdProcess(this, isExpecting && (this.#crowded.length > 0 || this.#recorder.hasFile()))
  }
}

/** Those that hold the process. */
const holding = new Set<Commits>()
let holder: NodeJS.Timeout | undefined
const { setInterval } = timers

/** The longest interval of a timer. */
const LONG_MS = 2 ** 31 - 1

function holdProcess(one: Commits, isHolding: boolean): void {
  if (isHolding === holding.has(one)) return
  if (isHolding) holding.add(one)
  else holding.delete(one)
  if (holding.size === 0) holder?.unref()
  else if (holder === undefined) holder = setInterval(() => {}, LONG_MS)
  else holder.ref()
}
