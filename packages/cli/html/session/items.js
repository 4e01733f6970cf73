'use strict'

// Where the items of records are, for the page and for the command line.

/**
 * @typedef {Record<string, unknown>} Fields an object in a file, whose members may be anything
 * @typedef {Fields | null | undefined} MaybeFields what may be an object in a file; of other values no member is read
 */

/** The types of events that edit the history through keys or indices, or replace it. @type {unknown[]} */
const EDITS = ['density_mutation', 'synthetic_insert', 'chronology_bind', 'semantic_media_purge']

/**
 * The places of the items in payloads, by the type of the event: JSON pointers, and what edits do with the items.
 * @type {Record<string, (payload: Fields) => [item: unknown, path: string, what: string][]>}
 */
const PLACES = {
  content: (payload) => [[payload.content, '/content', '']],
  compressed: (payload) => [[payload.summary, '/summary', '']],
  density_mutation: ({ replacements }) =>
    elementsOf(replacements).map((each, at) => [
      each?.replacement,
      `/replacements/${at}/replacement`,
      `in place of key ${numberIn(each?.replacedSeq)}`,
    ]),
  synthetic_insert: (payload) => [[payload.content, '/content', 'inserted']],
  chronology_bind: ({ rowIndex, content }) => [[content, '/content', `in place of item ${numberIn(rowIndex)}`]],
  semantic_media_purge: ({ history }) =>
    elementsOf(history).map((item, at) => [item, `/history/${at}`, 'in the new history']),
}

/** @type {(value: unknown) => MaybeFields[]} */
const elementsOf = (value) => (Array.isArray(value) ? value : [])
/** @param {unknown} value */
const numberIn = (value) => (typeof value === 'number' ? value : '?')
/** @param {unknown} value @returns {value is Fields} */
const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value)

/**
 * The items in the payload of an event, valid or not.
 *
 * @param {unknown} type
 * @param {unknown} payload
 * @returns {{ item: Fields, path: string, what: string }[]} `path`: the JSON pointer of the item in the payload; `what`: what an edit does with it
 */
function itemsOf(type, payload) {
  if (!isObject(payload) || typeof type !== 'string' || !Object.hasOwn(PLACES, type)) return []
  return PLACES[type](payload)
    .filter(([item]) => isObject(item))
    .map(([item, path, what]) => ({ item: /** @type {Fields} */ (item), path, what }))
}

/** The blocks of an item. @type {(item: { blocks?: unknown }) => MaybeFields[]} */
const blocksOf = ({ blocks }) => elementsOf(blocks)

/** Whether the `error` of a tool's response means that the call failed. @param {unknown} error */
const isFailure = (error) => error !== undefined && error !== null && error !== '' && error !== false

/** What the recording says about media, in this order: texts, as the names of their keys differ from program to program. */
const CAPTIONS = ['filename', 'fileName', 'name', 'title', 'caption', 'alt']

/** The file name, the caption and the like of media. @param {Fields} block */
const captionsOf = (block) =>
  /** @type {string[]} */ (CAPTIONS.map((key) => block[key]).filter((text) => typeof text === 'string' && text !== ''))

/** The bits of a row's flags. */
const FLAGS = { failed: 1, inHistory: 2, damaged: 4, tooLong: 8, item: 16, withoutEffect: 32 }

module.exports = { EDITS, FLAGS, itemsOf, blocksOf, captionsOf, isFailure }
