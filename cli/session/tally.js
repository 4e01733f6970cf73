'use strict'

const { isFailure, isItem, isName, isObject, removedItems } = require('./item.js')
const { lineBatches } = require('./lines.js')

// Counts all events of a session file, including those that are no longer in the replayed history: turns and tools before a compression,
// rewinds, switches of the model.
//
// An event is counted if and only if it has an effect in a replay, so that the counts agree with the replay's warnings. The size of a
// tally does not depend on that of the file.

/** The maximum number of names of tools, speakers or types. Further ones are counted together, because a hostile file may have millions. */
const MOST_NAMES = 1000
const MOST_SWITCHES = 50

const OTHERS = '(others)'

/**
 * Returns an empty tally. It counts the events before the first one whose `seq` is larger than `throughSeq`; `strict` must be that of the replay.
 */
function newTally(throughSeq = Infinity, strict = false) {
  return {
    throughSeq,
    strict,
    hasEnded: false,
    lines: 0,
    tooLong: 0,
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
    switchCount: 0,
    switches: [],
    startedWith: null,
  }
}

/** Resolves to the tally of a file. Reports its progress in bytes to `progress`. */
async function tallyOf(filePath, { size, throughSeq, strict, signal, progress }) {
  const tally = newTally(throughSeq, strict)
  try {
    for await (const { lines, tooLong, bytes } of lineBatches(filePath)) {
      signal?.throwIfAborted()
      for (const line of lines) addLine(tally, line)
      tally.tooLong += tooLong
      progress?.at({ bytes, total: size })
      if (tally.hasEnded) break
    }
  } finally {
    progress?.done()
  }
  return tally
}

/** @param {ReturnType<typeof newTally>} tally @param {string} line without its `\n` */
function addLine(tally, line) {
  tally.lines += 1
  const event = parsed(line)
  if (event === undefined || event === null) return
  if (tally.strict && !isSeq(event.seq)) return
  if (typeof event.seq === 'number' && event.seq > tally.throughSeq) tally.hasEnded = true
  if (tally.hasEnded) return
  countType(tally, event.type)
  if (!isObject(event)) return
  if (typeof event.ts === 'string' && !Number.isNaN(Date.parse(event.ts))) {
    tally.firstTs ??= event.ts
    tally.lastTs = event.ts
  }
  if (isObject(event.payload)) countEffect(tally, event)
}

function countType(tally, type) {
  if (!KNOWN.has(type)) tally.unknown += 1
  const name = roomFor(tally.types, typeof type === 'string' ? type : '(no type)')
  tally.types.set(name, (tally.types.get(name) ?? 0) + 1)
}

function countEffect(tally, { type, payload }) {
  if (type === 'session_start') {
    if (tally.lines === 1) tally.startedWith = modelOf(payload)
    return
  }
  // `type` may be any value, which a lookup would convert to a string.
  if (typeof type === 'string' && Object.hasOwn(counts, type)) counts[type](tally, payload)
}

const counts = {
  content(tally, { content }) {
    if (!isItem(content, tally.strict)) return
    countTurn(tally.turns, content)
    countTools(tally.tools, content)
  },
  compressed(tally, { summary, itemsCompressed }) {
    if (!isItem(summary, tally.strict) || typeof itemsCompressed !== 'number') return
    tally.compressions += 1
    tally.itemsCompressed += itemsCompressed
  },
  rewind(tally, payload) {
    const removed = removedItems(payload)
    if (removed === null) return
    tally.rewinds += 1
    tally.itemsRewound += removed
  },
  provider_switch(tally, payload) {
    if (!isName(payload.provider)) return
    tally.switchCount += 1
    if (tally.switches.length >= MOST_SWITCHES) return
    const before = tally.switches.at(-1) ?? tally.startedWith
    const model = isName(payload.model) ? payload.model : (before?.model ?? '')
    tally.switches.push({ provider: payload.provider, model, line: tally.lines })
  },
}

const KNOWN = new Set([
  ...['session_start', 'session_event', 'directories_changed', 'session_metadata', 'checkpoint_created', 'checkpoint_renamed'],
  ...['checkpoint_deleted', 'session_forked', 'session_named', ...Object.keys(counts)],
])

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

function tool(tools, name) {
  const key = roomFor(tools, isName(name) ? name : '(unnamed)')
  let entry = tools.get(key)
  if (!entry) tools.set(key, (entry = { calls: 0, responses: 0, failures: 0 }))
  return entry
}

const roomFor = (map, name) => (map.has(name) || map.size < MOST_NAMES ? name : OTHERS)
const isSeq = (value) => Number.isSafeInteger(value) && value >= 0
const modelOf = ({ provider, model }) => ({
  provider: typeof provider === 'string' ? provider : '',
  model: typeof model === 'string' ? model : '',
})

function parsed(line) {
  try {
    return JSON.parse(line)
  } catch {
    return undefined // The replay warns about it, with its line number.
  }
}

module.exports = { newTally, addLine, countTurn, tallyOf, OTHERS }
