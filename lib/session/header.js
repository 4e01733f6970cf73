'use strict'

const os = require('node:os')
const { native, parse, parseRecord, slice } = require('../builtins.js')
const { check, expect } = require('../arguments.js')
const { AtOnce } = require('./at-once.js')
const { HEADERS, resultOf } = require('../binding/job.js')
const { sessionFilesIn } = require('./directory.js')

/** The number of files per call of the addon, which reads them on one thread. Their headers are parsed in one turn of the event loop. */
const SHARE = 64

/** The number of concurrent calls. Node's thread pool has four threads by default. */
const MAX_CONCURRENT_SHARES = Math.max(4, os.availableParallelism())

/** The number of files that are read on this thread in one turn of the event loop. */
const reads = new AtOnce(64)

function readSessionHeader(filePath) {
  check.string(filePath, 'filePath')
  return reads.first(() => readHere(filePath), () => readElsewhere(filePath))
}

function readHere(filePath) {
  const header = native.readHeaderNow(filePath)
  return header === null ? undefined : parse(header)
}

async function readElsewhere(filePath) {
  return resultOf(HEADERS, parseRecord(await native.readHeaders([filePath])))[0]
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

/** Reads files with `read`, in concurrent shares, and returns the results in the order of the files, mapped by `each`. */
async function readShared(filePaths, read, each = (found) => found) {
  // The caller may change the array in the meantime.
  const paths = slice(filePaths, 0)
  // All elements are defined first: assigning to a missing index would call a setter of a polluted Array.prototype.
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
  await Promise.all(Array.from({ length: MAX_CONCURRENT_SHARES }, readOn))
  return all
}

/** Reads the files of a share, in several calls if their headers are too large for one string. */
async function readShare(share, read, take) {
  for (let count = 0; count < share.length; ) {
    const found = resultOf(HEADERS, parseRecord(await read(slice(share, count))))
    for (let index = 0; index < found.length; index++) take(found[index], count++)
  }
}

module.exports = { readSessionHeader, readSessionHeaders, readShared }
