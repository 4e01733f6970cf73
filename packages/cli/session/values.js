'use strict'

// Tests of values in records. They come from a file and are untrusted.

const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value)
const isName = (value) => typeof value === 'string' && value !== ''

module.exports = { isObject, isName }
