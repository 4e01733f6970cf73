'use strict'

// Counts what is in a conversation: turns and time by speaker, tools with their failures and durations, sizes.

const { FLAGS } = require('./items.js')

/** @import { Row } from './conversation.js' */
/** @import { Call } from './tool-calls.js' */

/** The maximum number of names that are listed. Further ones are counted together, because a hostile file may have millions. */
const MAX_NAMES = 200
const OTHERS = '(others)'

/**
 * @typedef {InstanceType<typeof import('./conversation.js').Conversation>} Conversation
 * @typedef {ReturnType<typeof totalsOf>} Totals
 */

/** @param {Conversation} conversation */
function totalsOf({ rows, calls, history }) {
  return {
    history: history.length,
    items: count(rows, FLAGS.item),
    damaged: count(rows, FLAGS.damaged),
    speakers: speakersOf(rows),
    tools: toolsOf(calls.all),
    types: typesOf(rows),
    largest: rows.reduce((most, row) => (row.size > (most?.size ?? -1) ? row : most), rows[0])?.line ?? 0,
    first: rows.find(({ at }) => at !== null)?.at ?? null,
    last: rows.findLast(({ at }) => at !== null)?.at ?? null,
  }
}

/** @type {(rows: Row[], flag: number) => number} */
const count = (rows, flag) => rows.reduce((sum, { flags }) => sum + (flags & flag ? 1 : 0), 0)

/**
 * Turns, bytes and time by speaker. The time since the previous record counts for the speaker of an item: the AI needed it to respond, or the human
 * was waited for.
 *
 * @param {Row[]} rows
 */
function speakersOf(rows) {
  /** @type {Map<string, { turns: number, bytes: number, ms: number }>} */
  const found = new Map()
  let before = null
  for (const { speaker, at, size, flags } of rows) {
    if (flags & FLAGS.item && speaker !== '') {
      const entry = entryOf(found, speaker, { turns: 0, bytes: 0, ms: 0 })
      entry.turns += 1
      entry.bytes += size
      if (at !== null && before !== null) entry.ms += Math.max(at - before, 0)
    }
    if (at !== null) before = at
  }
  return listed(found)
}

/** @param {Call[]} calls */
function toolsOf(calls) {
  /** @type {Map<string, { calls: number, failures: number, open: number, ms: number, longest: number }>} */
  const found = new Map()
  for (const { name, responseLine, hasFailed, ms } of calls) {
    const entry = entryOf(found, name, { calls: 0, failures: 0, open: 0, ms: 0, longest: 0 })
    entry.calls += 1
    if (hasFailed) entry.failures += 1
    if (responseLine === 0) entry.open += 1
    entry.ms += ms ?? 0
    entry.longest = Math.max(entry.longest, ms ?? 0)
  }
  return listed(found).sort((a, b) => b.calls - a.calls)
}

/** @param {Row[]} rows */
function typesOf(rows) {
  /** @type {Map<string, { count: number }>} */
  const found = new Map()
  for (const { type, flags } of rows)
    entryOf(found, flags & FLAGS.damaged ? '(damaged)' : type, { count: 0 }).count += 1
  return listed(found).sort((a, b) => b.count - a.count)
}

/** @type {<T>(found: Map<string, T>, name: string, none: T) => T} */
function entryOf(found, name, none) {
  const key = found.has(name) || found.size < MAX_NAMES ? name : OTHERS
  if (!found.has(key)) found.set(key, { ...none })
  return /** @type {typeof none} */ (found.get(key))
}

/** @type {<T>(found: Map<string, T>) => ({ name: string } & T)[]} */
const listed = (found) => [...found].map(([name, entry]) => ({ name, ...entry }))

module.exports = { totalsOf }
