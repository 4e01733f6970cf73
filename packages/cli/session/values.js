'use strict'

// Tests of values in records. They come from a file and are untrusted.

/**
 * A record that was read: any JSON value but null. No member is certain, and one that is not an object has none.
 *
 * @typedef {{ v?: unknown, seq?: unknown, ts?: unknown, type?: unknown, payload?: unknown }} AnyRecord
 *
 * @typedef {import('session-tape').SessionLine & { record: AnyRecord | null }} ReadLine
 */

/** @param {unknown} value @returns {value is Record<string, unknown>} */
const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value)
/** @param {unknown} value @returns {value is string} */
const isName = (value) => typeof value === 'string' && value !== ''

module.exports = { isObject, isName }
