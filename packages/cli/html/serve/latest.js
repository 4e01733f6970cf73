'use strict'

// What is served of a recording: it is read again when its page is requested and its file has changed since.

const { stat } = require('node:fs/promises')
const { documentOf } = require('../document.js')

/**
 * The routes of a page: itself, read again if its file has changed, and the answers to what it asks about what was read for it.
 *
 * @template {{ content: import('../document.js').Content }} T
 * @param {string} file
 * @param {() => Promise<T>} read
 * @param {Record<string, (query: URLSearchParams, shown: T) => unknown>} answers
 * @returns {Promise<Record<string, import('./server.js').Route>>}
 */
async function pageRoutes(file, read, answers) {
  /** @type {{ version: string, reading: Promise<T & { html: string }> } | undefined} */
  let latest
  const readPage = async () => {
    const found = await read()
    return { ...found, html: documentOf({ ...found.content, isServed: true }) }
  }
  /** What is there now. */
  const now = async () => {
    const { dev, ino, size, mtimeNs } = await stat(file, { bigint: true })
    const version = `${dev} ${ino} ${size} ${mtimeNs}`
    if (version === latest?.version) return latest.reading
    const reading = readPage()
    latest = { version, reading }
    // After a failure it is read again.
    reading.catch(() => {
      if (latest?.reading === reading) latest = undefined
    })
    return reading
  }
  await now()
  const asked = Object.entries(answers).map(([name, answer]) => {
    /** Answers about what was read when the page was last requested. @type {import('./server.js').Route} */
    const route = async (query, reply) => reply.json(await answer(query, await (latest?.reading ?? now())))
    return [name, route]
  })
  return { '': async (query, reply) => reply.html((await now()).html), ...Object.fromEntries(asked) }
}

module.exports = { pageRoutes }
