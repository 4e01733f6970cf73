'use strict'

// The content of a session's page, compacted: records are arrays, and names are listed once.

const { islandJson, islandOfLines } = require('../island.js')
const { duration, fileSize, moment } = require('../../quantities.js')
const { oneLine } = require('../excerpt.js')
const { Names } = require('../names.js')
const { totalsOf } = require('./totals.js')

/** @import { Content } from '../document.js' */
/** @import { Model } from './gather.js' */
/** @import { Totals } from './totals.js' */

/** @type {(model: Model) => Content} */
function contentOf(model) {
  const { conversation, bounds, given, error, warnings, checkpoints, isForeign } = model
  const rows = conversation.rows.slice(-bounds.rows)
  const totals = totalsOf(conversation)
  const [types, speakers] = [new Names(), new Names()]
  const data = {
    title: titleOf(model),
    given,
    leftOut: conversation.rows.length - rows.length,
    excerptsBefore: model.excerptsBefore,
    seal: model.seal ?? null,
    rows: rows.map(({ line, type, speaker, at, flags, removedBy, size: bytes, gone }) => {
      const fields = [line, types.numberOf(type), speakers.numberOf(speaker), at, flags, removedBy, bytes]
      return gone > 0 ? [...fields, gone] : fields
    }),
    types: types.list,
    speakers: speakers.list,
    calls: conversation.calls.all.map(({ name, line, block, responseLine, responseBlock, hasFailed, ms }) => {
      return [oneLine(name), line, block, responseLine, responseBlock, hasFailed ? 1 : 0, ms]
    }),
    facts: factsOf(model, totals),
    totals,
    error,
    // The lines that are shown of another program's session are not those of its file, which the warnings number.
    warnings: warnings.map((text) => (isForeign ? [0, oneLine(text)] : warningData(text))),
    checkpoints: checkpoints
      .filter(({ deleted }) => !deleted)
      .map(({ checkpointId, name, sequence }) => [oneLine(checkpointId), oneLine(name), sequence]),
    sequenceCorrupt: model.sequenceCorrupt ?? false,
  }
  return {
    kind: 'session',
    summary: `${data.title}: ${data.facts.map(([name, value]) => `${name} ${value}`).join(', ')}.`,
    data,
    islands: [
      ['payloads', islandOfLines(rows.map(({ payload }) => payload))],
      ['images', islandOfLines(conversation.images.urls.map(islandJson))],
    ],
  }
}

/** @param {Model} model */
function titleOf({ metadata, sessionName, given }) {
  const named = [metadata?.title, sessionName].find((name) => typeof name === 'string' && name.trim() !== '')
  return oneLine(named ?? `Session ${metadata?.sessionId?.slice(0, 12) ?? given}`)
}

/** Splits a warning into its line number, 0 if it has none, and its text. @type {(text: string) => [line: number, text: string]} */
function warningData(text) {
  const found = /^Line (\d+): (.*)$/s.exec(text) ?? /^session_start at line (\d+)/.exec(text)
  return [found ? Number(found[1]) : 0, oneLine(found?.[2] ?? text)]
}

/** @type {(model: Model, totals: Totals) => [name: string, value: string][]} */
function factsOf({ metadata, sessionName, ancestry, size }, { first, last, items, history }) {
  /** @type {[string, unknown][]} */
  const facts = [
    ['Model', metadata && [metadata.provider, metadata.model].filter(Boolean).join(' · ')],
    ['Name', sessionName],
    ['Began', moment(metadata?.startTime) ?? (first === null ? null : moment(new Date(first).toISOString()))],
    ['Lasted', first === null || last === null ? null : duration(Math.max(last - first, 0))],
    ['Items', `${items.toLocaleString('en-US')}, ${history.toLocaleString('en-US')} in the history now`],
    ['Directories', metadata?.workspaceDirs?.join(', ')],
    ['Project', metadata?.projectHash?.slice(0, 16)],
    ['Forked from', ancestry && `${ancestry.parentSessionId} at ${ancestry.checkpointName}`],
    ['Size', fileSize(size)],
  ]
  return facts
    .filter(([, value]) => value !== undefined && value !== null && value !== '')
    .map(([name, value]) => [name, oneLine(String(value))])
}

module.exports = { contentOf }
