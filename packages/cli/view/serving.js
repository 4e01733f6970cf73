'use strict'

// Serves the page of one recording until the program is interrupted.

const { once } = require('node:events')
const { serve } = require('../html/serve/server.js')
const { openInBrowser } = require('./browser.js')

/** @import { Shown } from '../commands/view.js' */
/** @import { Context } from '../context.js' */

/**
 * @param {Context} context
 * @param {Shown} recording
 * @param {{ port?: number, fragment?: string }} options `fragment`: the part of the address that makes the page go to a line
 */
async function serveUntilInterrupted(context, recording, { port, fragment = '' }) {
  const { signal } = context
  const server = await serve(await routesOf(recording, signal), { port })
  try {
    const url = `${server.url}${fragment}`
    const isOpened = await openInBrowser(url, context.env)
    await context.print({ url, opened: isOpened }, () => `${isOpened ? 'opened' : 'open'} ${url}\nCtrl-C ends it.\n`)
    if (!signal.aborted) await once(signal, 'abort')
  } finally {
    await server.close()
  }
}

/** @param {Shown} recording @param {AbortSignal} signal */
function routesOf(recording, signal) {
  const { servedSession } = require('../html/session/served.js')
  const { servedRun } = require('../html/run/served.js')
  return (recording.kind === 'run' ? servedRun : servedSession)(recording, { signal })
}

module.exports = { serveUntilInterrupted }
