'use strict'

const { Option } = require('commander')
const { EXIT, meansDamage } = require('../complaint.js')
const { gathered, refuseOptions, trustedKeys, wholeNumber } = require('../option-values.js')
const { runSummary } = require('../run/summary.js')
const { replaySession } = require('../session/replay.js')
const { recordingAt, withFiles } = require('../source.js')

/** @import { RunReplayOptions } from 'session-tape' */
/** @import { Context } from '../context.js' */
/** @import { Define } from '../program.js' */
/** @import { Files } from '../source.js' */

/**
 * @typedef {object} Options
 * @property {number} [until]
 * @property {string} [project]
 * @property {true} [strict]
 * @property {string | true} [fromSnapshot] true for the latest
 * @property {RunReplayOptions['verify']} [verify]
 * @property {string[]} [key]
 */

const EXAMPLES = `
Examples:
  session-tape replay chats/session-2026-02-11T08-41-3c8e51d7.jsonl
  session-tape replay session.jsonl --until 40 --json   # as it was at its 40th record
  session-tape replay session.jsonl --strict            # as it is read to resume it
  session-tape replay weekly.cath-bundle --until 120    # a run's state after evt_120
  session-tape replay weekly.cath-bundle --from-snapshot --verify full

A session that was replayed is fine, whatever warnings there are; see verify.
`

/** @type {Define} */
function define(program, does) {
  program
    .command('replay')
    .summary('what a session or a run comes to')
    .description('Replays a session to its history, or a run to its state, and says what is in it.')
    .argument('<path>', 'session, run or bundle')
    .option('--until <n>', "the last event to take: a run's logical time, a session's seq", wholeNumber)
    .option('--project <hash>', 'sessions: refuse one of another project')
    .option('--strict', 'sessions: skip lines without a valid seq; header and items must be whole')
    .option('--from-snapshot [id]', 'runs: begin with the snapshot of this id or file, the latest if none is named')
    .addOption(
      new Option('--verify <depth>', 'runs: how much is verified (default: chain)').choices(['none', 'chain', 'full']),
    )
    .option('--key <file>', 'runs: only snapshots signed by this public key (PEM); may be repeated', gathered)
    .option('--json', 'the result as JSON')
    .addHelpText('after', EXAMPLES)
    .action(does(replay))
}

/** @type {(context: Context, args: [string], options: Options) => Promise<number | void>} */
async function replay(context, [path], options) {
  const source = await recordingAt(context, path)
  // The kind of an archive is known only after it is unpacked.
  return withFiles(
    context,
    source,
    /** @returns {Promise<number | void>} */ (files) =>
      (files.kind === 'session' ? session : run)(context, files, options),
  )
}

/** @type {(context: Context, source: Files, options: Options) => Promise<void>} */
async function session(context, source, options) {
  refuseOptions(options, ['fromSnapshot', 'verify', 'key'], 'a session')
  await replaySession(context, source, options)
}

/** @type {(context: Context, source: Files, options: Options) => Promise<number>} */
async function run(context, source, options) {
  refuseOptions(options, ['project', 'strict'], 'a run')
  const { until, fromSnapshot, verify = 'chain' } = options
  const asked = {
    until,
    fromSnapshot: fromSnapshot === true ? 'latest' : fromSnapshot,
    verify,
    trustedKeys: await trustedKeys(options.key),
  }
  const started = performance.now()
  const result = await context.during('replaying', (more) => context.tape.replayRun(source.at, { ...asked, ...more }))
  const replayMs = performance.now() - started
  if (!result.ok && !meansDamage(result.error)) throw Object.assign(new Error(result.error.message), result.error)
  await context.print({ kind: 'run', path: source.path, ...result }, (_, colour, width) =>
    runSummary({ path: source.path, result, verify, replayMs }, colour, width),
  )
  return result.ok ? EXIT.fine : EXIT.damaged
}

module.exports = { define }
