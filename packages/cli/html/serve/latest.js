'use strict'

// What is served of a recording: it is read again when its page is requested and its file has changed since.

const { stat } = require('node:fs/promises')

/** @template T what is read */
class Latest {
  #file
  #read
  /** @type {string | undefined} */
  #version
  /** @type {Promise<T> | undefined} */
  #reading

  /**
   * @param {string} file
   * @param {() => Promise<T>} read
   */
  constructor(file, read) {
    this.#file = file
    this.#read = read
  }

  /** What was read when the page was last requested. @returns {Promise<T>} */
  shown() {
    return this.#reading ?? this.now()
  }

  /** What is there now. @returns {Promise<T>} */
  async now() {
    const { dev, ino, size, mtimeNs } = await stat(this.#file, { bigint: true })
    const version = `${dev} ${ino} ${size} ${mtimeNs}`
    if (version === this.#version && this.#reading !== undefined) return this.#reading
    const reading = this.#read()
    this.#version = version
    this.#reading = reading
    // After a failure it is read again.
    reading.catch(() => {
      if (this.#reading === reading) this.#reading = undefined
    })
    return reading
  }
}

module.exports = { Latest }
