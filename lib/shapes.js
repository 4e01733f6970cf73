'use strict'

// The shapes of objects: which keys, in which order (src/jsonl/tape/shapes.rs).

const { append, join } = require('./native.js')
const { getOwnPropertyNames } = Object

/** With so many they begin anew: files whose keys are all different must not fill the memory. */
const MOST_SHAPES = 4096

/** The shapes that were met. They are kept from batch to batch and from job to job, because most have the same ones. */
class Shapes {
  #builders
  #empty
  #count = 0
  /** The names of `Object.prototype` for which the shapes were made. */
  #inherited

  /** `builders` has the keys of the most frequent shapes, each with a function that builds an object of it. */
  constructor(builders) {
    this.#builders = builders
  }

  /**
   * The shapes of a batch in the order of their numbers. `news` has of each but the first, which has no keys, the number of the one that it
   * extends, and its last key.
   */
  list(news) {
    this.#begin()
    const list = [this.#empty]
    for (let index = 0; index < news.length; index += 2) append(list, this.#extended(list[news[index]], news[index + 1]))
    return list
  }

  /** Begins anew if there are too many, or `Object.prototype` has other names than it had at the last batch. */
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

  /** The shape with one key more. `isInherited`: whether `Object.prototype` has one of the keys too. */
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
