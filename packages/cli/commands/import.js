'use strict'

const { Complaint, usage } = require('../complaint.js')
const { receiptRows } = require('../inspection-page.js')
const { page, row } = require('../page.js')
const { printable } = require('../safe-text.js')
const { sourceAt } = require('../source.js')

/** @import { ImportOptions } from 'session-tape' */
/** @import { Colours } from '../colours.js' */
/** @import { Context } from '../context.js' */
/** @import { Define } from '../program.js' */
/** @typedef {{ to: string, project: string, sessionId?: string, conversation?: string, all?: true, receipt?: string }} Options */
/** @typedef {Awaited<ReturnType<Context['tape']['importSession']>>} Imported */

const EXAMPLES = `
Examples:
  session-tape import ~/.claude/projects/-home-me-app/3c8e51d7.jsonl --to chats --project 3f2732bc6614671c
  session-tape import storage.json --to chats --project 3f2732bc6614671c --all

Writes a native session, from which a CLI can resume, and a receipt next to it: a line of JSON for each record of the source, with what became
of it. Nothing is replaced. With --json the result is {filePath, receiptPath, lastSeq, summary}, with --all an array of these.
`

/** @type {Define} */
function define(program, does) {
  program
    .command('import')
    .summary("another program's session as one from which a CLI can resume")
    .description('Imports a session of another program: Claude Code, Codex, Gemini CLI and others.')
    .argument('<path>', "another program's session")
    .requiredOption('--to <dir>', 'the directory of the sessions')
    .requiredOption('--project <hash>', 'the hash of the project')
    .option('--session-id <id>', "the id of the session (default: the source's)")
    .option('--conversation <id>', 'which conversation, if there are several')
    .option('--all', 'every conversation, each to a session of its own')
    .option('--receipt <file>', 'where the receipt goes (default: next to the session)')
    .option('--json', 'the result as JSON')
    .addHelpText('after', EXAMPLES)
    .action(does(importSession))
}

/** @type {(context: Context, args: [string], options: Options) => Promise<void>} */
async function importSession(context, [given], options) {
  const { to, project, sessionId, conversation, all, receipt } = options
  if (all && (conversation ?? sessionId ?? receipt) !== undefined)
    throw usage('--all: not with --conversation, --session-id or --receipt')
  if (sessionId !== undefined && !/^[A-Za-z0-9_-]{1,256}$/.test(sessionId))
    throw usage('--session-id: 1 to 256 of A-Z a-z 0-9 _ -')
  const { at } = await sourceAt(context, given)
  const one = (/** @type {Pick<ImportOptions, 'sessionId' | 'conversation' | 'receipt'>} */ more) =>
    context.during('importing', (options) =>
      context.tape.importSession(at, { chatsDir: to, projectHash: project, ...more, ...options }),
    )
  if (!all) {
    const wanted = { sessionId, conversation, receipt }
    const imported = await one(Object.fromEntries(Object.entries(wanted).filter(([, value]) => value !== undefined)))
    return context.print(imported, (_, colour) => importPage(imported, colour))
  }
  const { conversations } = await context.tape.listConversations(at)
  /** @type {Imported[]} */
  const imported = []
  for (const { sessionId: id, agentId } of conversations) {
    context.signal.throwIfAborted()
    if ((agentId ?? id) === '' && conversations.length > 1)
      throw new Complaint('EFOREIGNMANY', "a conversation without an id can't be chosen", { path: given })
    imported.push(await one(conversations.length > 1 ? { conversation: agentId ?? id } : {}))
  }
  await context.print(imported, (_, colour) => imported.map((each) => importPage(each, colour)).join(''))
}

/** @type {(imported: Imported, colour: Colours) => string} */
function importPage({ filePath, receiptPath, summary }, colour) {
  const rows = [
    row('Session', colour.cyan(printable(summary.sessionId || '(the file states no id)')), colour),
    row('Format', summary.format, colour),
    row('Receipt', printable(receiptPath, 1000), colour),
  ]
  const warnings = summary.warnings.map((text) => `${colour.yellow('!')} ${printable(text, 200)}`)
  return page('Imported', printable(filePath, 1000), [rows, receiptRows(summary, colour), warnings], colour)
}

module.exports = { define }
