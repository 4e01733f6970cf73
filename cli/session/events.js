'use strict'

const { lineBatches } = require('./lines.js')

/**
 * The records of a session one by one, as they stand in the file: the lines that a replay counts as events. Their ids, `rec_0`, `rec_1` …, are those
 * of `diff`; `line` is that of the file, from 1. What is JSON but no object comes as `value`.
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

/** Null, if the line is none: damaged, torn, or `null` itself. */
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
