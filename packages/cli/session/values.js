'use strict'

// Tests of values in records. They come from a file and are untrusted.

const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value)
const isName = (value) => typeof value === 'string' && value !== ''

/** Whether the `error` of a tool's response means that the call failed. */
const isFailure = (error) => error !== undefined && error !== null && error !== '' && error !== false

module.exports = { isObject, isName, isFailure }
