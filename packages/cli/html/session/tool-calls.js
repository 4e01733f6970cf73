'use strict'

// Finds the response to each tool call. Ids may be missing or reused, so a response answers the latest open call with its id.

const { isName } = require('../../session/values.js')
const { isFailure } = require('./items.js')

/** @import { Fields, MaybeFields } from './items.js' */

/**
 * @typedef {object} Call
 * @property {string} name
 * @property {number} line the line of the record with the call
 * @property {number} block the index of the call among the record's blocks
 * @property {number | null} at its time
 * @property {number} responseLine 0 without a response
 * @property {number} responseBlock
 * @property {boolean} hasFailed
 * @property {number | null} ms from the call's record to the response's
 */

class ToolCalls {
  /** @type {Call[]} */
  all = []
  /** @type {Map<unknown, Call>} */
  #open = new Map()

  /**
   * Takes the blocks of an item. Returns the calls that it made or answered.
   *
   * @type {(line: number, at: number | null, blocks: MaybeFields[]) => Call[]}
   */
  take(line, at, blocks) {
    return blocks.flatMap((block, index) => {
      if (block?.type === 'tool_call') return [this.#begin(line, at, index, block)]
      if (block?.type === 'tool_response') return this.#end(line, at, index, block)
      return []
    })
  }

  /** @type {(line: number, at: number | null, block: number, call: Fields) => Call} */
  #begin(line, at, block, { id, name }) {
    const call = {
      name: isName(name) ? name : '(unnamed)',
      line,
      block,
      at,
      responseLine: 0,
      responseBlock: 0,
      hasFailed: false,
      ms: null,
    }
    this.all.push(call)
    this.#open.set(id, call)
    return call
  }

  /** @type {(line: number, at: number | null, block: number, response: Fields) => Call[]} */
  #end(line, at, block, { callId, error }) {
    const call = this.#open.get(callId)
    if (call === undefined) return []
    this.#open.delete(callId)
    const ms = at === null || call.at === null ? null : Math.max(at - call.at, 0)
    return [Object.assign(call, { responseLine: line, responseBlock: block, hasFailed: isFailure(error), ms })]
  }
}

module.exports = { ToolCalls }
