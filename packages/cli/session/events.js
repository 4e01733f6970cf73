'use strict'

/** @import { SessionRecordsOptions } from 'session-tape' */
/** @import { Context } from '../context.js' */
/** @import { AnyRecord, ReadLine } from './values.js' */

/**
 * Yields the records of a session, the lines that a replay counts as events, with their numbers from 0: `diff` calls them `rec_0`, `rec_1` …
 *
 * @param {Context['tape']} tape
 * @param {string} filePath
 * @param {SessionRecordsOptions} options
 * @returns {AsyncGenerator<{ place: number, line: number, record: AnyRecord }>}
 */
async function* numberedRecords(tape, filePath, options) {
  let place = 0
  for await (const { line, record } of /** @type {AsyncGenerator<ReadLine>} */ (
    tape.readSessionRecords(filePath, options)
  ))
    if (record !== null) yield { place: place++, line, record }
}

/**
 * Yields the records of a session. `line` is the number of the line, from 1. JSON values that are not objects are in `value`.
 *
 * @param {Context['tape']} tape
 * @param {string} filePath
 * @param {{ from: number, to: number, kinds?: unknown[], signal: AbortSignal }} wanted `kinds`: the types, by default all
 */
async function* sessionEvents(tape, filePath, { from, to, kinds, signal }) {
  for await (const { place, line, record } of numberedRecords(tape, filePath, { signal })) {
    if (place > to) return
    if (place >= from && (kinds === undefined || kinds.includes(record.type)))
      yield { eventId: `rec_${place}`, line, ...fieldsOf(record) }
  }
}

/** @type {(record: AnyRecord) => AnyRecord & { value?: unknown }} */
function fieldsOf(record) {
  if (typeof record !== 'object' || Array.isArray(record)) return { value: record }
  const { v, seq, ts, type, payload } = record
  return { v, seq, ts, type, payload }
}

module.exports = { numberedRecords, sessionEvents }
