'use strict'

// The data of a session's page, compacted: records are arrays, and names are listed once.

const { islandJson, islandOfLines } = require('../island.js')
const { duration, fileSize, moment } = require('../../quantities.js')
const { oneLine } = require('../excerpt.js')
const { packagesOf } = require('../document.js')
const { totalsOf } = require('./totals.js')

/** @import { Row } from './conversation.js' */
/** @import { Model } from './gather.js' */
/** @import { Call } from './tool-calls.js' */
/** @import { Totals } from './totals.js' */
/** @typedef {{ path: string }} Served what the page needs to send requests to its server */

/** The libraries of the page's script. */
const LIBRARIES = ['markdown', 'highlight', 'sanitize']

/** @param {Model} model @param {{ served?: Served | null }} [more] */
function pageData(model, more = {}) {
  const { conversation, bounds, given } = model
  const rows = conversation.rows.slice(-bounds.rows)
  const data = {
    v: 1,
    title: titleOf(model),
    given,
    leftOut: conversation.rows.length - rows.length,
    excerptsBefore: model.excerptsBefore,
    seal: model.seal ?? null,
    libraries: packagesOf(LIBRARIES),
    ...rowsData(rows),
    calls: conversation.calls.all.map(callData),
    ...summaryOf(model),
    ...more,
  }
  return { title: data.title, data, islands: islandsOf(data, rows, conversation.images.urls) }
}

/** @type {(data: unknown, rows: Row[], images: string[]) => [id: string, json: string][]} */
const islandsOf = (data, rows, images) => [
  ['page-data', islandJson(data)],
  ['payloads', islandOfLines(rows.map(({ payload }) => payload))],
  ['images', islandOfLines(images.map(islandJson))],
]

/** @param {Model} model */
function titleOf({ metadata, sessionName, given }) {
  const named = [metadata?.title, sessionName].find((name) => typeof name === 'string' && name.trim() !== '')
  return named === undefined
    ? `Session ${oneLine(metadata?.sessionId?.slice(0, 12) ?? given)}`
    : oneLine(/** @type {string} */ (named))
}

/** @param {Row[]} rows */
function rowsData(rows) {
  const types = new Names()
  const speakers = new Names()
  return {
    rows: rows.map(({ line, type, speaker, at, flags, removedBy, size, gone }) => [
      line,
      types.index(type),
      speakers.index(speaker),
      at,
      flags,
      removedBy,
      size,
      ...(gone > 0 ? [gone] : []),
    ]),
    types: types.list,
    speakers: speakers.list,
  }
}

/** @param {Call} call */
const callData = ({ name, line, block, responseLine, responseBlock, hasFailed, ms }) => [
  oneLine(name),
  line,
  block,
  responseLine,
  responseBlock,
  hasFailed ? 1 : 0,
  ms,
]

/** A list of distinct names. */
class Names {
  /** @type {string[]} */
  list = []
  /** @type {Map<string, number>} */
  #indices = new Map()

  /** @param {string} name */
  index(name) {
    if (!this.#indices.has(name)) this.#indices.set(name, this.list.push(name) - 1)
    return this.#indices.get(name)
  }
}

/** The data that can change while a session is recorded, except for its rows. @param {Model} model */
function summaryOf(model) {
  const { conversation, error, warnings, checkpoints, sequenceCorrupt = false, historyLength, size, isForeign } = model
  const totals = totalsOf(conversation)
  return {
    facts: factsOf(model, totals),
    totals,
    error,
    // The lines that are shown of another program's session are not those of its file, which the warnings number.
    warnings: warnings.map((text) => (isForeign ? [0, oneLine(text)] : warningData(text))),
    checkpoints: checkpoints
      .filter(({ deleted }) => !deleted)
      .map(({ checkpointId, name, sequence }) => [oneLine(checkpointId), oneLine(name), sequence]),
    sequenceCorrupt,
    history: historyLength ?? totals.history,
    size,
  }
}

/** Splits a warning into its line number, 0 if it has none, and its text. @type {(text: string) => [line: number, text: string]} */
function warningData(text) {
  const found = /^Line (\d+): (.*)$/s.exec(text) ?? /^session_start at line (\d+)/.exec(text)
  return [found ? Number(found[1]) : 0, oneLine(found?.[2] ?? text)]
}

/** @type {(model: Model, totals: Totals) => [name: string, value: string][]} */
function factsOf({ metadata, sessionName, ancestry, size }, { first, last, items, history }) {
  /** @type {[string, string][]} */
  const facts = []
  /** @type {(name: string, value: unknown) => void} */
  const add = (name, value) =>
    value === undefined || value === null || value === '' ? undefined : facts.push([name, oneLine(String(value))])
  add('Model', metadata && [metadata.provider, metadata.model].filter(Boolean).join(' · '))
  add('Name', sessionName)
  add('Began', moment(metadata?.startTime) ?? (first === null ? undefined : moment(new Date(first).toISOString())))
  add('Lasted', first === null || last === null ? undefined : duration(Math.max(last - first, 0)))
  add('Items', `${items.toLocaleString('en-US')}, ${history.toLocaleString('en-US')} in the history now`)
  add('Directories', metadata?.workspaceDirs?.join(', '))
  add('Project', metadata?.projectHash?.slice(0, 16))
  add('Forked from', ancestry && `${ancestry.parentSessionId} at ${ancestry.checkpointName}`)
  add('Size', fileSize(size))
  return facts
}

module.exports = { pageData, LIBRARIES }
