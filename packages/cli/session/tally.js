'use strict'

const { EDITS, blocksOf, isFailure } = require('../html/session/items.js')
const { isName, isObject } = require('./values.js')

// Counts all events of a session file, including those that are no longer in the replayed history: turns and tools before a compression,
// rewinds, switches of the model.
//
// An event is counted if and only if it has an effect in a replay, so that the counts agree with the replay's warnings. The size of a
// tally does not depend on that of the file.

/** @import { CompressedPayload, ContentPayload, HistoryChange, IContent, ProviderSwitchPayload, SessionLine } from 'session-tape' */
/** @import { Context } from '../context.js' */
/** @import { Bar } from '../progress.js' */
/** @import { AnyRecord, ReadLine } from './values.js' */
/** @typedef {ReturnType<typeof newTally>} Tally */
/** @typedef {{ calls: number, responses: number, failures: number }} ToolTally */
/** @typedef {{ provider: string, model: string }} Model */

/** The maximum number of names of tools, speakers or types. Further ones are counted together, because a hostile file may have millions. */
const MAX_NAMES = 1000
const MAX_SWITCHES = 50

const OTHERS = '(others)'

function newTally() {
  return {
    /** @type {string | null} */
    firstTs: null,
    /** @type {string | null} */
    lastTs: null,
    /** Counts of events by type, with or without an effect. @type {Map<string, number>} */
    types: new Map(),
    /** The number of events of unknown types. */
    unknown: 0,
    /** @type {Map<string, number>} */
    turns: new Map(),
    /** @type {Map<string, ToolTally>} */
    tools: new Map(),
    compressions: 0,
    itemsCompressed: 0,
    rewinds: 0,
    /** The number of items that rewinds have taken back. */
    itemsRewound: 0,
    /** Counts of edits of the history by type. @type {Map<string, number>} */
    edits: new Map(),
    switchCount: 0,
    /** @type {(Model & { line: number })[]} */
    switches: [],
    /** @type {Model | null} */
    startedWith: null,
    /** The tokens of the items of models, if these state them. @type {Partial<Record<typeof USAGE[number], number>> | null} */
    usage: null,
  }
}

/**
 * Resolves to the tally of the events before the first one whose `seq` is larger than `throughSeq`; `strict` must be that of the replay. Reports its
 * progress in bytes to `progress`.
 *
 * @param {Context['tape']} tape
 * @param {string} filePath
 * @param {{ size: number, throughSeq?: number, strict?: boolean, signal?: AbortSignal, progress?: Bar }} options
 */
async function tallyOf(tape, filePath, { size, throughSeq = Infinity, strict = false, signal, progress }) {
  const tally = newTally()
  try {
    for await (const read of /** @type {AsyncGenerator<ReadLine>} */ (
      tape.readSessionRecords(filePath, { strict, changes: true, signal })
    )) {
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

/** @param {Tally} tally @param {SessionLine} read a line with an event */
function addEvent(tally, { line, status, changes, ...read }) {
  const record = /** @type {AnyRecord & { type: string }} */ (read.record)
  countType(tally, status, record.type)
  if (!isObject(record)) return
  if (typeof record.ts === 'string' && !Number.isNaN(Date.parse(record.ts))) {
    tally.firstTs ??= record.ts
    tally.lastTs = record.ts
  }
  if (changes !== undefined && EDITS.includes(record.type))
    tally.edits.set(record.type, (tally.edits.get(record.type) ?? 0) + 1)
  if (status === 'ok') effects[record.type]?.(tally, /** @type {never} */ (record.payload), line)
  if (record.type === 'rewind' && (status === 'ok' || changes !== undefined)) countRewind(tally, changes)
}

/** @type {(tally: Tally, status: SessionLine['status'], type: unknown) => void} */
function countType(tally, status, type) {
  if (status === 'unknown') tally.unknown += 1
  const name = roomFor(tally.types, typeof type === 'string' ? type : '(no type)')
  tally.types.set(name, (tally.types.get(name) ?? 0) + 1)
}

/**
 * What valid events of these types count as.
 *
 * @type {Record<string, ((tally: Tally, payload: never, line: number) => void) | null>} each with the payload of its type
 */
const effects = {
  __proto__: null,
  /** @param {Tally} tally @param {Partial<Record<keyof Model, unknown>>} payload @param {number} line */
  session_start(tally, payload, line) {
    if (line === 1) tally.startedWith = modelOf(payload)
  },
  /** @param {Tally} tally @param {ContentPayload} payload */
  content(tally, { content }) {
    countTurn(tally.turns, content)
    countTools(tally.tools, content)
    countUsage(tally, content.metadata)
  },
  /** @param {Tally} tally @param {CompressedPayload} payload */
  compressed(tally, { itemsCompressed }) {
    tally.compressions += 1
    tally.itemsCompressed += itemsCompressed
  },
  /** @param {Tally} tally @param {ProviderSwitchPayload} payload @param {number} line */
  provider_switch(tally, payload, line) {
    tally.switchCount += 1
    if (tally.switches.length >= MAX_SWITCHES) return
    const before = tally.switches.at(-1) ?? tally.startedWith
    const model = isName(payload.model) ? payload.model : (before?.model ?? '')
    tally.switches.push({ provider: payload.provider, model, line })
  },
}

/**
 * A rewind by the number of its items has an effect even if the key that it names is malformed.
 *
 * @type {(tally: Tally, changes?: HistoryChange[]) => void}
 */
function countRewind(tally, changes = []) {
  tally.rewinds += 1
  for (const { removed } of changes) tally.itemsRewound += removed
}

/** @param {Map<string, number>} turns @param {{ speaker: string }} item */
function countTurn(turns, item) {
  const speaker = roomFor(turns, item.speaker)
  turns.set(speaker, (turns.get(speaker) ?? 0) + 1)
}

/** @type {(tools: Tally['tools'], item: IContent) => void} */
function countTools(tools, item) {
  for (const block of blocksOf(item)) {
    if (block?.type === 'tool_call') tool(tools, block.name).calls += 1
    else if (block?.type === 'tool_response') {
      const entry = tool(tools, block.toolName)
      entry.responses += 1
      if (isFailure(block.error)) entry.failures += 1
    }
  }
}

const USAGE = /** @type {const} */ (['input', 'cached', 'cacheWrite', 'output', 'reasoning', 'cost'])

/** Adds the tokens of an item. A copy of another one was not asked for again. @type {(tally: Tally, metadata: unknown) => void} */
function countUsage(tally, metadata) {
  if (!isObject(metadata) || !isObject(metadata.usage) || metadata.kind === 'copied') return
  tally.usage ??= {}
  for (const key of USAGE)
    if (typeof metadata.usage[key] === 'number') tally.usage[key] = (tally.usage[key] ?? 0) + metadata.usage[key]
}

/** @type {(tools: Tally['tools'], name: unknown) => ToolTally} */
function tool(tools, name) {
  const key = roomFor(tools, isName(name) ? name : '(unnamed)')
  let entry = tools.get(key)
  if (!entry) tools.set(key, (entry = { calls: 0, responses: 0, failures: 0 }))
  return entry
}

/** @type {(map: ReadonlyMap<string, unknown>, name: string) => string} */
const roomFor = (map, name) => (map.has(name) || map.size < MAX_NAMES ? name : OTHERS)
/** @type {(value: unknown) => boolean} */
const isSeq = (value) => Number.isSafeInteger(value) && /** @type {number} */ (value) >= 0
/** @type {(payload: Partial<Record<keyof Model, unknown>>) => Model} */
const modelOf = ({ provider, model }) => ({
  provider: typeof provider === 'string' ? provider : '',
  model: typeof model === 'string' ? model : '',
})

module.exports = { countTurn, tallyOf, OTHERS }
