'use strict'

const process = require('node:process')
const { native } = require('./native.js')

/** The addon's operations on bundles in this environment. Its end stops them and removes archives unpacked to temporary directories. */
const bundles = new native.NativeBundles(listen)
let listens = false

/**
 * `process.exit` does not notify addons. The addon calls this before it unpacks an archive, so that processes that read no archives get
 * no listener.
 */
function listen() {
  if (!listens) process.on('exit', () => bundles.end())
  listens = true
  bundles.listens()
}

/** The same object, for an operation that writes temporary files: registers their removal at the end of the environment. */
function bundlesToWrite() {
  listen()
  return bundles
}

module.exports = { bundles, bundlesToWrite }
