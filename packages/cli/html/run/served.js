'use strict'

// Serves a run: its page, its verification, states as the engine rebuilds them, payloads, and a search.

const { Latest } = require('../serve/latest.js')
const { BadRequest, numberIn } = require('../serve/server.js')
const { payloadIsland } = require('./event-table.js')
const { gatherUnverified, stateData, verificationOf } = require('./gather.js')
const { pageOf } = require('./page.js')
const { readersOf } = require('./readers.js')

/** @import { RunReplayFailure, RunReplaySuccess } from 'session-tape' */
/** @import { Route } from '../serve/server.js' */
/** @import { Source, Verification } from './gather.js' */
/** @typedef {(RunReplaySuccess & { error?: undefined }) | RunReplayFailure} Replay */

const WHOLE = { string: 16 << 20, total: 32 << 20, depth: 200 }
const MAX_FOUND = 100_000
/** Lower than for a file, because a served page requests the payloads that it does not have. */
const LIMITS = { bytes: 1 << 20 }

class ServedRun {
  #source
  #readers
  #signal
  #run

  /**
   * @param {Source & { log: string }} source
   * @param {{ signal?: AbortSignal }} [options]
   */
  constructor(source, { signal } = {}) {
    this.#source = source
    this.#readers = readersOf(source)
    this.#signal = signal
    this.#run = new Latest(source.log, () => this.#read())
  }

  async open() {
    await this.#run.now()
    return this
  }

  /** What is read of the run. It is verified once its page asks for that, because verification uses all cores. */
  async #read() {
    const html = pageOf(await gatherUnverified(this.#source, { signal: this.#signal, limits: LIMITS }), {
      served: { path: '' },
    })
    /** @type {Promise<Verification> | undefined} */
    let verifying
    return { html, verified: () => (verifying ??= verificationOf(this.#source, this.#signal)) }
  }

  /** @returns {Record<string, Route>} */
  routes() {
    return {
      '': async (query, reply) => reply.html((await this.#run.now()).html),
      verification: async (query, reply) => reply.json(await (await this.#run.shown()).verified()),
      state: async (query, reply) => reply.json(await this.#state(numberIn(query, 'at'))),
      event: async (query, reply) => reply.json(await this.#payload(numberIn(query, 'at'))),
      search: async (query, reply) => reply.json(await this.#search(query.get('text') ?? '')),
    }
  }

  /** Resolves to the state after an event. The engine starts at the nearest snapshot before it. @param {number} until */
  async #state(until) {
    /** @type {Replay} */
    const { ok, state, error } = await this.#readers.replayRun(this.#source.at, {
      until,
      fromSnapshot: 'latest',
      verify: 'none',
    })
    if (!ok) throw new BadRequest(error.message)
    if (state.coordinator.logicalTime !== until) throw new BadRequest('there is no such event')
    return stateData(state)
  }

  /** @param {number} time */
  async #payload(time) {
    for await (const { payload } of this.#readers.readRunEvents(this.#source.at, { from: time, to: time }))
      return payloadIsland(payload, WHOLE)
    throw new BadRequest('there is no such event')
  }

  /** Resolves to the times of the events whose payload contains a text, ignoring case. @param {string} text */
  async #search(text) {
    const found = []
    const wanted = JSON.stringify(text).slice(1, -1).toLowerCase()
    for await (const { logicalTime, payload } of this.#readers.readRunEvents(this.#source.at)) {
      if (JSON.stringify(payload).toLowerCase().includes(wanted)) found.push(logicalTime)
      if (found.length >= MAX_FOUND) break
    }
    return found
  }
}

module.exports = { ServedRun }
