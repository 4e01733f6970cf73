'use strict'

const { EXIT, complaintOf } = require('../complaint.js')
const { fileSize } = require('../quantities.js')
const { printable } = require('../safe-text.js')

/** @import { ArchivedSession } from 'session-tape' */
/** @import { Colours } from '../colours.js' */
/** @import { Context } from '../context.js' */
/** @import { Define } from '../program.js' */
/** @typedef {{ filePath: string, error: { code: string, message: string }, bytes?: undefined, archivedBytes?: undefined }} NotDone */
/** @typedef {(ArchivedSession & { error?: undefined }) | NotDone} Result */

const ARCHIVE_EXAMPLES = `
Examples:
  session-tape archive chats/session-2026-02-11T08-41-a1b2c3d4.jsonl
  session-tape archive chats/*.jsonl

Every command reads an archived session as before; zstd -d restores it too. A session in use is left alone. The exit code is 2 if one was not
archived.
`

const RESTORE_EXAMPLES = `
Examples:
  session-tape restore chats/session-2026-02-11T08-41-a1b2c3d4.jsonl.zst

What writes to a session restores it by itself. The exit code is 2 if one was not restored.
`

/** @type {Define} */
function define(program, does) {
  program
    .command('archive')
    .summary('compress sessions in place')
    .description('Archives sessions: replaces NAME.jsonl by NAME.jsonl.zst, usually a tenth of the size.')
    .argument('<path...>', 'session files')
    .option('--json', 'the result as JSON')
    .addHelpText('after', ARCHIVE_EXAMPLES)
    .action(
      does((context, /** @type {[string[]]} */ [paths]) =>
        convert(context, paths, 'archiving', context.tape.archiveSession),
      ),
    )
  program
    .command('restore')
    .summary('restore archived sessions')
    .description('Restores archived sessions: replaces NAME.jsonl.zst by NAME.jsonl.')
    .argument('<path...>', 'archived sessions')
    .option('--json', 'the result as JSON')
    .addHelpText('after', RESTORE_EXAMPLES)
    .action(
      does((context, /** @type {[string[]]} */ [paths]) =>
        convert(context, paths, 'restoring', context.tape.restoreSession),
      ),
    )
}

/**
 * Converts the sessions one after the other. A failure does not stop the others.
 *
 * @type {(context: Context, paths: string[], task: string, work: Context['tape']['archiveSession']) => Promise<number>}
 */
async function convert(context, paths, task, work) {
  /** @type {Result[]} */
  const results = []
  for (const given of paths) {
    context.signal.throwIfAborted()
    results.push(
      await context.during(task, (more) => work(given, more)).catch((error) => failed(context, given, error)),
    )
  }
  await context.print(results, (_, colour) => results.map((result) => `${line(result, colour)}\n`).join(''))
  return results.some(({ error }) => error !== undefined) ? EXIT.couldNot : EXIT.fine
}

/** @type {(context: Context, given: string, error: unknown) => NotDone} */
function failed({ signal }, given, error) {
  if (error === signal.reason) throw error
  const { code, message } = complaintOf(error)
  return { filePath: given, error: { code, message } }
}

/** @type {(result: Result, colour: Colours) => string} */
function line({ filePath, bytes, archivedBytes, error }, colour) {
  const file = printable(filePath, 1000)
  if (error !== undefined) return `${colour.red('✗')} ${file}  ${printable(error.message, 500)}`
  const sizes = archivedBytes === null ? fileSize(bytes) : `${fileSize(bytes)}, archived ${fileSize(archivedBytes)}`
  return `${colour.green('✓')} ${file}  ${colour.dim(sizes)}`
}

module.exports = { define }
