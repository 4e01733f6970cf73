import { withFields } from '../builtins.js'
import type { Batch } from './batch.js'

/** An array or object that is put together, or a value in one. */
type Part = { [key: string | number]: Part }

/** Puts together the result of a job that is too large to be parsed in one turn of the event loop (src/pieces.rs). */
export class Pieces {
  /** The last batch of the job, as far as it has been received. */
  #partial: Part | undefined

  /** Takes a batch. Returns the batch itself if it is not a piece, the whole one after its last piece, and otherwise `undefined`. */
  add(batch: Batch): Batch | undefined {
    const { partial, into = [], elements, members, whole } = batch
    if (partial !== undefined) this.#partial = partial as Part
    else if (elements !== undefined) appendAll(this.#at(into), elements)
    else if (members !== undefined) withFields(this.#at(into), members)
    else return whole === undefined ? batch : (this.#partial as Batch)
    return undefined
  }

  /** The array or object at a path of keys and indices. */
  #at(path: (string | number)[]): Part {
    let value = this.#partial!
    for (let index = 0; index < path.length; index++) value = value[path[index]!]!
    return value
  }
}

function appendAll(list: object, elements: unknown[]): void {
  for (let index = 0; index < elements.length; index++) (list as unknown[]).push(elements[index])
}
