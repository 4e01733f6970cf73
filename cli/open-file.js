'use strict'

const fs = require('node:fs/promises')
const { constants } = require('node:fs')

/** Waits for no writer of a pipe, and for no device. Windows knows no such flag, and no pipes among files. */
const READING = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0) | (constants.O_NOCTTY ?? 0)

/** Opens a regular file for reading, and nothing else: a pipe in its place would hold the program up for ever. */
async function openFile(file) {
  const handle = await fs.open(file, READING)
  const isFile = await handle.stat().then((stat) => stat.isFile(), () => false)
  if (isFile) return handle
  await handle.close()
  throw Object.assign(new Error(`EINVAL: not a regular file, open '${file}'`), { code: 'EINVAL', syscall: 'open', path: file })
}

module.exports = { openFile }
