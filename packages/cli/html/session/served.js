'use strict'

// Serves a session: its page, complete records, a search, and new records while it is recorded.

const fs = require('node:fs/promises')
const { islandJson } = require('../island.js')
const { BadRequest, numberIn } = require('../serve/server.js')
const { Live } = require('../serve/live.js')
const { MadePage } = require('../serve/made-page.js')
const { Conversation } = require('./conversation.js')
const { gather, replayed } = require('./gather.js')
const { completeLinesOf, linesOf } = require('./lines.js')
const { ASKED, WHOLE } = require('./limits.js')
const { pageOf } = require('./page.js')
const { rowsData, callData, summaryOf } = require('./page-data.js')

/** The maximum share of the time that is spent on the summary, which requires a replay of the whole file. */
const SUMMARY_SHARE = 0.1
const MAX_RECORDS = 500
const MAX_FOUND = 100_000

class ServedSession {
  /** Device and inode of the file, and its size when it was last read. */
  #identity
  #size
  #model
  #page = new MadePage(() => this.#makePage())
  #live = new Live(() => this.#look(), (reader) => this.#tell(reader))
  #nextSummary = 0
  #source
  #signal

  /**
   * @param {{ log: string, given: string, size: number, seal?: object }} source
   * @param {{ signal?: AbortSignal }} [options]
   */
  constructor(source, { signal } = {}) {
    this.#source = source
    this.#signal = signal
  }

  /** Reads the session. A last line without a line end may be incomplete, and is not shown yet. */
  async open() {
    await this.#read()
    this.#page.prepare()
    this.#live.start()
    return this
  }

  async #read() {
    const { identity, size } = await found(this.#source.log)
    this.#identity = identity
    this.#size = size
    this.#model = await gather({ ...this.#source, size }, { signal: this.#signal, isGrowing: true })
    this.#model.size = this.#model.conversation.end
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
    if (to - from >= MAX_RECORDS * 4) throw new BadRequest('these are too many records')
    return this.#payloads(from, to, ASKED)
  }

  /** Resolves to the lines of records, each with its payload. */
  async #payloads(from, to, limits) {
    const payloads = []
    for await (const [read, text] of this.#lines(from, to)) {
      // Each line is parsed alone: its effect on the history is already known.
      const { row } = new Conversation(limits).add(read, text)
      if (row) payloads.push([read.line, JSON.parse(row.payload).slice(0, 2)])
    }
    return payloads
  }

  /** Yields the lines from one number to another, with the texts of damaged ones. */
  async *#lines(from, to) {
    const { offsets } = this.#model.conversation
    const first = Math.max(from, 1)
    const last = Math.min(to, offsets.length)
    if (first > last) return
    for await (const line of linesOf(this.#source.log, { from: { line: first, offset: offsets[first - 1] }, signal: this.#signal })) {
      yield line
      if (line[0].line >= last) return
    }
  }

  /** Resolves to the lines of the records whose JSON contains a text, ignoring case. */
  async #search(text) {
    const found = []
    const wanted = new RegExp(JSON.stringify(text).slice(1, -1).replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&'), 'iu')
    for await (const [{ line, record }, damaged] of this.#lines(1, Infinity)) {
      if (wanted.test(damaged ?? (record === null ? '' : JSON.stringify(record)))) found.push(line)
      if (found.length >= MAX_FOUND) break
    }
    return found
  }

  async #look() {
    const { conversation } = this.#model
    const { identity, size } = await found(this.#source.log).catch(() => NOWHERE)
    if (identity !== this.#identity || size < conversation.end) return this.#replace()
    if (size === this.#size) return
    const from = { line: conversation.lines + 1, offset: conversation.end }
    const lines = []
    for await (const line of completeLinesOf(this.#source.log, { from, signal: this.#signal })) lines.push(line)
    this.#size = size
    if (lines.length === 0) return
    for (const [read, text] of lines) conversation.add(read, text)
    this.#model.size = conversation.end
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

/** Which file is at a path, and its size. */
async function found(log) {
  const { dev, ino, size } = await fs.stat(log, { bigint: true })
  return { identity: `${dev} ${ino}`, size: Number(size) }
}

const NOWHERE = { identity: null, size: 0 }

/** The index of the first row after a line. */
function firstBehind(rows, line) {
  const at = rows.findLastIndex((row) => row.line <= line)
  return at + 1
}

module.exports = { ServedSession }
