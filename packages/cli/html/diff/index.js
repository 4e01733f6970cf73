'use strict'

// Writes a self-contained HTML page about the diff of two executions.

const { gather } = require('./gather.js')
const { contentOf } = require('./page.js')
const { writePage } = require('../document.js')

/** @import { GatheredSide } from './gather.js' */

/**
 * Writes the page atomically.
 *
 * The same inputs give the same bytes: the page contains no time, and no paths other than the given ones.
 *
 * @param {string} outPath the path of the page; an existing file is replaced
 * @param {object} what
 * @param {string} what.left path of a run, a session or a bundle of either; the page shows it as given
 * @param {string} what.right the other side
 * @param {import('session-tape').Diff | null} what.diff their diff, null without divergence; with an edit list (`full: true`) the
 *   page also aligns the events after the divergence
 * @param {AbortSignal} [what.signal] aborting it rejects with its reason and leaves no file
 * @param {Partial<import('../limits.js').Limits>} [what.limits] limits for the page
 * @returns {Promise<{ path: string, bytes: number, shown: { left: number, right: number }, events: { left: number, right: number } }>}
 *   the number of events in the page, and in the recording, by side
 */
async function writeDiffPage(outPath, { left, right, diff, signal, limits }) {
  signal?.throwIfAborted()
  const model = await gather({ left, right, diff, signal, limits })
  const written = await writePage(outPath, contentOf(model), signal)
  /** @type {(number: (side: GatheredSide) => number) => { left: number, right: number }} */
  const both = (number) => ({ left: number(model.left), right: number(model.right) })
  return {
    ...written,
    shown: both((side) => side.events.length),
    events: both((side) => side.count),
  }
}

module.exports = { writeDiffPage }
