'use strict'

const { receiptRows } = require('../inspection-page.js')
const { jsonText } = require('../json-text.js')
const { page, row, rowsUnder, tallied } = require('../page.js')
const { printable } = require('../safe-text.js')
const { receiptOf } = require('../session/foreign.js')
const { sourceAt } = require('../source.js')

/** @import { ReceiptEntry, ReceiptSummary } from 'session-tape' */
/** @import { Colours } from '../colours.js' */
/** @import { Context } from '../context.js' */
/** @import { Define } from '../program.js' */

const EXAMPLES = `
Examples:
  session-tape receipt rollout-2026-09-01.jsonl
  session-tape receipt rollout-2026-09-01.jsonl --json | jq 'select(.fate == "dropped")'

Says what an import would do with every record, and writes nothing. With --json: JSONL, first the summary, then a line for each record.
`

/** @type {Define} */
function define(program, does) {
  program
    .command('receipt')
    .summary("what an import would do with the records of another program's session")
    .description(
      "Says for every record of another program's session where it goes: which events carry it, or why it is dropped.",
    )
    .argument('<path>', "another program's session")
    .option('--conversation <id>', 'which conversation, if there are several')
    .option('--json', 'the receipt as JSONL')
    .addHelpText('after', EXAMPLES)
    .action(does(receipt))
}

/** @type {(context: Context, args: [string], options: { conversation?: string }) => Promise<void>} */
async function receipt(context, [given], { conversation }) {
  const { at } = await sourceAt(context, given)
  const options = conversation === undefined ? {} : { conversation }
  const summary = await receiptOf(context, at, undefined, options)
  if (!context.json) return context.print(summary, (_, colour) => receiptPage(given, summary, colour))
  const { output } = context
  const write = (/** @type {ReceiptSummary | ReceiptEntry} */ line) =>
    output.isClosed ? Promise.resolve() : output.write(`${jsonText(line)}\n`)
  await write(summary)
  // A second pass, so that no session is too long for memory.
  await receiptOf(context, at, write, options)
  await output.flush()
}

/** @type {(given: string, summary: ReceiptSummary, colour: Colours) => string} */
function receiptPage(given, summary, colour) {
  const rows = [
    row('Session', colour.cyan(printable(summary.sessionId || '(no id)')), colour),
    row('Format', summary.format, colour),
  ]
  const omitted =
    Object.keys(summary.omittedFields).length === 0
      ? []
      : rowsUnder('Omitted', tallied(summary.omittedFields, colour, 3), colour)
  const warnings = summary.warnings.map((text) => `${colour.yellow('!')} ${printable(text, 200)}`)
  return page(
    'A receipt',
    printable(given, 1000),
    [rows, [...receiptRows(summary, colour), ...omitted], warnings],
    colour,
  )
}

module.exports = { define }
