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

/** @import { CutLimits } from '../cut.js' */
/** @import { Route, Send } from '../serve/server.js' */
/** @import { Row } from './conversation.js' */
/** @import { Model, Source } from './gather.js' */
/** @typedef {{ from: number, images: number } & { send: Send }} Reader */

/** The maximum share of the time that is spent on the summary, which requires a replay of the whole file, and on conversions. */
const SHARE = 0.1
const MAX_RECORDS = 500
const MAX_FOUND = 100_000

class ServedSession {
  /** Device and inode of the file, and its size and time when it was last read. @type {string | undefined} */
  #identity
  /** @type {string | null | undefined} */
  #version
  /** What `open` reads. @type {Model} */
  #model = /** @type {never} */ (undefined)
  #page = new MadePage(() => this.#makePage())
  #live = new Live(() => this.#look(), (/** @type {Reader} */ reader) => this.#tell(reader))
  #nextSummary = 0
  #nextConversion = 0
  #source
  #signal

  /**
   * @param {Source & { file?: string }} source `file`: the path of the file, if that is not `log`
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
    const { identity, version, size } = await found(this.#source)
    this.#identity = identity
    this.#version = version
    this.#model = await gather({ ...this.#source, size }, { signal: this.#signal, isGrowing: true })
    if (!this.#source.isForeign) this.#model.size = this.#model.conversation.end
  }

  close() {
    this.#live.close()
  }

  /** @returns {Record<string, Route>} */
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
      const { row } = new Conversation(limits).add(read, text)
      if (row) payloads.push([read.line, JSON.parse(row.payload).slice(0, 2)])
    }
    return payloads
  }

  /** Yields the lines from one number to another, with the texts of damaged ones. @type {(from: number, to: number) => ReturnType<typeof linesOf>} */
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

  /** Resolves to the lines of the records whose JSON contains a text, ignoring case. @param {string} text */
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
    const { identity, version, size } = await found(this.#source).catch(() => NOWHERE)
    if (this.#source.isForeign) return this.#lookAtForeign(version)
    if (identity !== this.#identity || size < conversation.end) return this.#replace()
    if (version === this.#version) return
    const from = { line: conversation.lines + 1, offset: conversation.end }
    const lines = []
    for await (const line of completeLinesOf(this.#source.log, { from, changes: true, signal: this.#signal })) lines.push(line)
    this.#version = version
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
    this.#nextSummary = afterShare(began)
  }

  /**
   * Another program's session is converted as a whole: what it appends may change what its earlier records become.
   *
   * @param {string | null} version
   */
  async #lookAtForeign(version) {
    const began = performance.now()
    if (version === this.#version || began < this.#nextConversion) return
    const { rows } = this.#model.conversation
    await this.#read().catch(() => {
      this.#version = version
    })
    this.#nextConversion = afterShare(began)
    const now = this.#model.conversation.rows
    const isSame = rows.every((row, at) => now[at]?.line === row.line && now[at].at === row.at && now[at].payload === row.payload)
    this.#page.changed()
    if (isSame) this.#live.tellAll()
    else this.#live.replaced()
  }

  /** Starts again, because the file was replaced by another. */
  async #replace() {
    await this.#read().catch(() => {})
    this.#page.changed()
    this.#live.replaced()
  }

  /** @param {Reader} reader */
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

/** When work that began at a time may be repeated, so that it takes no more than its share of the time. @param {number} began */
function afterShare(began) {
  const ended = performance.now()
  return ended + (ended - began) / SHARE
}

/** Which file a session is in, its size, and what tells one state of the file from another. @param {{ log: string, file?: string }} source */
async function found({ log, file = log }) {
  const { dev, ino, size, mtimeNs } = await fs.stat(file, { bigint: true })
  return { identity: `${dev} ${ino}`, version: `${ino} ${size} ${mtimeNs}`, size: Number(size) }
}

const NOWHERE = { identity: null, version: null, size: 0 }

/** The index of the first row after a line. @type {(rows: Row[], line: number) => number} */
function firstBehind(rows, line) {
  const at = rows.findLastIndex((row) => row.line <= line)
  return at + 1
}

module.exports = { ServedSession }
