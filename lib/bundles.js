'use strict'

const process = require('node:process')
const { native } = require('./native.js')

/** What bundles have under way in this environment. When it ends, work on them is stopped, and what was unpacked for a reader is removed. */
const bundles = new native.NativeBundles()
let listens = false

/** The bundles, for whoever writes something that is not to stay. `process.exit` ends an environment without a word to its addons. */
function bundlesToWrite() {
  if (!listens) process.on('exit', () => bundles.end())
  listens = true
  return bundles
}

/** The bundles, for a reader of these paths. Only what an archive seems to be is unpacked: who reads other things gets no listener for the end. */
function bundlesToRead(...paths) {
  return paths.some((path) => path.endsWith('.tar.zst')) ? bundlesToWrite() : bundles
}

module.exports = { bundlesToRead, bundlesToWrite }
