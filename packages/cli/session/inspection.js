'use strict'

const { mendingHint } = require('./mending.js')
const { sizeOf } = require('../source.js')
const { foreignFacts } = require('./foreign.js')
const { opened } = require('./replay.js')
const { soundness } = require('./soundness.js')
const { tallyOf } = require('./tally.js')

/** @import { SessionHandle, SessionStartPayload } from 'session-tape' */
/** @import { Context } from '../context.js' */
/** @import { EventCounts } from '../run/inspection.js' */
/** @import { Files } from '../source.js' */
/** @import { ForeignFacts } from './foreign.js' */
/** @import { NotASession } from './replay.js' */
/** @import { Tally } from './tally.js' */

/**
 * What a replay says, or why it failed.
 *
 * @typedef {'metadata' | 'eventCount' | 'lastSeq' | 'historyLength' | 'sequenceCorrupt' | 'checkpoints' | 'sessionName' | 'ancestry'} ReplayFact
 * @typedef {Partial<Pick<SessionHandle, ReplayFact>> & { error?: string, warnings: string[] }} Replayed
 */

/** The images to which a session refers: references, and objects of the store, each once. @typedef {{ references: number, objects: number, bytes: number }} Images */

/**
 * Of a file of several conversations, only its size and what `foreignFacts` says.
 *
 * @typedef {object} OwnFacts
 * @property {number} size of the file, in bytes
 * @property {SessionStartPayload | null} [header]
 * @property {EventCounts} [events]
 * @property {Record<string, number>} [edits] of the history, by type; undefined if there are none
 * @property {Images} [images] to which it refers; undefined if there are none
 * @property {string[]} [damage]
 * @property {string[]} [notes]
 * @property {string} [repair] what a repair would recover
 *
 * @typedef {OwnFacts & Omit<Replayed, 'eventCount' | 'warnings'> & Partial<ForeignFacts & ReturnType<typeof talkOf>>} SessionFacts
 */

/** Collects facts about a session. @type {(context: Context, source: Files) => Promise<SessionFacts>} */
async function inspectSession(context, source) {
  const size = await sizeOf(source.log)
  /** @type {Partial<ForeignFacts>} */
  const foreign = source.form === 'foreign' ? await foreignFacts(context, source) : {}
  // Nothing is wrong with a file of several conversations.
  if (foreign.receipt === null) return { size, ...foreign }
  const replayed = await replay(context, source)
  const progress = context.progress('counting')
  const tally = await tallyOf(context.tape, source.log, { size, signal: context.signal, progress })
  const { warnings, eventCount, ...rest } = replayed
  const sound = replayed.error === undefined ? soundness(warnings, tally) : { damage: warnings, notes: [] }
  const isDamaged = replayed.error !== undefined || sound.damage.length > 0
  const repair = isDamaged && source.form === 'file' ? await mendingHint(context, source.log) : null
  return {
    size,
    header: await context.tape.readSessionHeader(source.log),
    ...foreign,
    ...(source.form === 'foreign' ? talkOf(tally) : {}),
    ...rest,
    events: eventsOf(tally, eventCount),
    ...(tally.edits.size === 0 ? {} : { edits: Object.fromEntries(tally.edits) }),
    ...(source.form === 'foreign' ? {} : await imagesOf(context, source.log)),
    ...sound,
    ...(repair === null ? {} : { repair }),
  }
}

/** @type {(context: Context, log: string) => Promise<{ images?: Images }>} */
async function imagesOf({ tape, signal }, log) {
  let references = 0
  /** @type {Map<string, number>} */
  const sizes = new Map()
  for await (const { contentId, role, byteLength } of tape.readSessionMedia(log, { signal })) {
    if (role === 'selected') references++
    sizes.set(contentId, byteLength)
  }
  return references === 0
    ? {}
    : { images: { references, objects: sizes.size, bytes: [...sizes.values()].reduce((sum, n) => sum + n, 0) } }
}

/** @type {(context: Context, source: Files) => Promise<Replayed>} */
async function replay(context, source) {
  try {
    const session = await opened(context, source)
    session.close()
    const {
      metadata,
      eventCount,
      lastSeq,
      historyLength,
      warnings,
      sequenceCorrupt,
      checkpoints,
      sessionName,
      ancestry,
    } = session
    return {
      metadata,
      eventCount,
      lastSeq,
      historyLength,
      warnings,
      sequenceCorrupt,
      checkpoints,
      sessionName,
      ancestry,
    }
  } catch (error) {
    const { code, fields } = /** @type {NotASession} */ (error)
    if (code !== 'NotASession') throw error
    return { error: fields.error, warnings: fields.warnings }
  }
}

/**
 * Who said how much, which models and tools, and the tokens that it took: what a session of another program is looked at for.
 *
 * @param {Tally} tally
 */
function talkOf({ turns, tools, usage, startedWith, switches }) {
  const names = /** @type {string[]} */ (
    [startedWith, ...switches].map((each) => each?.model).filter((name) => name && name !== 'unknown')
  )
  return { turns: Object.fromEntries(turns), models: [...new Set(names)], tools: Object.fromEntries(tools), usage }
}

/** @type {(tally: Tally, count?: number) => EventCounts} */
function eventsOf({ types, firstTs, lastTs }, count = 0) {
  return { count, byKind: Object.fromEntries(types), firstTime: firstTs, lastTime: lastTs }
}

module.exports = { inspectSession }
