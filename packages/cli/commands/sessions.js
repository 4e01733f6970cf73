'use strict'

const path = require('node:path')
const { Complaint, EXIT } = require('../complaint.js')
const { unlessAborted } = require('../interruption.js')
const { listingPage } = require('../session/listing.js')
const { mendingHint } = require('../session/mending.js')
const { expectDirectory } = require('../source.js')

/** @import { SessionOverview, SessionPreview, SkippedSession } from 'session-tape' */
/** @import { Context } from '../context.js' */
/** @import { Define } from '../program.js' */

/**
 * @typedef {Omit<SessionOverview, 'lastModified'> & SessionPreview & { lastModified: string, inUse: boolean }} Detailed
 */

const EXAMPLES = `
Examples:
  session-tape sessions chats
  session-tape sessions chats --project 3f2732bc6614671c
  session-tape sessions chats --json | jq '.sessions[] | select(.inUse) | .sessionId'

Reads every session of a directory to its end, and writes nothing. The exit code is 1 if one does not replay, or its seq does not always
ascend, 2 if the directory can't be read.
`

/** The number of files that are read concurrently. */
const AT_ONCE = 8

/** @type {Define} */
function define(program, does) {
  program
    .command('sessions')
    .summary('the sessions of a directory, newest first')
    .description(
      'Lists the sessions of a directory, last modified first: what they are called, how they begin, whether they are in use.',
    )
    .argument('<directory>', 'directory of sessions')
    .option('--project <hash>', 'only those of this project')
    .option('--json', 'the result as JSON')
    .addHelpText('after', EXAMPLES)
    .action(does(sessions))
}

/** @type {(context: Context, args: [string], options: { project?: string }) => Promise<number>} */
async function sessions(context, [directory], { project }) {
  await expectDirectory(directory)
  const described = await context.during('reading', (more) =>
    context.tape.describeSessions(directory, { projectHash: project, ...more }),
  )
  const failed = described.unreadable.find(({ filePath }) => filePath === directory)
  if (failed) throw new Complaint('Unreadable', failed.reason, { path: directory })
  const found = {
    sessions: await withDetails(context, directory, described.sessions),
    unreadable: described.unreadable,
  }
  const positions = context.json ? null : await positionsIn(context, directory, project)
  const mending = context.json ? new Map() : await mendingOf(context, found.unreadable)
  await context.print(found, (_, colour, width) =>
    listingPage({ directory, project, positions, mending, ...found }, colour, width),
  )
  const isFine = found.unreadable.length === 0 && found.sessions.every(({ sequenceCorrupt }) => !sequenceCorrupt)
  return isFine ? EXIT.fine : EXIT.damaged
}

/**
 * Resolves to the sessions, each with its preview and whether it is in use.
 *
 * @type {(context: Context, directory: string, described: SessionOverview[]) => Promise<Detailed[]>}
 */
async function withDetails({ tape, signal }, directory, described) {
  /** @type {Detailed[]} */
  const detailed = []
  let next = 0
  const lookInto = async () => {
    while (next < described.length) {
      const at = next++
      const { filePath, sessionId, lastModified } = described[at]
      const [preview, inUse] = await unlessAborted(
        Promise.all([tape.readSessionPreview(filePath, { signal }), isInUse(tape, directory, sessionId)]),
        signal,
      )
      const { firstUserMessage, hasContent } = preview
      // A string, because values that are nested very deeply are written by a function that does not support dates.
      detailed[at] = { ...described[at], lastModified: lastModified.toISOString(), firstUserMessage, hasContent, inUse }
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, lookInto))
  return detailed
}

/**
 * Whether a session is in use. An id that can't be the name of a lock has no lock.
 *
 * @type {(tape: Context['tape'], directory: string, sessionId: string) => Promise<boolean>}
 */
async function isInUse(tape, directory, sessionId) {
  try {
    return await tape.isSessionLocked(directory, sessionId)
  } catch {
    return false
  }
}

/** The number of damaged files that are searched for records. */
const MAX_MENDED = 5

/**
 * What repair would recover of the first damaged files.
 *
 * @type {(context: Context, unreadable: SkippedSession[]) => Promise<Map<string, string | null>>}
 */
async function mendingOf(context, unreadable) {
  const mending = new Map()
  for (const { filePath } of unreadable.slice(0, MAX_MENDED))
    mending.set(filePath, await mendingHint(context, filePath))
  return mending
}

/**
 * Maps each file to its position as `resumeSession` counts: from 1, among the files that recorders create, including those that do not replay.
 *
 * @type {(context: Context, directory: string, projectHash: string | undefined) => Promise<Map<string, number>>}
 */
async function positionsIn({ tape, signal }, directory, projectHash) {
  const listed = await unlessAborted(tape.listSessions(directory, { projectHash }), signal)
  const recorded = listed.sessions.filter(({ filePath }) => path.basename(filePath).startsWith('session-'))
  return new Map(recorded.map(({ filePath }, i) => [filePath, i + 1]))
}

module.exports = { define }
