'use strict'

const os = require('node:os')
const { native, parse, parseRecord, slice } = require('./native.js')
const { check, expect } = require('./arguments.js')
const { HEADERS, resultOf } = require('./job.js')
const { sessionFilesIn } = require('./directory.js')

/** So many files are handed to a thread together; what it brings is parsed in one turn of the event loop. */
const SHARE = 256

/** So many shares are under way at a time: Node's own pool has four threads if it isn't told otherwise. */
const SHARES_AT_A_TIME = Math.max(4, os.availableParallelism())

/** So many files, one after the other, are read on this thread before the event loop has to go on. */
const ROUND = 64

/**
 * How many more files may be tried on this thread in this round. Without an end to it a loop over files that are all in memory
 * would never come to the next turn of the event loop: timers and input would wait for the last file.
 */
let triesLeft = ROUND
let round = 0

function readSessionHeader(filePath) {
  check.string(filePath, 'filePath')
  return readOne(filePath)
}

async function readOne(filePath) {
  if (triesLeft > 0) {
    triesLeft -= 1
    const header = native.readHeaderNow(filePath)
    if (header !== null) return parse(header)
  }
  const askedIn = round
  const headers = await native.readHeaders([filePath])
  // What a thread brings comes in a later turn. Several may bring something in the same one: the first alone begins a new round.
  if (askedIn === round) {
    round += 1
    triesLeft = ROUND
  }
  return resultOf(HEADERS, parseRecord(headers))[0]
}

function readSessionHeaders(files) {
  if (typeof files === 'string') return readDirectory(files)
  const areStrings = Array.isArray(files) && files.every((one) => typeof one === 'string')
  expect(areStrings, 'filePaths', 'an array of strings, or the path of a directory', files)
  return readShared(files, native.readHeaders)
}

async function readDirectory(directory) {
  return readShared(await sessionFilesIn(directory), native.readHeaders, (header, filePath) => ({ filePath, header }))
}

/** What `each` makes of what `read` found in each file, in order; the files are shared between threads. */
async function readShared(filePaths, read, each = (found) => found) {
  // The caller's list may change meanwhile.
  const paths = slice(filePaths, 0)
  // Every element is there already: to set it calls no setter of an index that arrays inherit.
  const all = paths.map(() => undefined)
  let next = 0
  async function readOn() {
    while (next < paths.length) {
      const start = next
      const share = slice(paths, start, (next += SHARE))
      await readShare(share, read, (found, index) => {
        all[start + index] = each(found, share[index])
      })
    }
  }
  await Promise.all(Array.from({ length: SHARES_AT_A_TIME }, readOn))
  return all
}

/** Of large headers a call brings those that one text has room for. */
async function readShare(share, read, take) {
  for (let count = 0; count < share.length; ) {
    const found = resultOf(HEADERS, parseRecord(await read(slice(share, count))))
    for (let index = 0; index < found.length; index++) take(found[index], count++)
  }
}

module.exports = { readSessionHeader, readSessionHeaders, readShared }
