'use strict'

// How much a page holds. Beyond this a browser gets slow. What matters is near the divergence.

/**
 * @typedef {object} Limits
 * @property {number} events a side: more, and only the windows below are kept
 * @property {number} bytes of payloads a side, as JSON: the same
 * @property {number} head events kept from the beginning
 * @property {number} around events kept before the divergence, and as many behind it
 * @property {number} tail events kept from the end
 */

/** @type {Limits} */
const LIMITS = { events: 20_000, bytes: 16 << 20, head: 1000, around: 3000, tail: 1000 }

/** What is kept of one payload: UTF-16 code units of a string, of all there is in it, and levels of nesting. */
const PAYLOAD = { string: 4096, total: 16_384, depth: 40 }

/** The same of the two events that differ: what they hold is what the reader came for. */
const DIVERGING_PAYLOAD = { string: 65_536, total: 131_072, depth: 40 }

/** Of the difference itself. */
const FIELDS = 200
const FIELD = { string: 16_384, total: 32_768, depth: 40 }
const ANCESTORS = 1000

/** Of the changes behind it, with an edit list. */
const CHANGES = 500
const CHANGED_FIELDS = 20

module.exports = { LIMITS, PAYLOAD, DIVERGING_PAYLOAD, FIELDS, FIELD, ANCESTORS, CHANGES, CHANGED_FIELDS }
