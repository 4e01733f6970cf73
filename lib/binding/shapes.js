'use strict'

// The shapes of objects: their keys, in order (src/jsonl/tape/shapes.rs).

const { append, join } = require('../builtins.js')
const { getOwnPropertyNames } = Object

/** The number of shapes at which the collection is cleared, so that files whose keys are all different do not exhaust memory. */
const MOST_SHAPES = 4096

/** The shapes seen so far. They are kept across batches and jobs, because most of these use the same shapes. */
class Shapes {
  #builders
  #empty
  #count = 0
  /** The property names of `Object.prototype` for which the shapes were built. */
  #inherited

  /** `builders` has the keys of the most frequent shapes, each with a function that builds an object of it. */
  constructor(builders) {
    this.#builders = builders
  }

  /**
   * Returns the shapes of a batch by number. Shape 0 has no keys. For each further shape, `news` has two elements: the number of the shape that it
   * extends, and its additional key.
   */
  list(news) {
    this.#begin()
    const list = [this.#empty]
    for (let index = 0; index < news.length; index += 2) append(list, this.#extended(list[news[index]], news[index + 1]))
    return list
  }

  /** Clears the shapes if there are too many, or if the property names of `Object.prototype` have changed since the last batch. */
  #begin() {
    const inherited = join(getOwnPropertyNames(Object.prototype), ',')
    if (inherited === this.#inherited && this.#count < MOST_SHAPES) return
    this.#inherited = inherited
    this.#count = 0
    this.#empty = { keys: [], build: undefined, isInherited: false, longer: { __proto__: null } }
    for (let index = 0; index < this.#builders.length; index++) this.#know(this.#builders[index])
  }

  #know({ keys, build }) {
    let shape = this.#empty
    for (let index = 0; index < keys.length; index++) shape = this.#extended(shape, keys[index])
    shape.build = build
  }

  /** Returns the shape with one more key. `isInherited` says whether `Object.prototype` has any of its keys. */
  #extended({ keys, isInherited, longer }, key) {
    const known = longer[key]
    if (known !== undefined) return known
    this.#count++
    return (longer[key] = { keys: withLast(keys, key), build: undefined, isInherited: isInherited || key in Object.prototype, longer: { __proto__: null } })
  }
}

function withLast(keys, key) {
  const all = []
  for (let index = 0; index < keys.length; index++) append(all, keys[index])
  append(all, key)
  return all
}

module.exports = { Shapes }
