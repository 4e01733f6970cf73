'use strict'

const { realpath } = require('node:fs/promises')
const { basename, dirname, join, resolve, sep } = require('node:path')
const { Complaint } = require('./complaint.js')
const { shown } = require('./source.js')

/** Refuses to write a page over a recording, or among its files. @type {(option: string, out: string, recordings: string[]) => Promise<void>} */
async function refuseRecording(option, out, recordings) {
  const page = await placeOf(out)
  for (const path of recordings) {
    const recording = await placeOf(path)
    const isWithin = page === recording || page.startsWith(recording + sep)
    if (isWithin)
      throw new Complaint(
        'InvalidOption',
        `${option} ${shown(out)} is a recording that is shown, or in one; name another file`,
      )
  }
}

/** The real path of a file, which need not exist yet. @param {string} path */
async function placeOf(path) {
  try {
    return await realpath(path)
  } catch {
    return join(await realpath(dirname(resolve(path))).catch(() => dirname(resolve(path))), basename(path))
  }
}

module.exports = { refuseRecording }
