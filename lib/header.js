'use strict'

const { native, parse } = require('./native.js')
const { check } = require('./arguments.js')

function readSessionHeader(filePath) {
  check.string(filePath, 'filePath')
  return readHeaders([filePath]).then(([header]) => header)
}

async function readHeaders(paths) {
  return parse(await native.readHeaders(paths))
}

module.exports = { readSessionHeader, readHeaders }
