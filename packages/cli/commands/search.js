'use strict'

const { EXIT, usage } = require('../complaint.js')
const { jsonText } = require('../json-text.js')
const { collected, wholeNumber } = require('../option-values.js')
const { HitPrinter } = require('../session/hits.js')
const { shown } = require('../source.js')

/** @import { SearchField, SearchOptions, SessionSearch } from 'session-tape' */
/** @import { Context } from '../context.js' */
/** @import { Define } from '../program.js' */

/**
 * @typedef {object} Options
 * @property {true} [regex]
 * @property {true} [ignoreCase]
 * @property {true} [caseSensitive]
 * @property {string[]} [field]
 * @property {SearchOptions['speaker']} [speaker]
 * @property {string} [tool]
 * @property {string} [project]
 * @property {string} [since]
 * @property {string} [until]
 * @property {true} [current]
 * @property {true} [files]
 * @property {true} [count]
 * @property {true} [json]
 * @property {number} [limit]
 * @property {number} [context]
 */

const EXAMPLES = `
Examples:
  session-tape search "flaky test" chats
  session-tape search --field tool_call --tool Bash "git push" chats --since 7d
  session-tape search -e 'E[A-Z]+: .*denied' chats --speaker tool -C 120
  session-tape search TODO chats --current -l | xargs -n 1 session-tape inspect
  session-tape search parser chats --json | jq -r 'select(.line) | "\\(.filePath)#line-\\(.line)"'

Sessions come newest first. Without -i or -s, case matters only if the query has an uppercase letter. Regular expressions have the syntax
of https://docs.rs/regex/latest/regex/#syntax. A query that begins with a dash goes behind --.

Fields: text, code, thinking, tool_call, tool_response, session_event, name.

On a terminal the hits of a session have a heading; open one with \`session-tape view PATH#line-120\`. In a pipe each hit is
PATH:LINE:SNIPPET. With --json each hit is a line of JSON, and the last line is {"summary":…}.

The exit code is 0 with hits, 1 without, and 2 after an error, also if there are hits.
`

const FIELDS = ['text', 'code', 'thinking', 'tool_call', 'tool_response', 'session_event', 'name']
const SPEAKERS = ['human', 'ai', 'tool']

/** @type {Define} */
function define(program, does) {
  program
    .command('search')
    .summary('which sessions, and where in them')
    .description(
      'Finds text in sessions: in what was said, thought, called and returned, whatever JSON has made of it.',
    )
    .argument('<query>', 'what to look for')
    .argument('[path...]', 'sessions, and directories of sessions (default: .)')
    .option('-e, --regex', 'the query is a regular expression')
    .option('-i, --ignore-case', 'case does not matter')
    .option('-s, --case-sensitive', 'case matters')
    .option('--field <fields>', 'only in these fields, with commas between them', collected)
    .addOption(program.createOption('--speaker <speaker>', 'only items of this speaker').choices(SPEAKERS))
    .option('--tool <name>', 'only calls and responses of this tool')
    .option('--project <hash>', 'only sessions of this project')
    .option('--since <when>', 'only records from then on: 12h, 7d, 2w, or a date')
    .option('--until <when>', 'only records up to then; a date includes its day')
    .option('--current', 'only what is in the history at the end, not what was compressed or rewound')
    .option('-l, --files', 'only the paths of sessions with hits')
    .option('-c, --count', 'only the number of hits of each of these sessions')
    .option('-m, --limit <n>', 'stop after this number of hits', wholeNumber)
    .option('-C, --context <n>', 'characters kept on each side of a match (default: 60)', wholeNumber)
    .option('--json', 'the result as JSON')
    .addHelpText('after', EXAMPLES)
    .action(does(search))
}

/** @type {(context: Context, args: [query: string, paths: string[]], options: Options) => Promise<number>} */
async function search(context, [query, paths], options) {
  const modes = /** @type {const} */ (['files', 'count', 'json']).filter((name) => options[name] !== undefined)
  if (modes.length > 1) throw usage(`--${modes[0]} and --${modes[1]} exclude each other`)
  const found = context.tape.searchSessions(paths.length === 0 ? ['.'] : paths, query, {
    ...searchOptions(options),
    signal: context.signal,
  })
  await print(context, found, options)
  const { hits, unreadable } = found.summary
  if (!context.json)
    for (const { filePath, reason } of unreadable)
      context.stderr.write(`session-tape: ${shown(filePath)}: ${shown(reason)}\n`)
  return unreadable.length > 0 ? EXIT.couldNot : hits > 0 ? EXIT.fine : EXIT.damaged
}

/** @type {(options: Options) => SearchOptions} */
function searchOptions(options) {
  const { regex, ignoreCase, caseSensitive, field, speaker, tool, project, since, until, current, limit, context } =
    options
  if (ignoreCase && caseSensitive) throw usage('--ignore-case and --case-sensitive exclude each other')
  const unknown = field?.find((name) => !FIELDS.includes(name))
  if (unknown !== undefined) throw usage(`--field ${unknown}: it must be one of ${FIELDS.join(', ')}`)
  return {
    regex,
    case: ignoreCase ? 'insensitive' : caseSensitive ? 'sensitive' : 'smart',
    fields: /** @type {SearchField[] | undefined} */ (field),
    speaker,
    tool,
    projectHash: project,
    since: since === undefined ? undefined : timeOf('--since', since, 0),
    until: until === undefined ? undefined : timeOf('--until', until, DAY - 1),
    history: current ? 'current' : 'all',
    limit,
    context,
  }
}

const HOUR = 3_600_000
const DAY = 24 * HOUR
/** @type {Record<string, number>} */
const UNITS = { h: HOUR, d: DAY, w: 7 * DAY }

/**
 * The time that an option names: so long ago, or a date, to which `ofDay` is added if it has no time of day.
 *
 * @type {(flag: string, text: string, ofDay: number) => Date}
 */
function timeOf(flag, text, ofDay) {
  const [, number, unit] = /^(\d+)([hdw])$/.exec(text) ?? []
  const time = unit
    ? Date.now() - Number(number) * UNITS[unit]
    : Date.parse(text) + (/^\d{4}-\d\d-\d\d$/.test(text) ? ofDay : 0)
  if (Number.isNaN(new Date(time).getTime())) throw usage(`${flag} ${text}: it must be like 12h, 7d, 2w or 2026-02-11`)
  return new Date(time)
}

/** @type {(context: Context, found: SessionSearch, options: Options) => Promise<void>} */
async function print(context, found, { files, count }) {
  const printer = new HitPrinter(context)
  /** @type {string | undefined} */
  let path
  let number = 0
  const endFile = async () => {
    if (path !== undefined && count) await context.output.write(printer.count(path, number))
  }
  for await (const hit of found) {
    if (context.output.isClosed) break
    if (hit.filePath !== path) {
      await endFile()
      path = hit.filePath
      number = 0
      if (files) await context.output.write(printer.path(path))
    }
    number++
    if (context.json) await context.output.write(`${jsonText(hit)}\n`)
    else if (!files && !count) await context.output.write(await printer.hit(hit))
    // A terminal shows what is found while the search goes on.
    if (context.stdout.isTTY) await context.output.flush()
  }
  await endFile()
  if (context.json) await context.output.write(`${jsonText({ summary: found.summary })}\n`)
  await context.output.flush()
}

module.exports = { define }
