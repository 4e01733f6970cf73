'use strict'

// A run that is served: its page, states as the engine rebuilds them, payloads, and what is recorded meanwhile.

const { stat } = require('node:fs/promises')
const tape = require('../../../index.js')
const { islandJson } = require('../island.js')
const { BadRequest, numberIn } = require('../serve/server.js')
const { payloadIsland } = require('./event-table.js')
const { addEvents, gather, stateData, verificationOf } = require('./gather.js')
const { namesOf, pageOf, summaryOf } = require('./page.js')

/** How often the log is looked at, in milliseconds, and the share of the time that verifying it again may take. */
const INTERVAL = 400
const VERIFYING_SHARE = 0.1
const WHOLE = { string: 16 << 20, total: 32 << 20, depth: 200 }
const MOST_FOUND = 100_000

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
    this.#model = await gather(this.#source, { signal: this.#signal })
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
      news: (query, reply) => this.#follow(numberIn(query, 'from'), reply),
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

  #follow(from, reply) {
    const reader = { from, send: reply.events(() => this.#readers.delete(reader)) }
    this.#readers.add(reader)
    this.#tell(reader)
  }

  #schedule() {
    this.#timer = setTimeout(() => this.#look().catch(() => {}).then(() => this.#timer !== undefined && this.#schedule()), INTERVAL)
    this.#timer.unref()
  }

  async #look() {
    const { table, facts } = this.#model
    const { size } = await stat(this.#source.log)
    if (size === this.#model.size) return
    if (size < this.#model.size) return this.#replace()
    this.#model.size = size
    this.#model.problem = await addEvents(table, facts, this.#source.at, { from: table.first + table.length, signal: this.#signal })
    await this.#verify()
    for (const reader of this.#readers) this.#tell(reader)
  }

  async #verify() {
    const began = performance.now()
    if (began < this.#nextVerification) return
    this.#model.verification = await verificationOf(this.#source.at, this.#signal)
    const ended = performance.now()
    this.#nextVerification = ended + (ended - began) / VERIFYING_SHARE
  }

  async #replace() {
    this.#model = await gather(this.#source, { signal: this.#signal })
    this.#made = { length: -1, html: '' }
    for (const { send } of this.#readers) send('replaced', {})
  }

  #tell(reader) {
    const { table } = this.#model
    if (reader.from > table.length) return reader.send('replaced', {})
    if (reader.from === table.length) return undefined
    const news = { columns: table.encoded(reader.from), payloads: table.payloadsFrom(reader.from), ...namesOf(table), summary: summaryOf(this.#model) }
    reader.send('news', JSON.parse(islandJson(news)))
    reader.from = table.length
    return undefined
  }
}

module.exports = { ServedRun }
