'use strict'

// Follows which records are in the history, and what removed the others.

const { isItem, isObject, removedItems } = require('../../session/item.js')

class History {
  /** The lines of the items that are in the history, in order. */
  #lines = []

  get length() {
    return this.#lines.length
  }

  /**
   * @param {number} line the number of the record's line, from 1
   * @returns {{ isItem: boolean, removed: number[] }} whether the record is an item of the history now, and the lines of those that it removed
   */
  take(line, { type, payload }) {
    if (!isObject(payload)) return NOTHING
    if (type === 'content') return isItem(payload.content) ? this.#add(line) : NOTHING
    if (type === 'compressed') return isItem(payload.summary) && typeof payload.itemsCompressed === 'number' ? this.#compress(line) : NOTHING
    if (type === 'rewind') return this.#rewind(removedItems(payload))
    return NOTHING
  }

  #add(line) {
    this.#lines.push(line)
    return { isItem: true, removed: [] }
  }

  #compress(line) {
    const removed = this.#lines
    this.#lines = [line]
    return { isItem: true, removed }
  }

  #rewind(count) {
    if (count === null || count === 0) return NOTHING
    const kept = Math.max(this.#lines.length - count, 0)
    return { isItem: false, removed: this.#lines.splice(kept) }
  }
}

const NOTHING = { isItem: false, removed: [] }

module.exports = { History }
