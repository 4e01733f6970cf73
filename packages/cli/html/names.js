'use strict'

/** Distinct names, numbered in the order of their first appearance. */
class Names {
  /** @type {string[]} */
  list = []
  /** @type {Map<string, number>} */
  #numbers = new Map()
  #most

  constructor(most = Infinity) {
    this.#most = most
  }

  /** Numbers a name if it is new. -1 without a name, or if there are too many. @param {unknown} name */
  numberOf(name) {
    if (typeof name !== 'string') return -1
    const known = this.#numbers.get(name)
    if (known !== undefined) return known
    if (this.list.length >= this.#most) return -1
    this.#numbers.set(name, this.list.length)
    return this.list.push(name) - 1
  }
}

module.exports = { Names }
