'use strict'

// Counts what is in a conversation: turns and time by speaker, tools with their failures and durations, sizes.

const { FLAGS } = require('./conversation.js')

/** The maximum number of names that are listed. Further ones are counted together, because a hostile file may have millions. */
const MAX_NAMES = 200
const OTHERS = '(others)'

/** @param {InstanceType<typeof import('./conversation.js')['Conversation']>} conversation */
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

const count = (rows, flag) => rows.reduce((sum, { flags }) => sum + (flags & flag ? 1 : 0), 0)

/**
 * Turns, bytes and time by speaker. The time since the previous record counts for the speaker of an item: the AI needed it to respond, or the human
 * was waited for.
 */
function speakersOf(rows) {
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

function toolsOf(calls) {
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

function typesOf(rows) {
  const found = new Map()
  for (const { type, flags } of rows) entryOf(found, flags & FLAGS.damaged ? '(damaged)' : type, { count: 0 }).count += 1
  return listed(found).sort((a, b) => b.count - a.count)
}

function entryOf(found, name, none) {
  const key = found.has(name) || found.size < MAX_NAMES ? name : OTHERS
  if (!found.has(key)) found.set(key, { ...none })
  return found.get(key)
}

const listed = (found) => [...found].map(([name, entry]) => ({ name, ...entry }))

module.exports = { totalsOf }
