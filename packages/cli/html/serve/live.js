'use strict'

// Updates the pages that follow a recording: polls the recording, and sends each page what it does not have yet.

/** The interval at which the recording is polled, in milliseconds. */
const INTERVAL = 400

class Live {
  #look
  #tell
  #readers = new Set()
  /** @type {NodeJS.Timeout | undefined} */
  #timer

  /**
   * @param {() => Promise<void>} look reads what was recorded since the last call
   * @param {(reader: object, more: object) => void} tell sends a page what it does not have yet, through its `send`
   */
  constructor(look, tell) {
    this.#look = look
    this.#tell = tell
  }

  start() {
    this.#timer = setTimeout(() => this.#look().catch(() => {}).then(() => this.#timer !== undefined && this.start()), INTERVAL)
    this.#timer.unref()
  }

  close() {
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  get isFollowed() {
    return this.#readers.size > 0
  }

  /** Adds a page. `has` is what it already has. */
  follow(has, reply, more) {
    const reader = { ...has, send: reply.events(() => this.#readers.delete(reader)) }
    this.#readers.add(reader)
    this.#tell(reader, more)
  }

  tellAll(more) {
    for (const reader of this.#readers) this.#tell(reader, more)
  }

  /** Tells all pages that the recording that they show was replaced by another. */
  replaced() {
    for (const { send } of this.#readers) send('replaced', {})
  }
}

module.exports = { Live }
