'use strict'

/**
 * Yields the records of a session, the lines that a replay counts as events, with their numbers from 0: `diff` calls them `rec_0`, `rec_1` …
 *
 * @returns {AsyncGenerator<{ place: number, line: number, record: any }>}
 */
async function* numberedRecords(tape, filePath, options) {
  let place = 0
  for await (const { line, record } of tape.readSessionRecords(filePath, options)) if (record !== null) yield { place: place++, line, record }
}

/** Yields the records of a session. `line` is the number of the line, from 1. JSON values that are not objects are in `value`. */
async function* sessionEvents(tape, filePath, { from, to, kinds, signal }) {
  for await (const { place, line, record } of numberedRecords(tape, filePath, { signal })) {
    if (place > to) return
    if (place >= from && (kinds === undefined || kinds.includes(record.type))) yield { eventId: `rec_${place}`, line, ...fieldsOf(record) }
  }
}

function fieldsOf(record) {
  if (typeof record !== 'object' || Array.isArray(record)) return { value: record }
  const { v, seq, ts, type, payload } = record
  return { v, seq, ts, type, payload }
}

module.exports = { numberedRecords, sessionEvents }
