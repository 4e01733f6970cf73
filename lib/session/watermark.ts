// The listeners of a recorder to what is in the file.

import type { Commit } from './recorder-config.js'

type Listener = (commit: Commit) => void

/** What goes wrong in a listener is not the recorder's failure: the first one is reported, and recording goes on. */
export class Watermark {
  #listeners: { listener: Listener }[] = []
  #report: ((cause: unknown) => void) | undefined

  constructor(report: (cause: unknown) => void) {
    this.#report = report
  }

  /** Returns what removes the listener again. */
  add(listener: Listener): () => void {
    const one = { listener }
    this.#listeners.push(one)
    return () => {
      this.#listeners = this.#listeners.filter((other) => other !== one)
    }
  }

  call(commit: Commit): void {
    for (const { listener } of this.#listeners.slice()) {
      try {
        const returned: unknown = listener(commit)
        if (returned instanceof Promise) returned.catch((error) => this.#failed(error))
      } catch (error) {
        this.#failed(error)
      }
    }
  }

  #failed(cause: unknown): void {
    const report = this.#report
    this.#report = undefined
    report?.(cause)
  }
}
