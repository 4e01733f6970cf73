'use strict'

// The rows of a session's page: one for each line that is a record or damaged.

const { cut } = require('../cut.js')
const { briefly, oneLine } = require('../excerpt.js')
const { islandJson } = require('../island.js')
const { isObject } = require('../../session/values.js')
const { EDITS, FLAGS, blocksOf, isFailure, itemsOf } = require('./items.js')
const { History } = require('./history.js')
const { Images } = require('./images.js')
const { EXCERPT } = require('./limits.js')
const { ToolCalls } = require('./tool-calls.js')

/** @import { SessionLine } from 'session-tape' */
/** @import { CutLimits } from '../cut.js' */
/** @import { Fields, MaybeFields } from './items.js' */
/** @import { Call } from './tool-calls.js' */

/** The number of characters that are shown of a line that is not JSON. */
const RAW = 2000

/**
 * @typedef {object} Row
 * @property {number} line
 * @property {string} type the record's type; empty for a damaged line
 * @property {string} speaker empty for a record that is not an item
 * @property {number | null} at the record's time
 * @property {number} flags
 * @property {number} removedBy the line of the compression, rewind or edit that removed the item, or its last one; 0 if none did
 * @property {number} gone the number of items that it took out of the history or replaced
 * @property {number} size in bytes
 * @property {string} payload a line of JSON: `[payload, cuts, images]`, or a string, the excerpt of a record for which there is no room
 */

class Conversation {
  /** @type {Row[]} */
  rows = []
  /** The offset of each line in the file. @type {number[]} */
  offsets = []
  history = new History()
  calls = new ToolCalls()
  images
  #limits
  #from
  /** @type {Map<number, Row>} */
  #rowOf = new Map()

  /**
   * @param {CutLimits} limits of one payload
   * @param {number} [from] the first line with a payload; for earlier lines only an excerpt is kept
   * @param {import('./images.js').ObjectAt} [objectAt] for images that blocks refer to
   */
  constructor(limits, from = 1, objectAt) {
    this.#limits = limits
    this.#from = from
    this.images = new Images(objectAt)
  }

  /**
   * Adds the next line.
   *
   * @param {SessionLine} read with its `changes`
   * @param {string} [text] that of a damaged line; without it, the line is too long to be shown
   * @returns {Row | undefined} the new row
   */
  add(read, text) {
    this.offsets.push(read.offset)
    if (read.status === null) return undefined
    const row = read.record === null ? this.#damaged(read, text) : this.#record(read)
    this.rows.push(row)
    this.#rowOf.set(row.line, row)
    return row
  }

  /** @type {(read: SessionLine, text: string | undefined) => Row} */
  #damaged({ line, length }, text) {
    const [raw, flags] = text === undefined ? ['', FLAGS.tooLong] : [text, 0]
    const payload = islandJson([{ raw: raw.slice(0, RAW), left: Math.max(raw.length - RAW, 0) }])
    return {
      line,
      type: '',
      speaker: '',
      at: null,
      flags: FLAGS.damaged | flags,
      removedBy: 0,
      gone: 0,
      size: length,
      payload,
    }
  }

  /** @type {(read: SessionLine) => Row} */
  #record(read) {
    const { line, length: size, record } = read
    /** @type {Fields} */
    const fields = isObject(record) ? record : {}
    const items = read.status === 'ok' ? itemsOf(fields.type, fields.payload).map(({ item: each }) => each) : []
    // An edit with several items, or in place of another item, is no turn of a speaker.
    const isEdit = EDITS.includes(fields.type)
    const item = isEdit && fields.type !== 'synthetic_insert' ? null : (items[0] ?? null)
    const at = timeOf(fields.ts)
    const { isItem: isAdded, removed, gone } = this.history.take(read)
    if (item && isAdded) this.calls.take(line, at, blocksOf(item))
    this.#remove(removed, line)
    return {
      line,
      type: typeof fields.type === 'string' ? fields.type : '(no type)',
      speaker: /** @type {string} */ (item?.speaker ?? ''),
      at,
      flags:
        (isAdded ? FLAGS.inHistory | FLAGS.item : 0) |
        (hasFailed(fields, items) ? FLAGS.failed : 0) |
        (isEdit && read.changes === undefined ? FLAGS.withoutEffect : 0),
      removedBy: 0,
      gone,
      size,
      payload: line < this.#from ? islandJson(excerptOf(record, item)) : this.#payload(fields, record),
    }
  }

  /** @type {(lines: number[], by: number) => void} */
  #remove(lines, by) {
    for (const line of lines) {
      const row = /** @type {Row} */ (this.#rowOf.get(line))
      row.flags &= ~FLAGS.inHistory
      row.removedBy = by
    }
  }

  /** @type {(fields: Fields, record: unknown) => string} */
  #payload(fields, record) {
    const payload = 'payload' in fields ? (fields.payload ?? null) : record
    const images = this.images.takeFrom(fields.type, payload)
    const { value, cuts } = cut(payload, this.#limits)
    const hasImages = Object.keys(images).length > 0
    return islandJson(hasImages ? [value, cuts, images] : cuts.length > 0 ? [value, cuts] : [value])
  }
}

/** The beginning of the first text of an item, or of a payload. @type {(record: unknown, item: Fields | null) => string} */
function excerptOf(record, item) {
  const texts =
    item === null
      ? []
      : blocksOf(item).map((block) =>
          [block?.text, block?.thought, block?.code, block?.name, block?.toolName].find(
            (text) => typeof text === 'string',
          ),
        )
  const found =
    texts.find((text) => text !== undefined) ??
    briefly(isObject(record) && 'payload' in record ? record.payload : record)
  return oneLine(found.slice(0, 4 * EXCERPT)).slice(0, EXCERPT)
}

/** @param {unknown} ts */
function timeOf(ts) {
  const ms = typeof ts === 'string' ? Date.parse(ts) : NaN
  return Number.isNaN(ms) ? null : ms
}

/** @type {(fields: Fields, items: Fields[]) => boolean} */
function hasFailed({ type, payload }, items) {
  if (type === 'session_event') return /** @type {MaybeFields} */ (payload)?.severity === 'error'
  return items.flatMap(blocksOf).some((block) => block?.type === 'tool_response' && isFailure(block.error))
}

module.exports = { Conversation }
