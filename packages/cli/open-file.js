'use strict'

const fs = require('node:fs/promises')
const { constants } = require('node:fs')

/** Opening a pipe or a device must not block. Windows has neither this flag nor pipes in the file system. */
const READING = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0) | (constants.O_NOCTTY ?? 0)

/** Opens a regular file for reading. Reading anything else, such as a pipe, could block forever. @param {string} file */
async function openFile(file) {
  const handle = await fs.open(file, READING)
  const isFile = await handle.stat().then(
    (stat) => stat.isFile(),
    () => false,
  )
  if (isFile) return handle
  await handle.close()
  throw Object.assign(new Error(`EINVAL: not a regular file, open '${file}'`), {
    code: 'EINVAL',
    syscall: 'open',
    path: file,
  })
}

module.exports = { openFile }
