'use strict'

// Serves a session: its page, complete records, and a search.

const { pageRoutes } = require('../serve/latest.js')
const { BadRequest, numberIn } = require('../serve/server.js')
const { Conversation } = require('./conversation.js')
const { gather } = require('./gather.js')
const { linesOf } = require('./lines.js')
const { ASKED, WHOLE } = require('./limits.js')
const { contentOf } = require('./page.js')

/** @import { CutLimits } from '../cut.js' */
/** @import { Source } from './gather.js' */
/** @typedef {{ offsets: number[] }} Shown */

const MAX_RECORDS = 2000
const MAX_FOUND = 100_000

/**
 * @param {Source & { file?: string }} source `file`: the path of the file, if that is not `log`
 * @param {{ signal?: AbortSignal }} [options]
 */
function servedSession(source, { signal } = {}) {
  const read = async () => {
    const model = await gather(source, { signal })
    return { content: contentOf(model), offsets: model.conversation.offsets }
  }
  /** Yields the lines from one number to another, with the texts of damaged ones. @type {(shown: Shown, from: number, to: number) => ReturnType<typeof linesOf>} */
  async function* lines({ offsets }, from, to) {
    const [first, last] = [Math.max(from, 1), Math.min(to, offsets.length)]
    if (first > last) return
    for await (const line of linesOf(source.log, { from: { line: first, offset: offsets[first - 1] }, signal })) {
      yield line
      if (line[0].line >= last) return
    }
  }
  /** @type {(shown: Shown, from: number, to: number, limits: CutLimits) => Promise<[line: number, payload: unknown[]][]>} */
  async function payloads(shown, from, to, limits) {
    /** @type {[number, unknown[]][]} */
    const found = []
    for await (const [line, text] of lines(shown, from, to)) {
      // Each line is parsed alone: its effect on the history is already known.
      const row = new Conversation(limits).add(line, text)
      if (row) found.push([line.line, JSON.parse(row.payload).slice(0, 2)])
    }
    return found
  }
  return pageRoutes(source.file ?? source.log, read, {
    record: async (query, shown) => {
      const line = numberIn(query, 'line')
      const [found] = await payloads(shown, line, line, WHOLE)
      if (found === undefined) throw new BadRequest('there is no such record')
      return found[1]
    },
    records: (query, shown) => {
      const [from, to] = [numberIn(query, 'from'), numberIn(query, 'to')]
      if (to - from >= MAX_RECORDS) throw new BadRequest('these are too many records')
      return payloads(shown, from, to, ASKED)
    },
    search: (query, shown) => linesWith(query.get('text') ?? '', lines(shown, 1, Infinity)),
  })
}

/** Resolves to the lines of the records whose JSON contains a text, ignoring case. @type {(text: string, lines: ReturnType<typeof linesOf>) => Promise<number[]>} */
async function linesWith(text, lines) {
  const found = []
  const json = JSON.stringify(text).slice(1, -1)
  const wanted = new RegExp(json.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&'), 'iu')
  for await (const [{ line, record }, damaged] of lines) {
    if (wanted.test(damaged ?? (record === null ? '' : JSON.stringify(record)))) found.push(line)
    if (found.length >= MAX_FOUND) break
  }
  return found
}

module.exports = { servedSession }
