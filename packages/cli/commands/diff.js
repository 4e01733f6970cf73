'use strict'

const { EXIT } = require('../complaint.js')
const { gathered } = require('../option-values.js')
const { refuseRecording } = require('../output-file.js')
const { recordingAt, shown } = require('../source.js')

/** @import { Diff } from 'session-tape' */
/** @import { Context } from '../context.js' */
/** @import { Define } from '../program.js' */
/** @typedef {{ full?: true, ignore?: string[], details?: true, heartbeats?: true, html?: string }} Options */

const EXAMPLES = `
Examples:
  session-tape diff monday.cath-bundle tuesday.cath-bundle
  session-tape diff a.jsonl b.jsonl --full --json | jq .edits
  session-tape diff left right --ignore /payload/inputHash --html diff.html

Ids, times and salts are not compared. Exit code 0 if nothing that matters differs, 1 if something does.
`

/** @type {Define} */
function define(program, does) {
  program
    .command('diff')
    .summary('where two executions part, and why')
    .description('Compares two runs, or two sessions, and says where they part first.')
    .argument('<left>', 'session, run or bundle')
    .argument('<right>', 'another of the same kind')
    .option('--full', 'all differences, not only the first')
    .option('--ignore <pointer>', 'a JSON pointer to leave out, like /payload/cwd; may be repeated', gathered)
    .option('--details', 'tell the likely cause, the nodes affected and every field; --full does too')
    .option('--heartbeats', 'runs: compare Heartbeats too')
    .option('--html <file>', 'write a page with both side by side')
    .option('--json', 'the result as JSON: null, if they are equal')
    .addHelpText('after', EXAMPLES)
    .action(does(compare))
}

/** @type {(context: Context, args: [string, string], options: Options) => Promise<number>} */
async function compare(context, [left, right], { full, details, ignore, heartbeats, html }) {
  for (const path of [left, right]) await recordingAt(context, path)
  // The page needs the edit list to align the events after the divergence.
  const asked = {
    full: full === true || html !== undefined,
    heartbeats: heartbeats === true,
    ...(ignore && { ignore }),
  }
  if (html !== undefined) await refuseRecording('--html', html, [left, right])
  const found = await context.during('comparing', (more) => context.tape.diff(left, right, { ...asked, ...more }))
  if (html !== undefined) await writePage(context, html, { left, right, diff: found })
  const diff = full === true ? found : withoutEdits(found)
  await context.print(diff, (_, colour) => {
    // `diffToText` escapes text of the recordings itself.
    const options = { color: colour.isColorSupported, details: details === true || full === true }
    return `${context.tape.diffToText(diff, options)}\n`
  })
  return diff === null ? EXIT.fine : EXIT.damaged
}

/** @type {(diff: Diff | null) => Diff | null} */
function withoutEdits(diff) {
  if (diff === null) return null
  const { edits, edits_stopped, equal, ...rest } = diff
  return rest
}

/** @type {(context: Context, out: string, sides: { left: string, right: string, diff: Diff | null }) => Promise<void>} */
async function writePage({ signal, json, stderr }, out, sides) {
  const { writeDiffPage } = require('../html/diff')
  await writeDiffPage(out, { ...sides, signal })
  if (!json) stderr.write(`written to ${shown(out)}\n`)
}

module.exports = { define }
