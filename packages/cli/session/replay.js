'use strict'

const { Complaint, EXIT, failureOf } = require('../complaint.js')
const { jsonText } = require('../json-text.js')
const { shown, sizeOf } = require('../source.js')
const { escaped } = require('../safe-text.js')
const { mendingHint } = require('./mending.js')
const { sessionSummary } = require('./summary.js')
const { soundness } = require('./soundness.js')
const { countTurn, tallyOf } = require('./tally.js')

/** @import { IContent, ReplayFailure, ReplayOptions, SessionHandle } from 'session-tape' */
/** @import { Context } from '../context.js' */
/** @import { Files, Recording } from '../source.js' */
/** @typedef {Error & { code?: string, fields: { error: string, warnings: string[] } }} NotASession that of a file that is no session */

/** The number of items that are read at a time. */
const PAGE = 100

/**
 * Replays a session and prints a summary, or as JSON the result of `replaySession`.
 *
 * @param {Context} context
 * @param {Files} source
 * @param {{ project?: string, until?: number, strict?: boolean }} options
 */
async function replaySession(context, source, { project, until, strict }) {
  const started = performance.now()
  const session = await opened(context, source, project, { auditTrail: !context.json, throughSeq: until, strict })
  const replayMs = performance.now() - started
  try {
    if (context.json) await printJson(context, source, session)
    else await printPage(context, source, session, { until, strict, replayMs })
  } catch (error) {
    const { code, message } = failureOf(error)
    if (code !== 'ESESSIONREAD') throw error
    throw new Complaint(code, `${shown(source.path)} can't be read to its end: ${message}`, { path: source.path })
  } finally {
    session.close()
  }
}

/**
 * Uses `openSession` and reads the history in parts, so that sessions of any size fit in memory.
 *
 * @type {(context: Context, source: Recording, project?: string, options?: ReplayOptions) => Promise<SessionHandle>}
 */
async function opened(context, source, project, options) {
  const result = await context.during('replaying', (more) =>
    context.tape.openSession(source.at, project, { ...options, ...more }),
  )
  if (result.ok) return result.session
  throw await refusal(context, source, result)
}

/**
 * The error of a failed replay: the file can't be read, belongs to another project, or is damaged.
 *
 * @param {Context} context
 * @param {Recording} source
 * @param {ReplayFailure} failure
 */
async function refusal(context, { path, form }, { error, warnings }) {
  if (error.startsWith('Failed to read file')) return new Complaint('Unreadable', error, { path })
  if (error.startsWith('Failed to read bundle')) return bundleRefusal(path, error)
  if (error.startsWith('Project hash mismatch')) {
    return new Complaint('OtherProject', `${shown(path)} is of another project: ${escaped(error)}`, { path })
  }
  if (/^(Several conversations|No conversation)/.test(error))
    return new Complaint('EFOREIGNMANY', `${shown(path)}: ${escaped(error)}`, { path })
  const details = warnings.slice(0, 3).map((warning) => `\n  ${escaped(warning)}`)
  if (warnings.length > 3) details.push(`\n  … and ${warnings.length - 3} more`)
  const mending = form === 'file' ? await mendingHint(context, path) : null
  if (mending !== null) details.push(`\n  ${mending}`)
  const message = `${shown(path)} is not a session: ${escaped(error)}${details.join('')}`
  return new Complaint('NotASession', message, { exitCode: EXIT.damaged, path, error, warnings })
}

/** Takes the code of a bundle's problem from the end of the message. @param {string} path @param {string} error */
function bundleRefusal(path, error) {
  const code = /\((\w+)\)$/.exec(error)?.[1] ?? 'Unreadable'
  const exitCode = code === 'NotABundle' ? EXIT.couldNot : EXIT.damaged
  return new Complaint(code, escaped(error), { exitCode, path })
}

/** What `replaySession` says of a session beside its history. */
const ABOUT = /** @type {const} */ ([
  'metadata',
  'lastSeq',
  'eventCount',
  'warnings',
  'sessionEvents',
  'sequenceCorrupt',
  'checkpoints',
  'sessionName',
  'ancestry',
  'semanticMediaPurgeFrontier',
  'unknownEvents',
])

/**
 * Prints the result of `replaySession`, with the history at the end, item by item.
 *
 * @type {(context: Context, source: Files, session: SessionHandle) => Promise<void>}
 */
async function printJson({ output, signal }, { path }, session) {
  // Members that the session does not have are `undefined`, so that JSON leaves them out.
  const about = Object.fromEntries(ABOUT.map((name) => [name, session[name]]))
  const rest = jsonText({ kind: 'session', path, ok: true, ...about })
  await output.write(`${rest.slice(0, -1)},"history":[`)
  let separator = ''
  for await (const item of items(session, signal)) {
    if (output.isClosed) return
    await output.write(`${separator}${jsonText(item)}`)
    separator = ','
  }
  await output.write(']}\n')
  await output.flush()
}

/**
 * @param {Context} context
 * @param {Files} source
 * @param {SessionHandle} session
 * @param {{ until?: number, strict?: boolean, replayMs: number }} replayed
 */
async function printPage(context, source, session, { until, strict, replayMs }) {
  const survivors = await countItems(context, session)
  const size = await sizeOf(source.log)
  const progress = context.progress('counting')
  const tally = await tallyOf(context.tape, source.log, {
    size,
    throughSeq: until,
    strict,
    signal: context.signal,
    progress,
  })
  const isDamaged = soundness(session.warnings, tally).damage.length > 0
  const repair = isDamaged && source.form === 'file' ? await mendingHint(context, source.log) : null
  const shownSession = { path: source.path, size, session, survivors, replayMs, tally, repair }
  await context.output.write(sessionSummary(shownSession, context.colour, context.width))
  await context.output.flush()
}

/** Counts the items of the history by speaker. @type {(context: Context, session: SessionHandle) => Promise<Map<string, number>>} */
async function countItems({ signal }, session) {
  /** @type {Map<string, number>} */
  const bySpeaker = new Map()
  for await (const item of items(session, signal)) countTurn(bySpeaker, item)
  return bySpeaker
}

/** @type {(session: SessionHandle, signal: AbortSignal) => AsyncGenerator<IContent>} */
async function* items(session, signal) {
  for (let from = 0; from < session.historyLength; from += PAGE) {
    signal.throwIfAborted()
    yield* await session.items(from, from + PAGE)
  }
}

module.exports = { replaySession, opened, refusal }
