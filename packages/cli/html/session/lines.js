'use strict'

// Reads the lines of a session for its page, which also shows the text of damaged ones.

const tape = require('session-tape')
const { openFile } = require('../../open-file.js')

/** The length of the longest damaged line whose text is read, in bytes. */
const LONGEST = 128 << 20

/**
 * Yields the lines, each with its text if it is damaged and not too long.
 *
 * @param {string} log
 * @param {import('session-tape').SessionRecordsOptions} [options]
 * @returns {AsyncGenerator<[read: import('session-tape').SessionLine, text: string | undefined]>}
 */
async function* linesOf(log, options) {
  for await (const read of tape.readSessionRecords(log, options)) {
    const isDamaged = read.record === null && read.status !== null
    yield [read, isDamaged && read.length <= LONGEST ? await textAt(log, read) : undefined]
  }
}

/** @type {(log: string, place: { offset: number, length: number }) => Promise<string>} */
async function textAt(log, { offset, length }) {
  const file = await openFile(log)
  try {
    const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(length), 0, length, offset)
    return buffer.toString('utf8', 0, bytesRead)
  } finally {
    await file.close()
  }
}

module.exports = { linesOf }
