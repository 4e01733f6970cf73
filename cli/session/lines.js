'use strict'

const { openFile } = require('../open-file.js')

const CHUNK = 1 << 20

/** The maximum length of a line, in bytes. Longer ones are skipped: JavaScript strings are limited to 512 MiB, and pages need far less. */
const LONGEST_LINE = 128 << 20

/**
 * Reads the lines of a file in batches, in bounded memory: a reused buffer and the current line. Lines end at `\n` only, as in a session
 * file.
 *
 * @param {string} path
 * @param {number} [chunkSize] the size of a read, in bytes
 * @yields {{ lines: string[], bytes: number, tooLong: number }} `bytes` is the number of bytes read so far. A line longer than
 *   `LONGEST_LINE` is an empty string; `tooLong` is the number of these in the batch
 */
async function* lineBatches(path, chunkSize = CHUNK) {
  const file = await openFile(path)
  try {
    const chunk = Buffer.allocUnsafe(chunkSize)
    const openLine = new OpenLine()
    let bytes = 0
    for (;;) {
      const { bytesRead } = await file.read(chunk, 0, chunkSize, null)
      if (bytesRead === 0) break
      bytes += bytesRead
      yield { ...cut(chunk.subarray(0, bytesRead), openLine), bytes }
    }
    if (openLine.length > 0) {
      const last = openLine.end()
      yield { lines: [last.text], tooLong: last.tooLong, bytes }
    }
  } finally {
    await file.close()
  }
}

function cut(data, openLine) {
  const lines = []
  let tooLong = 0
  let from = 0
  for (let end = data.indexOf(10, from); end !== -1; end = data.indexOf(10, from)) {
    if (openLine.length === 0 && !openLine.isFirst) {
      lines.push(data.toString('utf8', from, end))
    } else {
      openLine.add(data.subarray(from, end))
      const line = openLine.end()
      lines.push(line.text)
      tooLong += line.tooLong
    }
    from = end + 1
  }
  if (from < data.length) openLine.add(data.subarray(from))
  return { lines, tooLong }
}

/** An incomplete line. */
class OpenLine {
  #parts = []
  length = 0
  /** Whether this is the first line, the only one that may begin with a byte order mark. */
  isFirst = true

  /** Appends a copy of `part`, whose buffer is reused. */
  add(part) {
    this.length += part.length
    if (this.length > LONGEST_LINE) this.#parts = []
    else this.#parts.push(Buffer.from(part))
  }

  /** Returns the line, and begins a new one. */
  end() {
    const tooLong = this.length > LONGEST_LINE ? 1 : 0
    let text = tooLong ? '' : Buffer.concat(this.#parts).toString('utf8')
    if (this.isFirst && text.charCodeAt(0) === 0xfeff) text = text.slice(1)
    this.#parts = []
    this.length = 0
    this.isFirst = false
    return { text, tooLong }
  }
}

module.exports = { lineBatches, LONGEST_LINE }
