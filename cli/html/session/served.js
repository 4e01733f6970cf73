'use strict'

// Serves a session: its page, complete records, a search, and new records while it is recorded.

const { islandJson } = require('../island.js')
const { BadRequest, numberIn } = require('../serve/server.js')
const { Live } = require('../serve/live.js')
const { MadePage } = require('../serve/made-page.js')
const { LineIndex } = require('../serve/line-index.js')
const { Conversation } = require('./conversation.js')
const { gather, replayed } = require('./gather.js')
const { ASKED, WHOLE } = require('./limits.js')
const { pageOf } = require('./page.js')
const { rowsData, callData, summaryOf } = require('./page-data.js')

/** The maximum share of the time that is spent on the summary, which requires a replay of the whole file. */
const SUMMARY_SHARE = 0.1
const MOST_RECORDS = 500
const MOST_FOUND = 100_000

class ServedSession {
  #index
  #model
  #page = new MadePage(() => this.#makePage())
  #live = new Live(() => this.#look(), (reader) => this.#tell(reader))
  #nextSummary = 0
  #source
  #signal

  /** @param {{ log: string, given: string, size: number, seal?: object }} source */
  constructor(source, { signal } = {}) {
    this.#source = source
    this.#signal = signal
    this.#index = new LineIndex(source.log)
  }

  /** Reads the session. A last line without a line end may be incomplete, and is not shown yet. */
  async open() {
    await this.#read()
    this.#page.prepare()
    this.#live.start()
    return this
  }

  async #read() {
    await this.#index.update()
    this.#model = await gather({ ...this.#source, size: this.#index.size }, { signal: this.#signal, lines: this.#index.count })
  }

  close() {
    this.#live.close()
  }

  routes() {
    return {
      '': (query, reply) => reply.html(this.#page.html()),
      record: async (query, reply) => reply.json(await this.#record(numberIn(query, 'line'))),
      records: async (query, reply) => reply.json(await this.#records(numberIn(query, 'from'), numberIn(query, 'to'))),
      search: async (query, reply) => reply.json(await this.#search(query.get('text') ?? '')),
      news: (query, reply) => this.#live.follow({ from: numberIn(query, 'from'), images: numberIn(query, 'images') }, reply),
    }
  }

  #makePage() {
    const { conversation } = this.#model
    return pageOf(this.#model, { served: { path: '', lines: conversation.lines, images: conversation.images.urls.length } })
  }

  async #record(line) {
    const [found] = await this.#payloads(line, line, WHOLE)
    if (found === undefined) throw new BadRequest('there is no such record')
    return found[1]
  }

  #records(from, to) {
    if (to - from >= MOST_RECORDS * 4) throw new BadRequest('these are too many records')
    return this.#payloads(from, to, ASKED)
  }

  /** Resolves to the lines of records, each with its payload. */
  async #payloads(from, to, limits) {
    const payloads = []
    for (const [at, { text, isTooLong }] of (await this.#index.read(from, to)).entries()) {
      // Each line is parsed alone: its effect on the history is already known.
      const { row } = new Conversation(limits).add(text, isTooLong)
      if (row) payloads.push([from + at, JSON.parse(row.payload).slice(0, 2)])
    }
    return payloads
  }

  /** Resolves to the lines of the records whose JSON contains a text, ignoring case. */
  async #search(text) {
    const found = []
    const wanted = new RegExp(JSON.stringify(text).slice(1, -1).replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&'), 'iu')
    for (let from = 1; from <= this.#index.count && found.length < MOST_FOUND; from += MOST_RECORDS) {
      const lines = await this.#index.read(from, from + MOST_RECORDS - 1)
      for (const [at, line] of lines.entries()) if (wanted.test(line.text)) found.push(from + at)
    }
    return found
  }

  async #look() {
    const { conversation } = this.#model
    const isSame = await this.#index.update().catch(() => false)
    if (!isSame) return this.#replace()
    if (this.#index.count === conversation.lines) return
    for (const { text, isTooLong } of await this.#index.read(conversation.lines + 1, this.#index.count)) conversation.add(text, isTooLong)
    this.#model.size = this.#index.size
    await this.#summarize()
    this.#page.changed()
    this.#live.tellAll()
  }

  async #summarize() {
    const began = performance.now()
    if (began < this.#nextSummary) return
    Object.assign(this.#model, await replayed(this.#source.log, this.#signal))
    const ended = performance.now()
    this.#nextSummary = ended + (ended - began) / SUMMARY_SHARE
  }

  /** Starts again, because the file was replaced by another. */
  async #replace() {
    this.#index = new LineIndex(this.#source.log)
    await this.#read().catch(() => {})
    this.#page.changed()
    this.#live.replaced()
  }

  #tell(reader) {
    const { conversation } = this.#model
    if (reader.from > conversation.lines) return reader.send('replaced', {})
    if (reader.from === conversation.lines) return undefined
    const { from, images } = reader
    const rows = conversation.rows.slice(firstBehind(conversation.rows, from))
    reader.send('news', {
      ...rowsData(rows),
      payloads: rows.map(({ payload }) => payload),
      images: conversation.images.urls.slice(images),
      calls: conversation.calls.all.filter(({ line, responseLine }) => line > from || responseLine > from).map(callData),
      changed: conversation.rows.filter(({ line, removedBy }) => line <= from && removedBy > from).map(({ line, flags, removedBy }) => [line, flags, removedBy]),
      summary: JSON.parse(islandJson(summaryOf(this.#model))),
    })
    Object.assign(reader, { from: conversation.lines, images: conversation.images.urls.length })
    return undefined
  }
}

/** The index of the first row after a line. */
function firstBehind(rows, line) {
  const at = rows.findLastIndex((row) => row.line <= line)
  return at + 1
}

module.exports = { ServedSession }
