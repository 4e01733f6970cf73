'use strict'

// Loads the addon of an installed package by the path of its file, which it finds by the package's manifest.

const { dirname, join } = require('node:path')

/** Calls `failed` with the error if the package is there and its addon does not load. */
function loadByPath(name, failed) {
  const path = addonPath(name)
  if (path === undefined) return undefined
  try {
    return requireFromHere()(path)
  } catch (error) {
    failed(error)
  }
}

/** The path of the addon in the package for a platform; `undefined` if the package is not installed. */
function addonPath(name) {
  try {
    const manifest = requireFromHere().resolve(`@session-tape/binding-${name}/package.json`)
    return join(dirname(manifest), `session-tape.${name}.node`)
  } catch {
    return undefined
  }
}

/** A `require` that bundlers do not follow. Throws in a bundle that has no `__filename`. */
const requireFromHere = () => require('node:module').createRequire(__filename)

module.exports = { loadByPath, addonPath }
