'use strict'

// Limits for the page of a session.

/** @import { CutLimits } from '../cut.js' */

/**
 * @typedef {object} Limits
 * @property {number} rows the maximum number of records; of a longer session the last ones are shown
 * @property {number} bytes the size of all payloads to aim for
 */

/** @type {Limits} */
const LIMITS = { rows: 250_000, bytes: 8 << 20 }

/**
 * The limits of one payload: UTF-16 code units of a string and in total, and levels of nesting. The first ones that keep the size of all payloads
 * within the limit are used.
 */
const PAYLOADS = [65_536, 16_384, 4096, 1024].map((string) => ({ string, total: string, depth: 40 }))

/** The limits of payloads that a page requests from its server: of several payloads, and of a single one. */
const ASKED = PAYLOADS[1]
const WHOLE = { string: 16 << 20, total: 32 << 20, depth: 200 }

/** The number of characters that are kept of a record for which there is no room. */
const EXCERPT = 120

/** The expected size of the payload of a line of `size` bytes in the page. @type {(size: number, limits: CutLimits) => number} */
const expected = (size, { total }) => Math.min(size, total + 400)

/** Chooses the limits of payloads by the sizes of lines. */
class PayloadLimits {
  #sums = PAYLOADS.map(() => 0)
  /** @type {number[]} */
  #sizes = []

  /** @param {number} size */
  take(size) {
    this.#sizes.push(size)
    for (const [at, limits] of PAYLOADS.entries()) this.#sums[at] += expected(size, limits)
  }

  /**
   * @param {number} bytes
   * @returns {{ limits: CutLimits, from: number }} `from`: the first line with a payload; for earlier lines only an excerpt is kept
   */
  chosen(bytes) {
    const at = this.#sums.findIndex((sum) => sum <= bytes)
    if (at >= 0) return { limits: PAYLOADS[at], from: 1 }
    const limits = PAYLOADS[PAYLOADS.length - 1]
    let [room, line] = [bytes, this.#sizes.length]
    while (line > 0 && room > 0) room -= expected(this.#sizes[--line], limits)
    return { limits, from: line + 1 }
  }
}

module.exports = { LIMITS, ASKED, WHOLE, EXCERPT, PayloadLimits }
