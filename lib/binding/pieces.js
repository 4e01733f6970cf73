'use strict'

const { append, record, withFields } = require('../builtins.js')

/** Puts together the result of a job that is too large to be parsed in one turn of the event loop (src/node/job/pieces.rs). */
class Pieces {
  /** The last batch of the job, as far as it has been received. */
  #partial

  /** Takes a batch. Returns the batch itself if it is not a piece, the whole one after its last piece, and otherwise `undefined`. */
  add(batch) {
    const { partial, into, elements, members, whole } = batch
    if (partial !== undefined) this.#partial = partial
    else if (elements !== undefined) appendAll(this.#at(into), elements)
    else if (members !== undefined) withFields(this.#at(into), members)
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

function appendAll(list, elements) {
  for (let index = 0; index < elements.length; index++) append(list, elements[index])
}

module.exports = { Pieces }
