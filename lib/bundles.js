'use strict'

const process = require('node:process')
const { native } = require('./native.js')

/** What bundles have under way in this environment. When it ends, work on them is stopped, and what was unpacked for a reader is removed. */
const bundles = new native.NativeBundles(listen)
let listens = false

/**
 * `process.exit` ends an environment without a word to its addons. The addon asks for this before it unpacks an archive: which file is one its
 * bytes tell, and a process that reads other files gets no listener.
 */
function listen() {
  if (!listens) process.on('exit', () => bundles.end())
  listens = true
  bundles.listens()
}

/** The bundles, for a call that writes something temporary: it is removed when the environment ends. */
function bundlesToWrite() {
  listen()
  return bundles
}

module.exports = { bundles, bundlesToWrite }
