'use strict'

const fs = require('node:fs/promises')
const path = require('node:path')
const { Complaint, usage } = require('../complaint.js')
const { repairInPlace } = require('../session/in-place.js')
const { repairPage } = require('../session/repair-page.js')
const { existing, expectRegular, shown } = require('../source.js')

/** @import { RepairOptions, RepairReceipt } from 'session-tape' */
/** @import { Context } from '../context.js' */
/** @import { Define } from '../program.js' */
/** @typedef {{ inPlace?: true, project?: string, session?: string, receipt?: string, dryRun?: boolean }} Options */

const EXAMPLES = `
Examples:
  session-tape repair chats/session-2026-02-11T08-41-3c8e51d7.jsonl recovered.jsonl
  session-tape repair chats/session-2026-02-11T08-41-3c8e51d7.jsonl --in-place
  session-tape repair broken.jsonl --dry-run --project 3f2732bc6614671c

PATH may also be UTF-16, an array, pretty-printed, or compressed by gzip or zstd. DEST must not exist; if it is left out, it is PATH with
.repaired before its extension. --in-place keeps the damaged file beside the repaired one, as PATH.damaged-<time>.
`

/** @type {Define} */
function define(program, does) {
  program
    .command('repair')
    .summary('find the records of a damaged session')
    .description(
      'Finds the records in the damaged file of a session and writes them to a new one, which can be resumed.',
    )
    .argument('<path>', 'session')
    .argument('[dest]', 'the repaired session')
    .option('--in-place', 'put it in place of the damaged file, which is kept beside it')
    .option('--project <hash>', 'the project, if the first line is lost')
    .option(
      '--session <id>',
      "the session, if the file has several; its id, if the first line is lost (default: from the file's name)",
    )
    .option('--receipt <file>', 'write there what became of each record and fragment (JSONL)')
    .option('--dry-run', 'write nothing; say what would be recovered')
    .option('--json', 'the result as JSON')
    .addHelpText('after', EXAMPLES)
    .action(does(repair))
}

/** @type {(context: Context, args: [source: string, given: string | undefined], options: Options) => Promise<void>} */
async function repair(context, [named, given], { inPlace, project, session, receipt: receiptPath, dryRun = false }) {
  if (inPlace && given !== undefined) throw usage('give a destination, or --in-place, not both')
  if (inPlace && dryRun) throw usage('--dry-run writes nothing, so it can not be --in-place')
  const source = await existing(named)
  await expectFile(source)
  const options = { projectHash: project, sessionId: session, receiptPath }
  const result = inPlace
    ? await repairInPlace(context, source, options)
    : { receipt: await repaired(context, source, given ?? besides(source), { ...options, dryRun }), kept: null }
  const { receipt, kept } = result
  await context.print({ ...receipt, dryRun, ...(inPlace ? { kept } : {}) }, (_, colour, width) =>
    repairPage({ path: source, receipt, kept, dryRun }, colour, width),
  )
}

/** @type {(context: Context, source: string, destination: string, options: RepairOptions) => Promise<RepairReceipt>} */
function repaired(context, source, destination, options) {
  return context.during('repairing', (more) => context.tape.repairSession(source, destination, { ...options, ...more }))
}

/** @param {string} source */
async function expectFile(source) {
  const found = await fs.stat(source).catch((error) => {
    const message =
      error.code === 'ENOENT'
        ? `there is nothing at ${shown(source)}`
        : `can't look at ${shown(source)}: ${error.message}`
    throw new Complaint(error.code, message, { path: source })
  })
  if (found.isDirectory())
    throw new Complaint('NotRecognised', `${shown(source)} is not a regular file`, { path: source })
  expectRegular(found, source)
}

/** The default destination: `a.jsonl.gz` becomes `a.repaired.jsonl`. @param {string} source */
function besides(source) {
  const name = path
    .basename(source)
    .replace(/\.(?:gz|zst)$/, '')
    .replace(/\.jsonl?$/, '')
  return path.join(path.dirname(source), `${name}.repaired.jsonl`)
}

module.exports = { define }
