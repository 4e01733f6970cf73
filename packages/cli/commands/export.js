'use strict'

const { Option } = require('commander')
const { Complaint } = require('../complaint.js')
const { page, row } = require('../page.js')
const { count, plural } = require('../quantities.js')
const { printable } = require('../safe-text.js')
const { recordingAt } = require('../source.js')

/** @import { Context } from '../context.js' */
/** @import { Define } from '../program.js' */

const EXAMPLES = `
Examples:
  session-tape export session.jsonl trajectory.json --format atif
  session-tape export ~/.codex/sessions/2026/02/11/rollout-….jsonl trajectory.json --format atif
  session-tape export weekly.cath-bundle.tar.zst trajectory.json --format atif --json

Neither DEST nor DEST.media, the directory for images and other media, may exist. What rewinds and compactions have removed from the
history is left out.
`

/** @type {Define} */
function define(program, does) {
  program
    .command('export')
    .summary('write a session in the format of another program')
    .description('Writes the history of a session as an ATIF document (Agent Trajectory Interchange Format, v1.8).')
    .argument('<path>', 'session, or bundle of one')
    .argument('<dest>', 'the document')
    .addOption(new Option('--format <name>', 'its format').choices(['atif']).makeOptionMandatory())
    .option('--conversation <id>', "which conversation of another program's session")
    .option('--json', 'the result as JSON')
    .addHelpText('after', EXAMPLES)
    .action(does(exportOne))
}

/** @type {(context: Context, args: [string, string], options: { format: 'atif', conversation?: string }) => Promise<void>} */
async function exportOne(context, [from, to], { format, conversation }) {
  const source = await recordingAt(context, from)
  if (source.kind === 'run')
    throw new Complaint('NotASession', `${printable(from, 1000)} is a run, and only sessions have a history`, {
      path: from,
    })
  const exported = await context.during('exporting', ({ signal }) =>
    context.tape.exportSession(source.at, to, { format, conversation, signal }),
  )
  await context.print(exported, (_, colour) => {
    const { steps, media, warnings = [] } = exported
    const files = media === 0 ? colour.dim('none') : `${plural(media, 'file')} in ${printable(`${to}.media`, 1000)}`
    const warned = warnings.map((text) => `${colour.yellow('!')} ${printable(text, 200)}`)
    return page(
      'Exported',
      printable(to, 1000),
      [[row('Steps', count(steps), colour), row('Media', files, colour)], warned],
      colour,
    )
  })
}

module.exports = { define }
