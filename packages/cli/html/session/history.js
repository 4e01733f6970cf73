'use strict'

// Follows which records are in the history, and what removed the others.

const { isObject } = require('../../session/values.js')

class History {
  /** The items, in order, each with the line that has it. @type {{ line: number, key: number | undefined }[]} */
  #items = []
  /** The number of items in the history by the line that has them. */
  #left = new Map()

  get length() {
    return this.#items.length
  }

  /**
   * @param {import('session-tape').SessionLine} read
   * @returns {{ isItem: boolean, removed: number[], gone: number, fits: boolean }} whether the record has an item that is in the history now, the lines
   * that lost their last item by it, the number of items that it took out or replaced, and whether the history was such that it could have its effect
   */
  take({ line, status, ...read }) {
    const record = /** @type {any} */ (read.record)
    const isKnown = status === 'ok' || status === 'malformed'
    if (!isKnown || !isObject(record) || !Object.hasOwn(EFFECTS, record.type)) return NOTHING
    if (status === 'malformed' && !cutsByCount(record)) return NOTHING
    const [from, count, added] = EFFECTS[record.type](this.#items, record.payload, line)
    if (from === NOWHERE) return { ...NOTHING, fits: false }
    const removed = this.#replace(from, count, added)
    return { isItem: this.#left.has(line), removed, gone: count, fits: true }
  }

  /** Replaces items by others. Returns the lines that lost their last item. */
  #replace(from, count, added) {
    const gone = this.#items.splice(from, count, ...(added.length > MAX_ARGUMENTS ? [] : added))
    if (added.length > MAX_ARGUMENTS) this.#items = [...this.#items.slice(0, from), ...added, ...this.#items.slice(from)]
    for (const { line } of added) this.#left.set(line, (this.#left.get(line) ?? 0) + 1)
    return gone.map(({ line }) => line).filter((line) => this.#loses(line))
  }

  /** Counts an item that is gone. Returns whether it was the last one of its line. */
  #loses(line) {
    const left = this.#left.get(line) - 1
    if (left > 0) this.#left.set(line, left)
    else this.#left.delete(line)
    return left === 0
  }
}

const NOTHING = { isItem: false, removed: [], gone: 0, fits: true }
const NOWHERE = -1
/** More values than this are not passed as arguments. */
const MAX_ARGUMENTS = 10_000

/** By type: from where how many items are replaced by which, or `NOWHERE` if the history has not what the event names. */
const EFFECTS = {
  content: (items, { content }, line) => [items.length, 0, [entry(content, line)]],
  compressed: (items, { summary }, line) => [0, items.length, [entry(summary, line)]],
  rewind(items, { itemsRemoved, cutSeq }) {
    const cut = isKey(cutSeq) ? items.findIndex(({ key }) => key === cutSeq) : NOWHERE
    const from = cut === NOWHERE ? Math.max(items.length - Math.ceil(itemsRemoved), 0) : cut
    return [from, items.length - from, []]
  },
  density_mutation(items, { removedSeqs, replacements }, line) {
    const removed = new Set(removedSeqs)
    const replaced = new Set(replacements.map(({ replacedSeq }) => replacedSeq))
    const isEdited = ({ key }) => removed.has(key) || replaced.has(key)
    const first = items.findIndex(isEdited)
    if (first === NOWHERE) return [0, 0, []]
    const end = items.findLastIndex(isEdited) + 1
    const kept = items.slice(first, end).flatMap((item) => (replaced.has(item.key) ? [{ line, key: item.key }] : removed.has(item.key) ? [] : [item]))
    return [first, end - first, kept]
  },
  synthetic_insert(items, { content, afterSeq }, line) {
    const at = items.findIndex(({ key }) => key === afterSeq)
    return at === NOWHERE ? [NOWHERE, 0, []] : [at + 1, 0, [entry(content, line)]]
  },
  chronology_bind(items, { rowIndex, chronology: { seq: key }, content }, line) {
    if (rowIndex >= items.length) return [NOWHERE, 0, []]
    return [rowIndex, 1, [{ line: content === undefined ? items[rowIndex].line : line, key }]]
  },
  semantic_media_purge(items, { history, frontier: { contentIndex, blockIndex } }, line) {
    const isWithin = history.length === 0 ? contentIndex === 0 && blockIndex === 0 : blockIndex < history[contentIndex]?.blocks.length
    return isWithin ? [0, items.length, history.map((item) => entry(item, line))] : [NOWHERE, 0, []]
  },
}

const isKey = (value) => Number.isSafeInteger(value) && value >= 0

function entry(item, line) {
  const key = item.metadata?.chronology?.seq
  return { line, key: isKey(key) ? key : undefined }
}

/** Whether a malformed record is a `rewind` of which only the key to cut at is not valid: it removes items by their number. */
const cutsByCount = ({ type, payload }) => type === 'rewind' && isObject(payload) && typeof payload.itemsRemoved === 'number' && payload.itemsRemoved >= 0

/** The item of a `content`, or the summary of a `compressed`, that a replay accepts; otherwise null. */
function itemIn({ status, record }) {
  if (status !== 'ok') return null
  return record.type === 'content' ? record.payload.content : record.type === 'compressed' ? record.payload.summary : null
}

/** The types of events that edit the history through keys or indices, or replace it. */
const EDITS = ['density_mutation', 'synthetic_insert', 'chronology_bind', 'semantic_media_purge']

/** The items that an edit brings, each with what it is. */
function itemsOfEdit({ status, record: { type, payload } }) {
  if (status !== 'ok') return []
  if (type === 'density_mutation') return payload.replacements.map(({ replacedSeq, replacement }) => [replacement, `in place of key ${replacedSeq}`])
  if (type === 'synthetic_insert') return [[payload.content, 'inserted']]
  if (type === 'chronology_bind') return payload.content === undefined ? [] : [[payload.content, `in place of item ${payload.rowIndex}`]]
  return payload.history.map((item) => [item, 'in the new history'])
}

module.exports = { EDITS, History, itemIn, itemsOfEdit }
