'use strict'

const { native } = require('./native.js')
const { bundles } = require('./bundles.js')
const { NO_OPTIONS, check, checkEach, expect } = require('./arguments.js')
const { SESSION, runJob } = require('./job.js')
const { elementsOfPages } = require('./pages.js')
const { appendValues } = require('./tape-reader.js')

/** The statuses by their letters (src/session_records.rs). */
const STATUSES = { __proto__: null, o: 'ok', m: 'malformed', u: 'unknown', p: 'unparseable', t: 'torn', '-': null }

const BEGINNING = Object.freeze({ __proto__: null, line: 1, offset: 0 })

function readSessionRecords(path, options) {
  check.string(path, 'path')
  if (options !== undefined) checkOptions(options)
  const { strict, history, types, from = BEGINNING, signal } = options ?? NO_OPTIONS
  const { line, offset } = from
  const wanted = { strict: strict === true, history: history === true, types: types?.slice(), line, offset }
  return elementsOfPages(SESSION, () => new native.NativeSessionRecords(bundles, path, wanted), readPage, signal)
}

function checkOptions(options) {
  check.object(options, 'options')
  const { strict, history, types, from, signal } = options
  check.optional(strict, 'options.strict', 'boolean')
  check.optional(history, 'options.history', 'boolean')
  check.signal(signal, 'options.signal')
  if (from !== undefined) checkFrom(from)
  if (types === undefined) return
  expect(Array.isArray(types), 'options.types', 'an array', types)
  checkEach(types, 'options.types', check.string)
}

function checkFrom(from) {
  check.object(from, 'options.from')
  const { line, offset } = from
  expect(Number.isSafeInteger(line) && line > 0, 'options.from.line', 'a safe integer, 1 or more', line)
  check.safeCount(offset, 'options.from.offset')
}

async function readPage(start, { signal }) {
  let page
  const takeBatch = (batch, job) => {
    page = pageOf(batch, job)
  }
  await runJob(SESSION, start, { __proto__: null, signal, takeBatch })
  return page
}

/**
 * The lines in a batch, to be taken in order. Their records are on the tape of the job, and are built when the first line is taken, while the next page is
 * read.
 */
function pageOf(batch, job) {
  if (batch.statuses === undefined) return undefined
  const { line: first, lines, offsets, lengths, statuses, histories, last } = batch
  let records
  let next = 0
  const at = (index) => {
    records ??= recordsOf(batch, job)
    const status = STATUSES[statuses[index]]
    const hasRecord = status === 'ok' || status === 'malformed' || status === 'unknown'
    const record = hasRecord ? records[next++] : null
    const line = lines === undefined ? first + index : lines[index]
    const offset = offsets[index]
    const length = lengths[index]
    const mark = histories[index]
    return mark === '-'
      ? { line, offset, length, record, status }
      : { line, offset, length, record, status, inHistory: mark === '1' }
  }
  return { __proto__: null, length: offsets.length, at, isLast: last }
}

function recordsOf(batch, job) {
  const records = []
  if (batch.names !== undefined) appendValues(job, batch, records, [], [], [])
  return records
}

module.exports = { readSessionRecords }
