'use strict'

const { once } = require('node:events')

/** So much text is put together before it is written. */
const BATCH = 1 << 16

/** Standard output. A reader that has seen enough (`| head`) is no error: what comes afterwards is dropped. */
class Output {
  #stream
  #batch = ''
  /** Whether the reader has closed the pipe. A command that writes without an end should stop then. */
  isClosed = false

  constructor(stream) {
    this.#stream = stream
    stream.on('error', (error) => {
      this.isClosed = true
      if (error.code !== 'EPIPE') this.failure = error
    })
  }

  /** Writes now or later, and waits while the reader is behind. */
  async write(text) {
    this.#batch += text
    if (this.#batch.length >= BATCH) await this.flush()
  }

  /** Resolves when the reader can take more. Rejects if it can't be written for a reason other than a reader that left. */
  async flush() {
    const text = this.#batch
    this.#batch = ''
    if (text !== '' && !this.isClosed && !this.#stream.write(text)) await this.#drained()
    if (this.failure) throw this.failure
  }

  async #drained() {
    const controller = new AbortController()
    const { signal } = controller
    // `once` rejects on an error, which has been noted already.
    await Promise.race([once(this.#stream, 'drain', { signal }), once(this.#stream, 'close', { signal })]).catch(() => {})
    controller.abort()
  }
}

module.exports = { Output }
