// Processes that give names, for the specs about races and crashes.

import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { HASH } from './naming'

/** The outcome of a command; `ended` if the process was killed before it answered. */
export interface Answer {
  value?: any
  error?: string
  ended?: true
}

/** A process that gives and removes names on demand. */
export class NameProcess {
  readonly #child: ChildProcess = fork(fileURLToPath(new URL('child-names.mjs', import.meta.url)))
  readonly #waiting = new Map<number, (answer: Answer) => void>()
  #asked = 0
  #hasEnded = false

  constructor() {
    this.#child.on('message', ([number, answer]: [number, Answer]) => {
      this.#waiting.get(number)!(answer)
      this.#waiting.delete(number)
    })
    this.#child.on('exit', () => {
      this.#hasEnded = true
      this.#waiting.forEach((answer) => answer({ ended: true }))
    })
  }

  get hasEnded(): boolean {
    return this.#hasEnded
  }

  ask(command: string, ...args: unknown[]): Promise<Answer> {
    if (this.#hasEnded) return Promise.resolve({ ended: true })
    return new Promise((resolve) => {
      this.#waiting.set(++this.#asked, resolve)
      this.#child.send([this.#asked, command, ...args], () => {})
    })
  }

  open(chats: string, id: string): Promise<Answer> {
    return this.ask('open', chats, HASH, id)
  }

  /** Calls a function of the library on a session: an open one if this process has it open. */
  call(chats: string, id: string, name: string, ...args: unknown[]): Promise<Answer> {
    return this.ask('call', 0, chats, id, name, HASH, ...args)
  }

  callAt(time: number, chats: string, id: string, name: string, ...args: unknown[]): Promise<Answer> {
    return this.ask('call', time, chats, id, name, HASH, ...args)
  }

  async kill(): Promise<void> {
    if (this.#hasEnded) return
    const ended = new Promise((resolve) => this.#child.once('exit', resolve))
    this.#child.kill('SIGKILL')
    await ended
  }
}
