'use strict'

const { EXIT, usage } = require('../complaint.js')
const { age, byteCount, wholeNumber } = require('../option-values.js')
const { keepingPage } = require('../session/keeping.js')

/** @import { Duration } from 'session-tape' */
/** @import { Context } from '../context.js' */
/** @import { Define } from '../program.js' */

/**
 * @typedef {object} Options
 * @property {Duration | 'never'} [archiveAfter]
 * @property {Duration | 'never'} [deleteAfter]
 * @property {Duration | 'never'} [minAge]
 * @property {number} [maxBytes]
 * @property {number} [maxSessions]
 * @property {true} [deleteToFit]
 * @property {boolean} [dryRun]
 */

const EXAMPLES = `
Examples:
  session-tape keep chats --dry-run                       # what would be done
  session-tape keep chats                                 # archives what was not touched for a week
  session-tape keep chats more-chats --delete-after 90d --max-bytes 4GiB

An archived session (NAME.jsonl.zst) is read and resumed like any other. Nothing is deleted without --delete-after or --delete-to-fit, and never
a session in use, one with checkpoints, one younger than --min-age, or a file that is no session. The exit code is 1 if a limit is exceeded or
something failed.
`

/** @type {Define} */
function define(program, does) {
  program
    .command('keep')
    .summary('archive old sessions, and keep directories within limits')
    .description(
      'Archives old sessions of directories, deletes those that the options name, and removes what interrupted processes have left.',
    )
    .argument('<directory...>', 'directories of sessions')
    .option('--archive-after <age>', 'archive what was not modified for so long: 36h, 7d, 2w, never (default: 7d)', age)
    .option('--delete-after <age>', 'delete what was not modified for so long (default: never)', age)
    .option('--max-bytes <size>', 'archive the oldest until all fit: 4GiB, 500MB', byteCount)
    .option('--max-sessions <number>', 'how many sessions there may be, archived ones included', wholeNumber)
    .option('--delete-to-fit', 'delete the oldest if archiving is not enough for these limits')
    .option('--min-age <age>', 'touch nothing younger (default: 1d)', age)
    .option('--dry-run', 'only say what would be done, and name every file')
    .option('--json', 'the result as JSON')
    .addHelpText('after', EXAMPLES)
    .action(does(keep))
}

/** @type {(context: Context, args: [string[]], options: Options) => Promise<number>} */
async function keep(context, [directories], options) {
  const { archiveAfter, deleteAfter, maxBytes, maxSessions, deleteToFit, minAge, dryRun = false } = options
  if (minAge === 'never') throw usage('--min-age: it must be a number of hours, days or weeks')
  const policy = {
    archiveAfter: unlessNever(archiveAfter),
    deleteAfter: unlessNever(deleteAfter),
    maxBytes,
    maxSessions,
    deleteToFit,
    minAge,
  }
  const report = await context.during('keeping', (more) =>
    context.tape.keepSessions(directories, policy, { dryRun, ...more }),
  )
  await context.print({ dryRun, ...report }, (_, colour) => keepingPage({ directories, dryRun, ...report }, colour))
  return report.withinLimits && report.left.every(({ reason }) => reason !== 'Failed') ? EXIT.fine : EXIT.damaged
}

/** @param {Duration | 'never' | undefined} given */
const unlessNever = (given) => (given === 'never' ? null : given)

module.exports = { define }
