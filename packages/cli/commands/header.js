'use strict'

const { EXIT, Complaint, failureOf } = require('../complaint.js')
const { unlessAborted } = require('../interruption.js')
const { printable } = require('../safe-text.js')
const { moment } = require('../quantities.js')
const { sourceAt, withFiles } = require('../source.js')

/** @import { SessionStartPayload } from 'session-tape' */
/** @import { Colours } from '../colours.js' */
/** @import { Context } from '../context.js' */
/** @import { Define } from '../program.js' */
/** @import { Files } from '../source.js' */

/** @typedef {{ runId?: string, workflow?: { name?: string, version?: string }, scheduler?: string }} RunHeader */

/**
 * @typedef {object} Entry
 * @property {string} path
 * @property {'session' | 'run' | null} kind
 * @property {Partial<SessionStartPayload> & RunHeader | null} header
 * @property {string} [reason] why there is no header
 * @property {number} [exitCode] that of an entry without a header
 * @property {number} [fileSize]
 * @property {Date} [lastModified]
 * @property {true} [archived]
 * @property {number} [archivedBytes]
 */

const EXAMPLES = `
Examples:
  session-tape header chats                  # every session in a directory, last modified first
  session-tape header a.jsonl b.jsonl --json
  session-tape header weekly.cath-bundle

With --json the result is an array of {path, kind, header}; of a directory's files also fileSize and lastModified, and of archives archived
and archivedBytes. header is null where there is none, with the reason. The exit code is 1 if a file has no header, 2 if one can't be read.
`

/** @type {Define} */
function define(program, does) {
  program
    .command('header')
    .summary('how recordings begin')
    .description(
      "Shows the beginning of sessions and runs, reading nothing else: a session's session_start, a run's RunCreated.",
    )
    .argument('<path...>', 'sessions, runs, bundles, directories of sessions')
    .option('--json', 'the result as JSON')
    .addHelpText('after', EXAMPLES)
    .action(does(headers))
}

/** @type {(context: Context, args: [string[]]) => Promise<number>} */
async function headers(context, [paths]) {
  /** @type {Entry[]} */
  const entries = []
  // Sequential, so that a thousand paths do not open a thousand files.
  for (const each of paths) {
    context.signal.throwIfAborted()
    entries.push(...(await entriesAt(context, each)))
  }
  const exitCode = Math.max(EXIT.fine, ...entries.map(exitCodeOf))
  await context.print(
    entries.map(({ exitCode: _, ...entry }) => entry),
    text,
  )
  return exitCode
}

/** @param {Entry} entry */
const exitCodeOf = ({ header, exitCode = EXIT.damaged }) => (header === null ? exitCode : EXIT.fine)

/** @type {(context: Context, given: string) => Promise<Entry[]>} */
async function entriesAt(context, given) {
  try {
    const source = await sourceAt(context, given)
    if (source.kind === 'directory') return await inDirectory(context, given)
    return [await withFiles(context, source, (files) => entryOf(context, files))]
  } catch (error) {
    if (error === context.signal.reason) throw error
    const { exitCode = EXIT.couldNot, message } = failureOf(error)
    return [{ path: given, kind: null, header: null, reason: message, exitCode }]
  }
}

/** @type {(context: Context, directory: string) => Promise<Entry[]>} */
async function inDirectory({ tape, signal }, directory) {
  const { sessions, unreadable } = await unlessAborted(tape.listSessions(directory), signal)
  const failed = unreadable.find(({ filePath }) => filePath === directory)
  if (failed) throw new Complaint('Unreadable', failed.reason, { path: directory })
  return [
    ...sessions.map(
      /** @returns {Entry} */ ({ filePath, fileSize, lastModified, archived, bytes: _, archivedBytes, ...header }) => {
        return {
          path: filePath,
          kind: 'session',
          header,
          fileSize,
          lastModified,
          ...(archived && { archived, archivedBytes }),
        }
      },
    ),
    ...unreadable.map(
      /** @returns {Entry} */ ({ filePath, reason }) => ({ path: filePath, kind: 'session', header: null, reason }),
    ),
  ]
}

/** @type {(context: Context, source: Files) => Promise<Entry>} */
async function entryOf(context, source) {
  const { path: given, kind } = source
  const header = kind === 'run' ? await runHeader(context, source) : await context.tape.readSessionHeader(source.log)
  return {
    path: given,
    kind,
    header,
    ...(header === null && { reason: kind === 'run' ? 'no RunCreated' : 'no session_start' }),
  }
}

/**
 * The payload of RunCreated; null for a partial bundle, whose log begins after a snapshot.
 *
 * @type {(context: Context, source: Files) => Promise<RunHeader | null>}
 */
async function runHeader({ tape, signal }, { at }) {
  const found = tape.readRunEvents(at, { to: 0 })
  try {
    const { value } = await unlessAborted(found.next(), signal)
    return value?.kind === 'RunCreated' ? value.payload : null
  } finally {
    await found.return()
  }
}

/** @type {(entries: Entry[], colour: Colours) => string} */
function text(entries, colour) {
  return entries.map((entry) => `${line(entry, colour)}\n`).join('')
}

/** @type {(entry: Entry, colour: Colours) => string} */
function line({ path: given, kind, header, reason }, colour) {
  const file = colour.dim(printable(given, 1000))
  if (header === null) return `${colour.yellow('no header'.padEnd(24))}${file}  ${printable(reason)}`
  return `${kind === 'run' ? runText(header, colour) : sessionText(header, colour)}  ${file}`
}

/** @type {(header: Partial<SessionStartPayload>, colour: Colours) => string} */
function sessionText({ startTime, sessionId, provider, model }, colour) {
  const names = [provider, model].map((name) => printable(name || '?', 60)).join(' / ')
  return `${(moment(startTime) ?? 'no time').padEnd(24)}${colour.cyan(printable(sessionId ?? '?', 60))}  ${names}`
}

/** @type {(header: RunHeader, colour: Colours) => string} */
function runText({ runId, workflow, scheduler }, colour) {
  const name = [workflow?.name, workflow?.version].map((part) => printable(part ?? '?', 60)).join(' ')
  return `${'run'.padEnd(24)}${colour.cyan(printable(runId ?? '?', 60))}  ${name}, ${printable(scheduler ?? '?', 40)}`
}

module.exports = { define }
