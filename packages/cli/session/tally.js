'use strict'

const { EDITS } = require('../html/session/history.js')
const { isFailure, isName, isObject } = require('./values.js')

// Counts all events of a session file, including those that are no longer in the replayed history: turns and tools before a compression,
// rewinds, switches of the model.
//
// An event is counted if and only if it has an effect in a replay, so that the counts agree with the replay's warnings. The size of a
// tally does not depend on that of the file.

/** The maximum number of names of tools, speakers or types. Further ones are counted together, because a hostile file may have millions. */
const MAX_NAMES = 1000
const MAX_SWITCHES = 50

const OTHERS = '(others)'

function newTally() {
  return {
    firstTs: null,
    lastTs: null,
    /** Counts of events by type, with or without an effect. */
    types: new Map(),
    /** The number of events of unknown types. */
    unknown: 0,
    turns: new Map(),
    tools: new Map(),
    compressions: 0,
    itemsCompressed: 0,
    rewinds: 0,
    itemsRewound: 0,
    /** The number of rewinds to a key, whose items are not known. */
    rewindsToKey: 0,
    /** Counts of edits of the history by type. */
    edits: new Map(),
    switchCount: 0,
    switches: [],
    startedWith: null,
    /** The tokens of the items of models, if these state them. */
    usage: null,
  }
}

/**
 * Resolves to the tally of the events before the first one whose `seq` is larger than `throughSeq`; `strict` must be that of the replay. Reports its
 * progress in bytes to `progress`.
 */
async function tallyOf(tape, filePath, { size, throughSeq = Infinity, strict = false, signal, progress }) {
  const tally = newTally()
  try {
    for await (const read of tape.readSessionRecords(filePath, { strict, signal })) {
      progress?.at({ bytes: read.offset + read.length + 1, total: size })
      // A strict replay does not read lines without a valid number.
      if (read.record === null || (strict && !isSeq(read.record.seq))) continue
      if (typeof read.record.seq === 'number' && read.record.seq > throughSeq) break
      addEvent(tally, read)
    }
  } finally {
    progress?.done()
  }
  return tally
}

/** @param {ReturnType<typeof newTally>} tally @param {import('session-tape').SessionLine} read a line with an event */
function addEvent(tally, { line, status, ...read }) {
  const record = /** @type {any} */ (read.record)
  countType(tally, status, record.type)
  if (!isObject(record)) return
  if (typeof record.ts === 'string' && !Number.isNaN(Date.parse(record.ts))) {
    tally.firstTs ??= record.ts
    tally.lastTs = record.ts
  }
  if (status === 'ok' && EDITS.includes(record.type)) tally.edits.set(record.type, (tally.edits.get(record.type) ?? 0) + 1)
  if (status === 'ok') effects[record.type]?.(tally, record.payload, line)
}

function countType(tally, status, type) {
  if (status === 'unknown') tally.unknown += 1
  const name = roomFor(tally.types, typeof type === 'string' ? type : '(no type)')
  tally.types.set(name, (tally.types.get(name) ?? 0) + 1)
}

/** What valid events of these types count as. */
const effects = {
  __proto__: null,
  session_start(tally, payload, line) {
    if (line === 1) tally.startedWith = modelOf(payload)
  },
  content(tally, { content }) {
    countTurn(tally.turns, content)
    countTools(tally.tools, content)
    countUsage(tally, content.metadata)
  },
  compressed(tally, { itemsCompressed }) {
    tally.compressions += 1
    tally.itemsCompressed += itemsCompressed
  },
  rewind(tally, { itemsRemoved, cutSeq }) {
    tally.rewinds += 1
    if (isSeq(cutSeq)) tally.rewindsToKey += 1
    else tally.itemsRewound += Math.ceil(itemsRemoved)
  },
  provider_switch(tally, payload, line) {
    tally.switchCount += 1
    if (tally.switches.length >= MAX_SWITCHES) return
    const before = tally.switches.at(-1) ?? tally.startedWith
    const model = isName(payload.model) ? payload.model : (before?.model ?? '')
    tally.switches.push({ provider: payload.provider, model, line })
  },
}

/** @param {Map<string, number>} turns @param {{ speaker: string }} item */
function countTurn(turns, item) {
  const speaker = roomFor(turns, item.speaker)
  turns.set(speaker, (turns.get(speaker) ?? 0) + 1)
}

function countTools(tools, { blocks }) {
  if (!Array.isArray(blocks)) return
  for (const block of blocks) {
    if (block?.type === 'tool_call') tool(tools, block.name).calls += 1
    else if (block?.type === 'tool_response') {
      const entry = tool(tools, block.toolName)
      entry.responses += 1
      if (isFailure(block.error)) entry.failures += 1
    }
  }
}

const USAGE = /** @type {const} */ (['input', 'cached', 'cacheWrite', 'output', 'reasoning', 'cost'])

/** Adds the tokens of an item. A copy of another one was not asked for again. */
function countUsage(tally, metadata) {
  if (!isObject(metadata) || !isObject(metadata.usage) || metadata.kind === 'copied') return
  tally.usage ??= {}
  for (const key of USAGE) if (typeof metadata.usage[key] === 'number') tally.usage[key] = (tally.usage[key] ?? 0) + metadata.usage[key]
}

function tool(tools, name) {
  const key = roomFor(tools, isName(name) ? name : '(unnamed)')
  let entry = tools.get(key)
  if (!entry) tools.set(key, (entry = { calls: 0, responses: 0, failures: 0 }))
  return entry
}

const roomFor = (map, name) => (map.has(name) || map.size < MAX_NAMES ? name : OTHERS)
const isSeq = (value) => Number.isSafeInteger(value) && value >= 0
const modelOf = ({ provider, model }) => ({
  provider: typeof provider === 'string' ? provider : '',
  model: typeof model === 'string' ? model : '',
})

module.exports = { countTurn, tallyOf, OTHERS }
