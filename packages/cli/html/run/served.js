'use strict'

// Serves a run: its page, states as the engine rebuilds them, payloads, a search, and new events while it is recorded.

const { stat } = require('node:fs/promises')
const { islandJson } = require('../island.js')
const { Live } = require('../serve/live.js')
const { MadePage } = require('../serve/made-page.js')
const { BadRequest, numberIn } = require('../serve/server.js')
const { payloadIsland } = require('./event-table.js')
const { addEvents, gatherUnverified, stateData, verificationOf } = require('./gather.js')
const { namesOf, pageOf, summaryOf } = require('./page.js')
const { readersOf } = require('./readers.js')

/** @import { RunReplayFailure, RunReplaySuccess } from 'session-tape' */
/** @import { Route, Send } from '../serve/server.js' */
/** @import { Model, Source } from './gather.js' */
/** @typedef {{ from: number } & { send: Send }} Reader */
/** @typedef {{ isVerified?: boolean }} More */
/** @typedef {(RunReplaySuccess & { error?: undefined }) | RunReplayFailure} Replay */

/** The maximum share of the time that is spent on verifying the run again. */
const VERIFYING_SHARE = 0.1
const WHOLE = { string: 16 << 20, total: 32 << 20, depth: 200 }
const MAX_FOUND = 100_000
/** Lower than for a file, because a served page requests the payloads that it does not have. */
const LIMITS = { bytes: 1 << 20 }

class ServedRun {
  #source
  #readers
  #signal
  /** What `open` reads. @type {Model & { verifiedSize?: number }} */
  #model = /** @type {never} */ (undefined)
  #page = new MadePage(() => pageOf(this.#model, { served: { path: '', events: this.#model.table.length } }))
  #live = new Live(() => this.#look(), (/** @type {Reader} */ reader, /** @type {More | undefined} */ more) => this.#tell(reader, more))
  #nextVerification = 0

  /**
   * @param {Source & { log: string }} source
   * @param {{ signal?: AbortSignal }} [options]
   */
  constructor(source, { signal } = {}) {
    this.#source = source
    this.#readers = readersOf(source)
    this.#signal = signal
  }

  async open() {
    this.#model = await gatherUnverified(this.#source, { signal: this.#signal, limits: LIMITS })
    this.#page.prepare()
    this.#live.start()
    return this
  }

  close() {
    this.#live.close()
  }

  /** @returns {Record<string, Route>} */
  routes() {
    return {
      '': (query, reply) => reply.html(this.#page.html()),
      state: async (query, reply) => reply.json(await this.#state(numberIn(query, 'at'))),
      event: async (query, reply) => reply.json(await this.#payload(numberIn(query, 'at'))),
      search: async (query, reply) => reply.json(await this.#search(query.get('text') ?? '')),
      news: (query, reply) => this.#follow(numberIn(query, 'from'), query.get('verified') === 'true', reply),
    }
  }

  /** Resolves to the state after an event. The engine starts at the nearest snapshot before it. @param {number} until */
  async #state(until) {
    /** @type {Replay} */
    const { ok, state, error } = await this.#readers.replayRun(this.#source.at, { until, fromSnapshot: 'latest', verify: 'none' })
    if (!ok) throw new BadRequest(error.message)
    if (state.coordinator.logicalTime !== until) throw new BadRequest('there is no such event')
    return stateData(state)
  }

  /** @param {number} time */
  async #payload(time) {
    for await (const { payload } of this.#readers.readRunEvents(this.#source.at, { from: time, to: time })) return payloadIsland(payload, WHOLE)
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

  /**
   * `isVerified` says whether the page has the result of a verification.
   *
   * @type {(from: number, isVerified: boolean, reply: Parameters<Route>[1]) => void}
   */
  #follow(from, isVerified, reply) {
    // Started only after the page has loaded, because verification uses all cores.
    this.#verify()
    this.#live.follow({ from }, reply, { isVerified: !isVerified && this.#model.verification !== null })
  }

  async #look() {
    const { table, facts, size: before } = this.#model
    const { size } = await stat(this.#source.log)
    if (size < before) return this.#replace()
    if (size > before) {
      this.#model.size = size
      this.#model.problem = await addEvents(table, facts, this.#signal)
      this.#page.changed()
      this.#live.tellAll()
    }
    if (this.#live.isFollowed) this.#verify()
  }

  /** Verifies the run in the background if it was not verified at its current size, unless the last verification was a short while ago. */
  #verify() {
    const model = this.#model
    const [began, { size }] = [performance.now(), model]
    if (model.verifiedSize === size || began < this.#nextVerification) return
    this.#nextVerification = Infinity
    const verifying = verificationOf(this.#source, this.#signal).then((verification) => {
      Object.assign(model, { verification, verifiedSize: size })
      this.#page.changed()
      if (model === this.#model) this.#live.tellAll({ isVerified: true })
    })
    verifying.catch(() => {}).finally(() => {
      const ended = performance.now()
      this.#nextVerification = ended + (ended - began) / VERIFYING_SHARE
    })
  }

  async #replace() {
    this.#model = await gatherUnverified(this.#source, { signal: this.#signal, limits: LIMITS })
    this.#page.changed()
    this.#live.replaced()
  }

  /** @param {Reader} reader @param {More} [more] */
  #tell(reader, { isVerified = false } = {}) {
    const { table } = this.#model
    if (reader.from > table.length) return reader.send('replaced', {})
    if (reader.from === table.length && !isVerified) return undefined
    const news = { columns: table.encoded(reader.from), payloads: table.payloadsFrom(reader.from), ...namesOf(table), summary: summaryOf(this.#model) }
    reader.send('news', JSON.parse(islandJson(news)))
    reader.from = table.length
    return undefined
  }
}

module.exports = { ServedRun }
