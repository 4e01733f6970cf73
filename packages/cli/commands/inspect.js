'use strict'

const fs = require('node:fs/promises')
const path = require('node:path')
const { withVerifiedBundle } = require('../bundle.js')
const { EXIT } = require('../complaint.js')
const { inspectionPage } = require('../inspection-page.js')
const { inspectRun } = require('../run/inspection.js')
const { inspectSession } = require('../session/inspection.js')
const { isBundle, recordingAt } = require('../source.js')

/** @import { Context } from '../context.js' */
/** @import { Inspection, Seal } from '../inspection-page.js' */
/** @import { Define } from '../program.js' */
/** @import { Bundle, Files, Recording } from '../source.js' */
/** @typedef {Awaited<ReturnType<typeof inspectRun>> & { damage?: undefined }} RunFacts */
/** @typedef {Awaited<ReturnType<typeof inspectSession>>} SessionFacts */

const EXAMPLES = `
Examples:
  session-tape inspect chats/session.jsonl
  session-tape inspect weekly.cath-bundle.tar.zst
  session-tape inspect runs/weekly --json | jq .events.byKind

Replays a log with every check, and looks at a bundle's seal; verify says more, and looks at snapshots too. The exit code is 1 if there is damage.
`

/** @type {Define} */
function define(program, does) {
  program
    .command('inspect')
    .summary('what this is: kind, size, times, counts, damage')
    .description('Says what is at a path: a session, a run or a bundle of either, and what is in it.')
    .argument('<path>', 'session, run or bundle')
    .option('--json', 'the result as JSON')
    .addHelpText('after', EXAMPLES)
    .action(does(inspect))
}

/** @type {(context: Context, args: [string]) => Promise<number>} */
async function inspect(context, [given]) {
  const source = await recordingAt(context, given)
  const result = isBundle(source) ? await sealed(context, source) : await whole(context, source, null)
  await context.print(result, inspectionPage)
  return result.damaged ? EXIT.damaged : EXIT.fine
}

/** The summary and problems of a bundle and, if there are none, its content. @type {(context: Context, source: Bundle) => Promise<Inspection>} */
function sealed(context, source) {
  return withVerifiedBundle(
    context,
    source,
    {},
    /** @returns {Promise<Inspection>} */ async ({ info, problems }, files) => {
      const bundle = { ...info, problems }
      return problems.length > 0 || files === undefined ? broken(source, bundle) : whole(context, files, bundle)
    },
  )
}

/** The result for a bundle with problems, whose content is not trusted. @type {(source: Recording, bundle: Seal) => Inspection} */
function broken({ path: given, form, kind }, bundle) {
  return { path: given, kind: bundle.kind ?? kind ?? null, form, damaged: true, bundle }
}

/** @type {(context: Context, source: Files, bundle: Seal | null) => Promise<Inspection>} */
async function whole(context, source, bundle) {
  /** @type {RunFacts | SessionFacts} */
  const found = source.kind === 'run' ? await inspectRun(context, source) : await inspectSession(context, source)
  const damaged = found.error !== undefined || (found.damage?.length ?? 0) > 0
  const seal = bundle && { bundle: { ...bundle, signed: await isThere(path.join(source.at, 'manifest.sig')) } }
  return /** @type {Inspection} */ ({
    path: source.path,
    kind: source.kind,
    form: source.form,
    ...(source.archived && { archived: true }),
    damaged,
    ...found,
    ...seal,
  })
}

/** @param {string} file */
const isThere = (file) =>
  fs.access(file).then(
    () => true,
    () => false,
  )

module.exports = { define }
