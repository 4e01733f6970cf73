'use strict'

// The offsets of the lines of a growing file, so that any of them can be read without those before it.

const { openFile } = require('../../open-file.js')

const CHUNK = 1 << 20
/** The length of the longest line that is read, in bytes. */
const LONGEST = 128 << 20

class LineIndex {
  /** The offset of each complete line, and the end of the last one. */
  #offsets = [0]
  #file
  #identity = null

  constructor(file) {
    this.#file = file
  }

  /** The number of complete lines. */
  get count() {
    return this.#offsets.length - 1
  }

  get size() {
    return this.#offsets.at(-1)
  }

  /**
   * Looks for new lines.
   *
   * @returns {Promise<boolean>} false if the file was replaced or has become shorter
   */
  async update() {
    const file = await openFile(this.#file)
    try {
      const { ino, dev, size } = await file.stat({ bigint: true })
      const identity = `${dev} ${ino}`
      this.#identity ??= identity
      if (this.#identity !== identity || Number(size) < this.size) return false
      await this.#scan(file)
      return true
    } finally {
      await file.close()
    }
  }

  async #scan(file) {
    const chunk = Buffer.allocUnsafe(CHUNK)
    for (let at = this.size; ; ) {
      const { bytesRead } = await file.read(chunk, 0, CHUNK, at)
      if (bytesRead === 0) return
      const read = chunk.subarray(0, bytesRead)
      for (let end = read.indexOf(10); end !== -1; end = read.indexOf(10, end + 1)) this.#offsets.push(at + end + 1)
      at += bytesRead
    }
  }

  /**
   * Reads lines, which are numbered from 1. Their texts have no line ends.
   *
   * @returns {Promise<{ text: string, isTooLong: boolean }[]>}
   */
  async read(from, to) {
    const file = await openFile(this.#file)
    try {
      const lines = []
      for (let line = Math.max(from, 1); line <= Math.min(to, this.count); line++) lines.push(await this.#line(file, line))
      return lines
    } finally {
      await file.close()
    }
  }

  async #line(file, line) {
    const [start, end] = [this.#offsets[line - 1], this.#offsets[line]]
    const length = end - start - 1
    if (length > LONGEST) return { text: '', isTooLong: true }
    const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(length), 0, length, start)
    const text = buffer.toString('utf8', 0, bytesRead)
    return { text: line === 1 ? text.replace(/^\ufeff/, '') : text, isTooLong: false }
  }
}

module.exports = { LineIndex }
