'use strict'

const os = require('node:os')
const { native, parse } = require('./native.js')
const { check } = require('./arguments.js')

/** So few files are not worth another thread. */
const LEAST_SHARE = 64

function readSessionHeader(filePath) {
  check.string(filePath, 'filePath')
  return readShared([filePath], native.readHeaders).then(([header]) => header)
}

function readSessionHeaders(filePaths) {
  check.strings(filePaths, 'filePaths')
  return readShared(filePaths, native.readHeaders)
}

/** Shares the files between threads; what each share brings is parsed in a turn of the event loop of its own. */
async function readShared(filePaths, read) {
  const share = Math.max(LEAST_SHARE, Math.ceil(filePaths.length / (os.availableParallelism() * 4)))
  const shares = []
  for (let start = 0; start < filePaths.length; start += share) {
    shares.push(read(filePaths.slice(start, start + share)).then(parse))
  }
  return (await Promise.all(shares)).flat()
}

module.exports = { readSessionHeader, readSessionHeaders, readShared }
