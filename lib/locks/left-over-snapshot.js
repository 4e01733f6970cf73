'use strict'

// Snapshots next to sessions that another program has removed: they would keep the directory from ever becoming empty.

const fs = require('node:fs/promises')
const { isAbsence } = require('../system-error.js')
const { removeQuietly } = require('./temporary-file.js')

const SESSION_SNAPSHOT = '.jsonl.snap'
const EXTENSION = '.snap'

/** How every version of a snapshot begins. */
const BEGINNING = 'session-tape snapshot '

function isSnapshotName(name) {
  return name.endsWith(SESSION_SNAPSHOT)
}

/** Removes a snapshot of this library if its session is gone. */
async function removeLeftOverSnapshot(filePath) {
  if ((await isGone(filePath.slice(0, -EXTENSION.length))) && (await isSnapshot(filePath))) await removeQuietly(filePath)
}

async function isGone(filePath) {
  try {
    await fs.lstat(filePath)
    return false
  } catch (error) {
    return isAbsence(error)
  }
}

async function isSnapshot(filePath) {
  let handle
  try {
    if (!(await fs.lstat(filePath)).isFile()) return false
    handle = await fs.open(filePath, 'r')
    const buffer = Buffer.alloc(BEGINNING.length)
    const { bytesRead } = await handle.read(buffer, 0, buffer.length, 0)
    return buffer.toString('latin1', 0, bytesRead) === BEGINNING
  } catch {
    return false
  } finally {
    await handle?.close().catch(() => {})
  }
}

module.exports = { isSnapshotName, removeLeftOverSnapshot }
