'use strict'

const { lineBatches } = require('./lines.js')

/**
 * Yields the records of a session, the lines that a replay counts as events. Their ids, `rec_0`, `rec_1` …, are those of `diff`; `line` is
 * the number of the line, from 1. JSON values that are not objects are in `value`.
 */
async function* sessionEvents(filePath, { from, to, kinds }) {
  let line = 0
  let place = 0
  for await (const { lines } of lineBatches(filePath)) {
    for (const text of lines) {
      line += 1
      const record = recordIn(text)
      if (record === null) continue
      const at = place++
      if (at > to) return
      if (at >= from && (kinds === undefined || kinds.includes(record.type))) yield { eventId: `rec_${at}`, line, ...fieldsOf(record) }
    }
  }
}

/** Parses a line; null if it is not JSON, or `null`. */
function recordIn(text) {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

function fieldsOf(record) {
  if (typeof record !== 'object' || Array.isArray(record)) return { value: record }
  const { v, seq, ts, type, payload } = record
  return { v, seq, ts, type, payload }
}

module.exports = { sessionEvents }
