'use strict'

// The files that belong to a session: its own, and those that this library keeps for it.

const crypto = require('node:crypto')
const fs = require('node:fs/promises')
const path = require('node:path')
const { check, NO_OPTIONS } = require('../arguments.js')
const { hasCode } = require('../system-error.js')

/** The number of hexadecimal digits of a path's hash in the name of a snapshot. */
const HASH_DIGITS = 16

function removeSessionFiles(filePath, options = NO_OPTIONS) {
  check.filledString(filePath, 'filePath')
  check.object(options, 'options')
  const { snapshotDir } = options
  if (snapshotDir !== undefined) check.filledString(snapshotDir, 'options.snapshotDir')
  return remove(path.resolve(filePath), snapshotDir === undefined ? undefined : path.resolve(snapshotDir))
}

/** Removes the snapshots first: a snapshot without its session is useless, but a session without its snapshot is complete. */
async function remove(filePath, snapshotDir) {
  await removeFile(`${filePath}.snap`)
  if (snapshotDir !== undefined) await removeSnapshotIn(snapshotDir, filePath)
  await removeFile(filePath)
  await removeFile(`${filePath}.lock`)
}

/** Removes the snapshot in a directory of snapshots. Its name contains a hash of the session's path, with links in its directory resolved. */
async function removeSnapshotIn(snapshotDir, filePath) {
  const directory = await unlessAbsent(fs.realpath(path.dirname(filePath)))
  if (directory === undefined) return
  const name = path.basename(filePath)
  const hash = crypto.createHash('sha256').update(path.join(directory, name)).digest('hex').slice(0, HASH_DIGITS)
  await removeFile(path.join(snapshotDir, `${name}-${hash}.snap`))
}

async function removeFile(filePath) {
  await unlessAbsent(fs.unlink(filePath))
}

/** Resolves to the result of an operation, or to `undefined` if the file does not exist. */
async function unlessAbsent(operation) {
  try {
    return await operation
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) throw error
    return undefined
  }
}

module.exports = { removeSessionFiles }
