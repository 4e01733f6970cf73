'use strict'

// The pages that follow a recording: looks for what is new now and then, and tells each page what it does not have yet.

/** How often the recording is looked at, in milliseconds. */
const INTERVAL = 400

class Live {
  #look
  #tell
  #readers = new Set()
  #timer = null

  /**
   * @param {() => Promise<void>} look looks for what is new
   * @param {(reader: object, more: object) => void} tell tells a page what it does not have, through its `send`
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

  /** Adds a page. `has`: what it has already. */
  follow(has, reply, more) {
    const reader = { ...has, send: reply.events(() => this.#readers.delete(reader)) }
    this.#readers.add(reader)
    this.#tell(reader, more)
  }

  tellAll(more) {
    for (const reader of this.#readers) this.#tell(reader, more)
  }

  /** Tells all pages that there is another recording in the place of the one that they show. */
  replaced() {
    for (const { send } of this.#readers) send('replaced', {})
  }
}

module.exports = { Live }
