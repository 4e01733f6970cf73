'use strict'

// Descriptions of records that are not items, for the page and for `view --text`.

/** @import { Fields, MaybeFields } from './items.js' */
/**
 * @typedef {(value: unknown) => string} Briefly formats a value of the file
 * @typedef {(path: string) => number} Left the number of elements that are missing from a list
 */

/** @type {Record<string, (payload: Fields, briefly: Briefly, left: Left) => [name: string, text: string]>} */
const NOTES = {
  session_start: ({ provider, model, cwd }) => [
    'The session began',
    [provider, model, cwd].filter((part) => typeof part === 'string' && part !== '').join(' · '),
  ],
  provider_switch: ({ provider, model }) => [
    'Switched to',
    [provider, model].filter((part) => typeof part === 'string').join(' · '),
  ],
  directories_changed: ({ directories }, briefly) => [
    'Directories',
    Array.isArray(directories) ? directories.map((each) => briefly(each)).join(', ') : briefly(directories),
  ],
  session_event: ({ severity, message }, briefly) => [
    typeof severity === 'string' ? severity : 'event',
    typeof message === 'string' ? message : briefly(message),
  ],
  session_metadata: ({ title }, briefly) => ['Title', title === null ? '(none)' : briefly(title)],
  session_named: ({ name }, briefly) => ['Named', name === null ? '(none)' : briefly(name)],
  checkpoint_created: ({ name, checkpointId }, briefly) => [
    'Checkpoint',
    `${briefly(name)} (${briefly(checkpointId)})`,
  ],
  checkpoint_renamed: ({ name, checkpointId }, briefly) => [
    'Checkpoint renamed',
    `${briefly(name)} (${briefly(checkpointId)})`,
  ],
  checkpoint_deleted: ({ checkpointId }, briefly) => ['Checkpoint deleted', briefly(checkpointId)],
  density_mutation: ({ removedSeqs, replacements }, briefly, left) => [
    'Edited',
    editText(removedSeqs, replacements, left),
  ],
  synthetic_insert: ({ afterSeq }, briefly) => ['Inserted', `after key ${briefly(afterSeq)}`],
  chronology_bind: ({ rowIndex, chronology, content }, briefly) => [
    'Bound',
    `item ${briefly(rowIndex)} to key ${briefly(/** @type {MaybeFields} */ (chronology)?.seq)}${content === undefined ? '' : ', with other content'}`,
  ],
  semantic_media_purge: ({ history }, briefly, left) => [
    'Purged media',
    `history of ${items(history, left('/history'))}`,
  ],
  compression_detail: ({ fromSeq, toSeq, itemsCompressed }, briefly) => [
    'Compression',
    `of keys ${briefly(fromSeq)} to ${briefly(toSeq)}, ${briefly(itemsCompressed)} items`,
  ],
  session_forked: ({ parentSessionId, checkpointName }, briefly) => [
    'Forked',
    `from ${briefly(parentSessionId)} at ${briefly(checkpointName)}`,
  ],
}

/** How many keys of an edit are listed. */
const MAX_KEYS = 20

/** @type {(removed: unknown, replacements: unknown, left: Left) => string} */
function editText(removed, replacements, left) {
  const parts = [
    `replaced ${items(replacements, left('/replacements'))}`,
    `removed ${lengthIn(removed) + left('/removedSeqs')}`,
  ]
  const keys = [...listIn(replacements).map((each) => each?.replacedSeq), ...listIn(removed)].filter(
    (key) => typeof key === 'number',
  )
  const all = [...new Set(keys)].sort((a, b) => a - b)
  if (all.length === 0) return parts.join(', ')
  const isShortened = all.length > MAX_KEYS || left('/replacements') + left('/removedSeqs') > 0
  return `${parts.join(', ')} (${all.length === 1 ? 'key' : 'keys'} ${all.slice(0, MAX_KEYS).join(', ')}${isShortened ? ', …' : ''})`
}

/** @type {(value: unknown) => MaybeFields[]} */
const listIn = (value) => (Array.isArray(value) ? value : [])
/** @param {unknown} value */
const lengthIn = (value) => listIn(value).length

/** @type {(list: unknown, more: number) => string} */
function items(list, more) {
  const count = lengthIn(list) + more
  return `${count} ${count === 1 ? 'item' : 'items'}`
}

/** What an event of a type did to an item that it took out of the history. @type {Record<string, string>} */
const REMOVED = {
  rewind: 'rewound',
  compressed: 'compressed',
  density_mutation: 'edited',
  chronology_bind: 'replaced',
  semantic_media_purge: 'purged',
}
/** @param {string} type */
const removalWord = (type) => (Object.hasOwn(REMOVED, type) ? REMOVED[type] : 'removed')

/** Returns what happened, and the details. @type {(type: string, payload: unknown, briefly: Briefly, left?: Left) => [name: string, text: string]} */
function noteText(type, payload, briefly, left = () => 0) {
  const isKnown = typeof payload === 'object' && payload !== null && Object.hasOwn(NOTES, type)
  return isKnown ? NOTES[type](/** @type {Fields} */ (payload), briefly, left) : [type, briefly(payload)]
}

module.exports = { noteText, removalWord }
