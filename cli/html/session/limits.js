'use strict'

// Limits for the page of a session.

/**
 * @typedef {object} Limits
 * @property {number} rows the maximum number of records; of a longer session the last ones are shown
 * @property {number} bytes the size of all payloads to aim for
 */

/** @type {Limits} */
const LIMITS = { rows: 250_000, bytes: 8 << 20 }

/**
 * The limits of one payload: UTF-16 code units of a string and in total, and levels of nesting. The first that keep all payloads within the limit
 * are taken.
 */
const PAYLOADS = [65_536, 16_384, 4096, 1024, 256].map((string) => ({ string, total: string * 2, depth: 40 }))

/** The limits of a payload that is asked for on its own. */
const WHOLE = { string: 16 << 20, total: 32 << 20, depth: 200 }

/** The expected size of a page's payload of a line of so many bytes. */
const expected = (size, { total }) => Math.min(size, total + 200)

/** Chooses the limits of payloads by the sizes of lines. */
class PayloadLimits {
  #sums = PAYLOADS.map(() => 0)

  take(size) {
    for (const [at, limits] of PAYLOADS.entries()) this.#sums[at] += expected(size, limits)
  }

  chosen(bytes) {
    const at = this.#sums.findIndex((sum) => sum <= bytes)
    return PAYLOADS.at(at)
  }
}

module.exports = { LIMITS, WHOLE, PayloadLimits }
