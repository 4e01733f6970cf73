'use strict'

// Limits for a page, beyond which browsers become slow. Events near the divergence have priority.

/**
 * @typedef {object} Limits
 * @property {number} events the maximum number of events of a side; of a longer side only the windows below are kept
 * @property {number} bytes the maximum size of the payloads of a side, as JSON; above it the same applies
 * @property {number} head the number of events kept from the beginning
 * @property {number} around the number of events kept before and after the divergence
 * @property {number} tail the number of events kept from the end
 */

/** @type {Limits} */
const LIMITS = { events: 20_000, bytes: 16 << 20, head: 1000, around: 3000, tail: 1000 }

/** Limits for one payload: UTF-16 code units of a string and in total, and levels of nesting. */
const PAYLOAD = { string: 4096, total: 16_384, depth: 40 }

/** Limits for the payloads of the two diverging events. */
const DIVERGING_PAYLOAD = { string: 65_536, total: 131_072, depth: 40 }

/** Limits for the fields of the divergence. */
const FIELDS = 200
const FIELD = { string: 16_384, total: 32_768, depth: 40 }
const ANCESTORS = 1000

/** Limits for the changes after it, with an edit list. */
const CHANGES = 500
const CHANGED_FIELDS = 20

module.exports = { LIMITS, PAYLOAD, DIVERGING_PAYLOAD, FIELDS, FIELD, ANCESTORS, CHANGES, CHANGED_FIELDS }
