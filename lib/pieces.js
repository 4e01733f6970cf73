'use strict'

const { define, keys, own, record } = require('./native.js')

/** Puts together the result of a job that is too large to be parsed in one turn of the event loop (src/node/job/pieces.rs). */
class Pieces {
  /** The last batch of the job, as far as it has been received. */
  #partial

  /** Takes a batch. Returns the batch itself if it is not a piece, the whole one after its last piece, and otherwise `undefined`. */
  add(batch) {
    const { partial, into, elements, members, whole } = batch
    if (partial !== undefined) this.#partial = partial
    else if (elements !== undefined) addElements(this.#at(into), elements)
    else if (members !== undefined) addMembers(this.#at(into), members)
    else return whole === undefined ? batch : record(this.#partial)
    return undefined
  }

  /** The array or object at a path of keys and indices. */
  #at(path) {
    let value = this.#partial
    for (let index = 0; index < path.length; index++) value = value[path[index]]
    return value
  }
}

function addElements(list, elements) {
  for (let index = 0; index < elements.length; index++) add(list, list.length, elements[index])
}

function addMembers(object, members) {
  const names = keys(members)
  for (let index = 0; index < names.length; index++) add(object, names[index], members[names[index]])
}

/** Adds a property. Calls no setter that it inherits; without one, an assignment is several times as fast as a definition. */
function add(object, name, value) {
  if (name in object) define(object, name, own(value))
  else object[name] = value
}

module.exports = { Pieces }
