'use strict'

// Serves a run: its page, its verification, states as the engine rebuilds them, payloads, and a search.

const tape = require('session-tape')
const { cutIsland } = require('../cut.js')
const { pageRoutes } = require('../serve/latest.js')
const { BadRequest, numberIn } = require('../serve/server.js')
const { gatherUnverified, stateData, verificationOf, verified } = require('./gather.js')
const { contentOf } = require('./page.js')

/** @import { RunReplayFailure, RunReplaySuccess } from 'session-tape' */
/** @import { Source, Verification } from './gather.js' */
/** @typedef {(RunReplaySuccess & { error?: undefined }) | RunReplayFailure} Replay */

const WHOLE = { string: 16 << 20, total: 32 << 20, depth: 200 }
const MAX_FOUND = 100_000
/** Lower than for a file, because a served page requests the payloads that it does not have. */
const LIMITS = { bytes: 1 << 20 }

/**
 * @param {Source & { log: string }} source
 * @param {{ signal?: AbortSignal }} [options]
 */
function servedRun(source, { signal } = {}) {
  /** What is read of the run. It is verified once its page asks for that, because verification uses all cores. */
  const read = async () => {
    const content = contentOf(await gatherUnverified(source, { signal, limits: LIMITS }))
    /** @type {Promise<Verification> | undefined} */
    let verifying
    return { content, verified: () => (verifying ??= verificationOf(source, signal)) }
  }
  return pageRoutes(source.log, read, {
    verification: (query, shown) => shown.verified(),
    state: async (query) => {
      const until = numberIn(query, 'at')
      // The engine starts at the nearest snapshot before it.
      /** @type {Replay} */
      const { ok, state, error } = await tape.replayRun(source.at, {
        until,
        fromSnapshot: 'latest',
        verify: 'none',
        ...verified(source),
      })
      if (!ok) throw new BadRequest(error.message)
      if (state.coordinator.logicalTime !== until) throw new BadRequest('there is no such event')
      return stateData(state)
    },
    event: async (query) => {
      const time = numberIn(query, 'at')
      for await (const { payload } of tape.readRunEvents(source.at, { from: time, to: time, ...verified(source) }))
        return cutIsland(payload, WHOLE)
      throw new BadRequest('there is no such event')
    },
    search: async (query) => {
      const found = []
      const wanted = JSON.stringify(query.get('text') ?? '')
        .slice(1, -1)
        .toLowerCase()
      for await (const { logicalTime, payload } of tape.readRunEvents(source.at, verified(source))) {
        if (JSON.stringify(payload).toLowerCase().includes(wanted)) found.push(logicalTime)
        if (found.length >= MAX_FOUND) break
      }
      return found
    },
  })
}

module.exports = { servedRun }
