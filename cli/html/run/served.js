'use strict'

// A run that is served: its page, states as the engine rebuilds them, payloads, and what is recorded meanwhile.

const { stat } = require('node:fs/promises')
const tape = require('../../../index.js')
const { islandJson } = require('../island.js')
const { BadRequest, numberIn } = require('../serve/server.js')
const { payloadIsland } = require('./event-table.js')
const { addEvents, gatherUnverified, stateData, verificationOf } = require('./gather.js')
const { namesOf, pageOf, summaryOf } = require('./page.js')

/** How often the log is looked at, in milliseconds, and the share of the time that verifying it again may take. */
const INTERVAL = 400
const VERIFYING_SHARE = 0.1
const WHOLE = { string: 16 << 20, total: 32 << 20, depth: 200 }
const MOST_FOUND = 100_000
/** The page asks for payloads that it does not have. */
const LIMITS = { bytes: 1 << 20 }

class ServedRun {
  #source
  #signal
  #model
  #made = { length: -1, html: '' }
  #readers = new Set()
  #timer = null
  #nextVerification = 0

  constructor(source, { signal } = {}) {
    this.#source = source
    this.#signal = signal
  }

  async open() {
    this.#model = await gatherUnverified(this.#source, { signal: this.#signal, limits: LIMITS })
    this.#schedule()
    return this
  }

  close() {
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  routes() {
    return {
      '': (query, reply) => reply.html(this.#page()),
      state: async (query, reply) => reply.json(await this.#state(numberIn(query, 'at'))),
      event: async (query, reply) => reply.json(await this.#payload(numberIn(query, 'at'))),
      search: async (query, reply) => reply.json(await this.#search(query.get('text') ?? '')),
      news: (query, reply) => this.#follow(numberIn(query, 'from'), query.get('verified') === 'true', reply),
    }
  }

  /** The page is made again only when there are new events. */
  #page() {
    const { length } = this.#model.table
    if (this.#made.length !== length) this.#made = { length, html: pageOf(this.#model, { served: { path: '', events: length } }) }
    return this.#made.html
  }

  /** The state after an event: the engine starts at the nearest snapshot before it. */
  async #state(until) {
    const { ok, state, error } = await tape.replayRun(this.#source.at, { until, fromSnapshot: 'latest', verify: 'none' })
    if (!ok) throw new BadRequest(error.message)
    if (state.coordinator.logicalTime !== until) throw new BadRequest('there is no such event')
    return stateData(state)
  }

  async #payload(time) {
    for await (const { payload } of tape.readRunEvents(this.#source.at, { from: time, to: time })) return payloadIsland(payload, WHOLE)
    throw new BadRequest('there is no such event')
  }

  /** The times of the events whose payload holds a text, whatever its case. */
  async #search(text) {
    const found = []
    const wanted = JSON.stringify(text).slice(1, -1).toLowerCase()
    for await (const { logicalTime, payload } of tape.readRunEvents(this.#source.at)) {
      if (JSON.stringify(payload).toLowerCase().includes(wanted)) found.push(logicalTime)
      if (found.length >= MOST_FOUND) break
    }
    return found
  }

  /** `isVerified`: whether the page has the result of a verification. */
  #follow(from, isVerified, reply) {
    const reader = { from, send: reply.events(() => this.#readers.delete(reader)) }
    this.#readers.add(reader)
    // Only now, when the page is there: verification takes all cores.
    this.#verify()
    this.#tell(reader, { isVerified: !isVerified && this.#model.verification !== null })
  }

  #schedule() {
    this.#timer = setTimeout(() => this.#look().catch(() => {}).then(() => this.#timer !== undefined && this.#schedule()), INTERVAL)
    this.#timer.unref()
  }

  async #look() {
    const { table, facts, size: before } = this.#model
    const { size } = await stat(this.#source.log)
    if (size < before) return this.#replace()
    if (size > before) {
      this.#model.size = size
      this.#model.problem = await addEvents(table, facts, this.#signal)
      this.#tellAll()
    }
    if (this.#readers.size > 0) this.#verify()
  }

  /** Verifies what is new, unless that was done a short while ago, while the page and what is recorded go on. */
  #verify() {
    const model = this.#model
    const [began, { size }] = [performance.now(), model]
    if (model.verifiedSize === size || began < this.#nextVerification) return
    this.#nextVerification = Infinity
    const verifying = verificationOf(this.#source.at, this.#signal).then((verification) => {
      Object.assign(model, { verification, verifiedSize: size })
      this.#made.length = -1
      if (model === this.#model) this.#tellAll({ isVerified: true })
    })
    verifying.catch(() => {}).finally(() => {
      const ended = performance.now()
      this.#nextVerification = ended + (ended - began) / VERIFYING_SHARE
    })
  }

  async #replace() {
    this.#model = await gatherUnverified(this.#source, { signal: this.#signal, limits: LIMITS })
    this.#made = { length: -1, html: '' }
    for (const { send } of this.#readers) send('replaced', {})
  }

  #tellAll(what) {
    for (const reader of this.#readers) this.#tell(reader, what)
  }

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
