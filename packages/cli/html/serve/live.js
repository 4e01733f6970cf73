'use strict'

// Updates the pages that follow a recording: polls the recording, and sends each page what it does not have yet.

/** The interval at which the recording is polled, in milliseconds. */
const INTERVAL = 400

/** @import { Route, Send } from './server.js' */

/**
 * @template {Record<string, number>} Has what a page has
 * @template [More=undefined] what else it may need
 */
class Live {
  #look
  #tell
  /** @type {Set<Has & { send: Send }>} */
  #readers = new Set()
  /** @type {NodeJS.Timeout | undefined} */
  #timer

  /**
   * @param {() => Promise<void>} look reads what was recorded since the last call
   * @param {(reader: Has & { send: Send }, more?: More) => void} tell sends a page what it does not have yet, through its `send`
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

  /** Adds a page. `has` is what it already has. @type {(has: Has, reply: Parameters<Route>[1], more?: More) => void} */
  follow(has, reply, more) {
    /** @type {Has & { send: Send }} */
    const reader = { ...has, send: reply.events(() => this.#readers.delete(reader)) }
    this.#readers.add(reader)
    this.#tell(reader, more)
  }

  /** @param {More} [more] */
  tellAll(more) {
    for (const reader of this.#readers) this.#tell(reader, more)
  }

  /** Tells all pages that the recording that they show was replaced by another. */
  replaced() {
    for (const { send } of this.#readers) send('replaced', {})
  }
}

module.exports = { Live }
