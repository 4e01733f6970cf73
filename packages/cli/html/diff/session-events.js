'use strict'

// Reads the records of a session for the page. The content of the file is untrusted.

const tape = require('session-tape')
const { briefly, fieldsBriefly, oneLine } = require('../excerpt.js')
const { moment } = require('../../quantities.js')
const { numberedRecords } = require('../../session/events.js')
const { isObject } = require('../../session/values.js')
const { blocksOf, isFailure, itemsOf } = require('../session/items.js')

/** @import { AnyRecord } from '../../session/values.js' */
/** @import { Fields } from '../session/items.js' */
/** @import { ReadEvent, Shown } from './run-events.js' */

/** @type {(file: string) => AsyncGenerator<ReadEvent>} */
async function* sessionEvents(file) {
  for await (const { place, record } of numberedRecords(tape, file, {})) yield eventOf(record, place)
}

/** @param {unknown} value */
const text = (value) => (typeof value === 'string' ? value : undefined)

/**
 * Cheap fields, and a function `shown` for the others, which are needed only for the records in the page.
 *
 * @type {(record: AnyRecord, place: number) => ReadEvent}
 */
function eventOf(record, place) {
  const kind = text(record.type) ?? '(no type)'
  const payload = (isObject(record) && 'payload' in record ? record.payload : record) ?? null
  return { place, kind, ts: text(record.ts) ?? null, payload, isCompared: true, shown: () => shown(kind, payload) }
}

/** @type {(type: string, payload: unknown) => Shown} */
function shown(type, payload) {
  const items = itemsOf(type, payload)
  const plain = { label: '', node: null, parent: null, hasFailed: false }
  return { ...plain, ...(items.length === 1 ? shownItem(items[0].item, type) : shownPayload(payload)) }
}

/** @type {(payload: unknown) => { excerpt: string, hasFailed?: boolean }} */
function shownPayload(payload) {
  if (!isObject(payload)) return { excerpt: briefly(payload ?? null) }
  return { excerpt: fieldsBriefly(payload, []), hasFailed: payload.severity === 'error' }
}

/**
 * An item of the conversation. Its speaker is shown in the place of a run event's kind.
 *
 * @type {(item: Fields, type: string) => Partial<Shown> & { excerpt: string }}
 */
function shownItem(item, type) {
  const blocks = blocksOf(item).filter(isObject)
  const speaker = text(item.speaker) ?? '(nobody)'
  const tools = blocks.map((block) => text(block.name) ?? text(block.toolName)).filter((name) => name !== undefined)
  return {
    kind: type === 'content' ? oneLine(speaker) : type,
    label: oneLine([...new Set(tools)].join(', ')),
    excerpt: blocks.length > 0 ? oneLine(blocks.map(inBlock).join('  ')) : fieldsBriefly(item, ['speaker', 'metadata']),
    hasFailed: blocks.some((block) => block.type === 'tool_response' && isFailure(block.error)),
  }
}

/** @type {(block: Fields) => string} */
function inBlock(block) {
  const said = text(block.text) ?? text(block.thought) ?? text(block.code)
  if (said !== undefined) return oneLine(said)
  if (block.type === 'tool_call') return `→ ${values(block.parameters)}`
  if (block.type === 'tool_response') return `← ${text(block.error) ?? values(block.result)}`
  return fieldsBriefly(block, ['data', 'id', 'callId'])
}

/** Shows `{ command: 'ls' }` as `ls`; several fields are shown with their names. @param {unknown} value */
function values(value) {
  if (!isObject(value)) return briefly(value ?? null)
  const entries = Object.entries(value)
  return entries.length === 1 ? briefly(entries[0][1]) : fieldsBriefly(value, [])
}

/** The page's data about the session as a whole. */
class SessionFacts {
  /** @type {Map<string, string>} */
  #facts = new Map()

  /** @param {ReadEvent} event */
  take({ place, kind, payload }) {
    if (place !== 0 || kind !== 'session_start' || !isObject(payload)) return
    this.id = text(payload.sessionId)
    const named = {
      Model: payload.model,
      Provider: payload.provider,
      Began: moment(text(payload.startTime)) ?? payload.startTime,
    }
    for (const [name, value] of Object.entries(named))
      if (text(value)) this.#facts.set(name, /** @type {string} */ (value))
  }

  /** @returns {[string, string][]} */
  list() {
    return [...this.#facts].map(([name, value]) => [name, oneLine(value)])
  }
}

module.exports = { sessionEvents, SessionFacts }
