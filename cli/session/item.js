'use strict'

// What a replay accepts as an item of the history, and as fields of the events that change it. The values come from a file and are untrusted.

const SPEAKERS = ['human', 'ai', 'tool']

const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value)
const isName = (value) => typeof value === 'string' && value !== ''

/** @param {boolean} strict whether the replay is strict */
const isItem = (item, strict = false) =>
  isObject(item) && (strict ? SPEAKERS.includes(item.speaker) && Array.isArray(item.blocks) : isName(item.speaker))

/** The number of items that a `rewind` removes, or null if its payload does not fit. A fraction is rounded up. */
function removedItems({ itemsRemoved }) {
  return typeof itemsRemoved === 'number' && itemsRemoved >= 0 ? Math.ceil(itemsRemoved) : null
}

/** Whether the `error` of a tool's response means that the call failed. */
const isFailure = (error) => error !== undefined && error !== null && error !== '' && error !== false

module.exports = { isObject, isName, isItem, removedItems, isFailure }
