// Loads the addon of an installed package by the path of its file, which it finds by the package's manifest.

import path = require('node:path')
import type { Binding } from './binding/native.js'

const { dirname, join } = path

/** Calls `failed` with the error if the package is there and its addon does not load. */
export function loadByPath(name: string, failed: (error: Error) => void): Binding | undefined {
  const addon = addonPath(name)
  if (addon === undefined) return undefined
  try {
    return requireFromHere()(addon)
  } catch (error) {
    failed(error as Error)
    return undefined
  }
}

/** The path of the addon in the package for a platform; `undefined` if the package is not installed. */
export function addonPath(name: string): string | undefined {
  try {
    const manifest = requireFromHere().resolve(`@session-tape/binding-${name}/package.json`)
    return join(dirname(manifest), `session-tape.${name}.node`)
  } catch {
    return undefined
  }
}

/** A `require` that bundlers do not follow. Throws in a bundle that has no `__filename`. */
const requireFromHere = () => (require('node:module') as typeof import('node:module')).createRequire(__filename)
