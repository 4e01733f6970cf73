'use strict'

const process = require('node:process')
const { native } = require('../builtins.js')

/**
 * The addon's operations on bundles in this environment. When the environment ends, they are stopped, and archives unpacked to temporary
 * directories are removed.
 */
const bundles = new native.NativeBundles(listen)
let listens = false

/**
 * Registers an exit listener, because `process.exit` does not notify addons. The addon calls this function before it unpacks an archive, so that
 * processes that read no archives get no listener.
 */
function listen() {
  if (!listens) process.on('exit', () => bundles.end())
  listens = true
  bundles.listens()
}

/** Returns `bundles` for an operation that writes temporary files, and registers their removal at the end of the environment. */
function bundlesToWrite() {
  listen()
  return bundles
}

module.exports = { bundles, bundlesToWrite }
