'use strict'

const { hasOwn, native, withFields } = require('../builtins.js')
const { check } = require('../arguments.js')
const { Assembly } = require('./assembly.js')
const { SESSION, runJob } = require('../binding/job.js')
const { replay, checkArguments } = require('./replay.js')

/** The number of items that an iteration reads at a time. */
const PAGE = 100

async function open(filePath, expectedProjectHash, options) {
  let opened
  const start = (bundles, path, wanted, onReady) => {
    opened = native.openReplay(bundles, path, wanted, onReady)
    return opened.job()
  }
  let isOpen = false
  try {
    const { result, historyLength } = await replay(start, filePath, expectedProjectHash, options)
    isOpen = result.ok
    return isOpen ? { ok: true, session: new SessionHandle(opened, result, historyLength) } : result
  } finally {
    // An opening may be aborted after its replay has finished. The caller gets no handle then, and cannot close the file.
    if (!isOpen) opened?.close()
  }
}

function openSession(filePath, expectedProjectHash, options) {
  checkArguments(filePath, expectedProjectHash, options)
  return open(filePath, expectedProjectHash, options)
}

class SessionHandle {
  #replay

  constructor(replay, result, historyLength) {
    this.#replay = replay
    const { metadata, lastSeq, eventCount, warnings, sessionEvents, sequenceCorrupt, checkpoints } = result
    withFields(this, { metadata, lastSeq, eventCount, warnings, sessionEvents, historyLength, sequenceCorrupt, checkpoints })
    if (hasOwn(result, 'sessionName')) withFields(this, { sessionName: result.sessionName })
    if (hasOwn(result, 'ancestry')) withFields(this, { ancestry: result.ancestry })
  }

  items(from, to) {
    check.optional(from, 'from', 'number')
    check.optional(to, 'to', 'number')
    const start = index(from, 0, this.historyLength)
    const end = index(to, this.historyLength, this.historyLength)
    return this.#read(start, Math.max(start, end))
  }

  async #read(start, end) {
    if (!this.#replay) throw closedError()
    const begin = (onReady) => {
      const job = this.#replay.items(start, end, onReady)
      if (job === null) throw closedError()
      return job
    }
    const assembly = new Assembly()
    const done = await runJob(SESSION, begin, { __proto__: null, takeBatch: assembly.add })
    const { ok, error } = assembly.result(done)
    if (!ok) throw readError(error)
    return assembly.history
  }

  close() {
    this.#replay?.close()
    this.#replay = undefined
  }

  async *[Symbol.asyncIterator]() {
    for (let start = 0; start < this.historyLength; start += PAGE) {
      yield* await this.items(start, start + PAGE)
    }
  }
}

/** Resolves an index like `Array.prototype.slice`: negative ones count from the end, and the result is clamped. */
function index(value, otherwise, length) {
  if (value === undefined) return otherwise
  const whole = Math.trunc(value) || 0
  return whole < 0 ? Math.max(0, length + whole) : Math.min(whole, length)
}

function closedError() {
  return withFields(new Error('The session is closed: items can be read before close() only'), { code: 'ESESSIONCLOSED' })
}

function readError(message) {
  return withFields(new Error(message), { code: 'ESESSIONREAD' })
}

module.exports = { openSession }
