'use strict'

// Follows which lines have items in the history, and which line took the others out. What a line does to the history is the library's to say; which
// items are gone, and by what, only a list of all items shows.

/** @import { HistoryChange, SessionLine } from 'session-tape' */

class History {
  /** The line of each item, in order. @type {number[]} */
  #lines = []
  /** The number of items in the history by the line that has them. @type {Map<number, number>} */
  #left = new Map()

  get length() {
    return this.#lines.length
  }

  /**
   * @param {SessionLine} read with its `changes`
   * @returns {{ isItem: boolean, removed: number[], gone: number }} whether the record has an item that is in the history now, the lines that lost their
   * last item by it, and the number of items that it took out or replaced
   */
  take({ line, changes = [] }) {
    if (changes.length === 0) return NOTHING
    const gone = this.#apply(line, changes)
    const removed = gone.filter((each) => this.#loses(each))
    return { isItem: this.#left.has(line), removed, gone: gone.length }
  }

  /** Applies the changes of a line. Returns the lines of the items that are gone. @type {(line: number, changes: HistoryChange[]) => number[]} */
  #apply(line, changes) {
    const { length } = this.#lines
    const first = length - changes[0].behind - changes[0].removed
    /** @type {[number[], number[]]} */
    const [gone, now] = [[], []]
    let at = first
    for (const { removed, added, behind } of changes) {
      const end = length - behind
      while (at < end - removed) now.push(this.#lines[at++])
      while (at < end) gone.push(this.#lines[at++])
      for (let more = added; more > 0; more--) now.push(line)
      if (added > 0) this.#left.set(line, (this.#left.get(line) ?? 0) + added)
    }
    if (now.length <= MAX_ARGUMENTS) this.#lines.splice(first, at - first, ...now)
    else this.#lines = [...this.#lines.slice(0, first), ...now, ...this.#lines.slice(at)]
    return gone
  }

  /** Counts an item that is gone. Returns whether it was the last one of its line. @param {number} line */
  #loses(line) {
    const left = /** @type {number} */ (this.#left.get(line)) - 1
    if (left > 0) this.#left.set(line, left)
    else this.#left.delete(line)
    return left === 0
  }
}

const NOTHING = { isItem: false, removed: [], gone: 0 }
/** More values than this are not passed as arguments. */
const MAX_ARGUMENTS = 10_000

module.exports = { History }
