'use strict'

const { once } = require('node:events')

/** @import { Writable } from 'node:stream' */

/** The size of the buffer, in characters. */
const BATCH = 1 << 16

/** Buffered standard output. If the reader closes the pipe (`| head`), further output is discarded without an error. */
class Output {
  #stream
  #batch = ''
  /** Whether the reader has closed the pipe. Commands with long output should stop then. */
  isClosed = false

  /** @param {Writable} stream */
  constructor(stream) {
    this.#stream = stream
    stream.on('error', (/** @type {NodeJS.ErrnoException} */ error) => {
      this.isClosed = true
      if (error.code !== 'EPIPE') this.failure = error
    })
  }

  /** Writes text, buffered. Resolves when there is room for more. @param {string} text */
  async write(text) {
    this.#batch += text
    if (this.#batch.length >= BATCH) await this.flush()
  }

  /** Writes the buffer and resolves when the stream accepts more. Rejects on an error other than a closed pipe. */
  async flush() {
    const text = this.#batch
    this.#batch = ''
    if (text !== '' && !this.isClosed && !this.#stream.write(text)) await this.#drained()
    if (this.failure) throw this.failure
  }

  async #drained() {
    const controller = new AbortController()
    const { signal } = controller
    // `once` rejects on an error, which the listener has already recorded.
    await Promise.race([once(this.#stream, 'drain', { signal }), once(this.#stream, 'close', { signal })]).catch(
      () => {},
    )
    controller.abort()
  }
}

module.exports = { Output }
