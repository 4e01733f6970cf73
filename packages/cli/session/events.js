'use strict'

/**
 * Yields the records of a session, the lines that a replay counts as events. Their ids, `rec_0`, `rec_1` …, are those of `diff`; `line` is
 * the number of the line, from 1. JSON values that are not objects are in `value`.
 */
async function* sessionEvents(tape, filePath, { from, to, kinds, signal }) {
  let place = 0
  for await (const { line, record } of tape.readSessionRecords(filePath, { signal })) {
    if (record === null) continue
    const at = place++
    if (at > to) return
    if (at >= from && (kinds === undefined || kinds.includes(record.type))) yield { eventId: `rec_${at}`, line, ...fieldsOf(record) }
  }
}

function fieldsOf(record) {
  if (typeof record !== 'object' || Array.isArray(record)) return { value: record }
  const { v, seq, ts, type, payload } = record
  return { v, seq, ts, type, payload }
}

module.exports = { sessionEvents }
