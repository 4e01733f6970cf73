// The numbers of records that wait: for the file's creation, or for the end of a record that is written in parts.

import type { SessionRecordLine } from './records.js'

/** A time in which records wait. */
interface Wait {
  /** Number of changes until its end. */
  changes: number
}

export class Numbers {
  /** The records that have waited. */
  #waited = new WeakMap<SessionRecordLine, { from: number; wait: Wait }>()
  #wait: Wait = { changes: Infinity }
  /** How the numbers of what waited have changed, in order. */
  #changes: { shift: number; after: number }[] = []
  /** Whether what is recorded waits. A field, because each record looks at it. */
  isWaiting = true

  /** What is recorded from now on waits. */
  begin(): void {
    if (this.isWaiting) return
    this.isWaiting = true
    this.#wait = { changes: Infinity }
  }

  /** A record waits. */
  note(line: SessionRecordLine): void {
    this.#waited.set(line, { from: this.#changes.length, wait: this.#wait })
  }

  /** The numbers beyond `after` of what waits change by `shift`. */
  change(shift: number, after: number): void {
    if (shift !== 0) this.#changes.push({ shift, after })
  }

  /** Nothing waits any longer. */
  end(): void {
    this.isWaiting = false
    this.#wait.changes = this.#changes.length
  }

  /** The number in the file of a record that was returned. */
  of(line: SessionRecordLine): number {
    const waited = this.#waited.get(line)
    if (waited === undefined) return line.seq
    const changes = this.#changes.slice(waited.from, waited.wait.changes)
    return changes.reduce((seq, { shift, after }) => (seq > after ? seq + shift : seq), line.seq)
  }
}
