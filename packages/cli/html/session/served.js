'use strict'

// Serves a session: its page, complete records, and a search.

const { Latest } = require('../serve/latest.js')
const { BadRequest, numberIn } = require('../serve/server.js')
const { Conversation } = require('./conversation.js')
const { gather } = require('./gather.js')
const { linesOf } = require('./lines.js')
const { ASKED, WHOLE } = require('./limits.js')
const { pageOf } = require('./page.js')

/** @import { CutLimits } from '../cut.js' */
/** @import { Route } from '../serve/server.js' */
/** @import { Source } from './gather.js' */

const MAX_RECORDS = 500
const MAX_FOUND = 100_000

class ServedSession {
  #source
  #signal
  #session

  /**
   * @param {Source & { file?: string }} source `file`: the path of the file, if that is not `log`
   * @param {{ signal?: AbortSignal }} [options]
   */
  constructor(source, { signal } = {}) {
    this.#source = source
    this.#signal = signal
    this.#session = new Latest(source.file ?? source.log, () => this.#read())
  }

  async open() {
    await this.#session.now()
    return this
  }

  async #read() {
    const { conversation, ...model } = await gather(this.#source, { signal: this.#signal })
    return { html: pageOf({ conversation, ...model }, { served: { path: '' } }), offsets: conversation.offsets }
  }

  /** @returns {Record<string, Route>} */
  routes() {
    return {
      '': async (query, reply) => reply.html((await this.#session.now()).html),
      record: async (query, reply) => reply.json(await this.#record(numberIn(query, 'line'))),
      records: async (query, reply) => reply.json(await this.#records(numberIn(query, 'from'), numberIn(query, 'to'))),
      search: async (query, reply) => reply.json(await this.#search(query.get('text') ?? '')),
    }
  }

  /** @param {number} line */
  async #record(line) {
    const [found] = await this.#payloads(line, line, WHOLE)
    if (found === undefined) throw new BadRequest('there is no such record')
    return found[1]
  }

  /** @type {(from: number, to: number) => Promise<[line: number, payload: unknown[]][]>} */
  #records(from, to) {
    if (to - from >= MAX_RECORDS * 4) throw new BadRequest('these are too many records')
    return this.#payloads(from, to, ASKED)
  }

  /**
   * Resolves to the lines of records, each with its payload.
   *
   * @type {(from: number, to: number, limits: CutLimits) => Promise<[line: number, payload: unknown[]][]>}
   */
  async #payloads(from, to, limits) {
    /** @type {[number, unknown[]][]} */
    const payloads = []
    for await (const [read, text] of this.#lines(from, to)) {
      // Each line is parsed alone: its effect on the history is already known.
      const row = new Conversation(limits).add(read, text)
      if (row) payloads.push([read.line, JSON.parse(row.payload).slice(0, 2)])
    }
    return payloads
  }

  /** Yields the lines from one number to another, with the texts of damaged ones. @type {(from: number, to: number) => ReturnType<typeof linesOf>} */
  async *#lines(from, to) {
    const { offsets } = await this.#session.shown()
    const first = Math.max(from, 1)
    const last = Math.min(to, offsets.length)
    if (first > last) return
    for await (const line of linesOf(this.#source.log, {
      from: { line: first, offset: offsets[first - 1] },
      signal: this.#signal,
    })) {
      yield line
      if (line[0].line >= last) return
    }
  }

  /** Resolves to the lines of the records whose JSON contains a text, ignoring case. @param {string} text */
  async #search(text) {
    const found = []
    const wanted = new RegExp(
      JSON.stringify(text)
        .slice(1, -1)
        .replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&'),
      'iu',
    )
    for await (const [{ line, record }, damaged] of this.#lines(1, Infinity)) {
      if (wanted.test(damaged ?? (record === null ? '' : JSON.stringify(record)))) found.push(line)
      if (found.length >= MAX_FOUND) break
    }
    return found
  }
}

module.exports = { ServedSession }
