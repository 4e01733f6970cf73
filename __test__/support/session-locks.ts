// Session locks as this and other programs leave them, for the specs about locks.

import { type ChildProcess, fork } from 'node:child_process'
import { createHash, randomUUID } from 'node:crypto'
import { readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { sessionLockPath } from '../../index.js'

export const MINUTE = 60_000
export const HOUR = 60 * MINUTE
export const ID = 'f3a91c22-demo'

/** A pid that no process can have. That of one that has ended may be given to another, or to a thread, while the specs run. */
export const DEAD_PID = 2 ** 31 - 1

/** The content of a lock written `age` milliseconds ago. `ownerToken: undefined` gives that of an older version. */
export function lockOf(
  pid: unknown,
  { age = 0, ...members }: { age?: number; ownerToken?: string | undefined; sessionId?: unknown; held?: unknown } = {},
): string {
  return JSON.stringify({
    pid,
    timestamp: new Date(Date.now() - age).toISOString(),
    sessionId: ID,
    ownerToken: randomUUID(),
    ...members,
  })
}

/** Writes the lock of a session, last modified `age` milliseconds ago. Returns its path. */
export function writeLock(directory: string, content: string, { id = ID, age = 0 } = {}): string {
  return writeAged(sessionLockPath(directory, id), content, age)
}

/** Writes a file that was last modified `age` milliseconds ago. Returns its path. */
export function writeAged(path: string, content: string, age = 0): string {
  writeFileSync(path, content)
  makeOlder(path, age)
  return path
}

export function makeOlder(path: string, age: number): void {
  const then = (Date.now() - age) / 1000
  utimesSync(path, then, then)
}

export const guardOf = (lockPath: string): string => `${lockPath}.tguard`

/** The mark of the process that removes a guard with this content. */
export function markOf(lockPath: string, guard: Buffer): string {
  const hex = createHash('sha256').update(guard).digest('hex').slice(0, 32)
  return `${lockPath}.${hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')}.locktmp`
}

export const namesIn = (directory: string): string[] => readdirSync(directory).sort()

export const readLock = (lockPath: string): Record<string, unknown> =>
  JSON.parse(readFileSync(lockPath, 'utf8')) as Record<string, unknown>

export const inodeOf = (path: string): bigint => statSync(path, { bigint: true }).ino

/** Makes all files of a directory look `age` milliseconds old. */
export function ageAll(directory: string, age: number): void {
  for (const name of readdirSync(directory)) makeOlder(join(directory, name), age)
}

/** What a process answers to a command: `'held'`, `'released'`, a truth value, or the code of an error; `'ended'` if it cannot answer. */
type Answer = string | boolean

/** A change that a process made to the disk: `create`, `write`, `sync`, `link`, `unlink` or `mkdir`, and its path. */
export type Change = [what: string, path: string, more?: string]

/** A process that acquires and releases locks on demand. */
export class LockProcess {
  readonly #child: ChildProcess
  readonly #waiting = new Map<number, (answer: Answer) => void>()
  #asked = 0

  /** `env` is added to its environment; `wrapper` is a command in front of Node. */
  constructor({ env = {}, wrapper = [] }: { env?: NodeJS.ProcessEnv; wrapper?: string[] } = {}) {
    const [execPath = process.execPath, ...before] = [...wrapper, process.execPath]
    this.#child = fork(fileURLToPath(new URL('child-locks.mjs', import.meta.url)), {
      env: { ...process.env, ...env },
      execPath,
      execArgv: before,
    })
    this.#child.on('message', ([number, answer]: [number, Answer]) => {
      this.#waiting.get(number)!(answer)
      this.#waiting.delete(number)
    })
    // A process that was killed answers nothing more.
    this.#child.on('exit', () => this.#waiting.forEach((answer) => answer('ended')))
  }

  get pid(): number {
    return this.#child.pid!
  }

  ask(command: string, ...args: unknown[]): Promise<Answer> {
    return new Promise((resolve) => {
      this.#waiting.set(++this.#asked, resolve)
      this.#child.send([this.#asked, command, ...args])
    })
  }

  /** The changes that it made since the last call. */
  async changes(): Promise<Change[]> {
    return (await this.ask('changes')) as unknown as Change[]
  }

  acquire(directory: string, id = ID): Promise<Answer> {
    return this.ask('acquire', directory, id)
  }

  release(): Promise<Answer> {
    return this.ask('release')
  }

  /** Stops the process, or lets it go on. */
  signal(signal: 'SIGSTOP' | 'SIGCONT'): void {
    this.#child.kill(signal)
  }

  /** Ends the process without a chance to release anything. */
  async kill(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return
    const ended = new Promise((resolve) => this.#child.once('exit', resolve))
    this.#child.kill('SIGKILL')
    await ended
  }
}
