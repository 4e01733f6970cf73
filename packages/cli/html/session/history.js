'use strict'

// Follows which records are in the history, and what removed the others.

class History {
  /** The lines of the items that are in the history, in order. */
  #lines = []

  get length() {
    return this.#lines.length
  }

  /**
   * @param {import('session-tape').SessionLine} read
   * @returns {{ isItem: boolean, removed: number[] }} whether the record is an item of the history now, and the lines of those that it removed
   */
  take({ line, status, record }) {
    if (status !== 'ok') return NOTHING
    const { type, payload } = record
    if (type === 'content') return { isItem: true, removed: this.#keep(this.#lines.length, [line]) }
    if (type === 'compressed') return { isItem: true, removed: this.#keep(0, [line]) }
    if (type === 'rewind') return { isItem: false, removed: this.#keep(this.#lines.length - removedItems(payload), []) }
    return NOTHING
  }

  /** Keeps the first `count` items and adds others. Returns the lines of the removed ones. */
  #keep(count, added) {
    return this.#lines.splice(Math.max(count, 0), Infinity, ...added)
  }
}

const NOTHING = { isItem: false, removed: [] }

/** The number of items that a valid `rewind` removes. A fraction is rounded up. */
const removedItems = (payload) => Math.ceil(payload.itemsRemoved)

/** The item of a `content`, or the summary of a `compressed`, that a replay accepts; otherwise null. */
function itemIn({ status, record }) {
  if (status !== 'ok') return null
  return record.type === 'content' ? record.payload.content : record.type === 'compressed' ? record.payload.summary : null
}

module.exports = { History, itemIn, removedItems }
