import process = require('node:process')
import { native } from '../addon.js'
import type { NativeBundles } from './native.js'

/**
 * The addon's operations on bundles in this environment. When the environment ends, they are stopped, and archives unpacked to temporary
 * directories are removed.
 */
export const bundles: NativeBundles = new native.NativeBundles(listen)
let listens = false

/**
 * Registers an exit listener, because `process.exit` does not notify addons. The addon calls this function before it unpacks an archive, so that
 * processes that read no archives get no listener.
 */
function listen(): void {
  if (!listens) process.on('exit', () => bundles.end())
  listens = true
  bundles.listens()
}

/** Returns `bundles` for an operation that writes temporary files, and registers their removal at the end of the environment. */
export function bundlesToWrite(): NativeBundles {
  listen()
  return bundles
}
