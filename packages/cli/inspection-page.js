'use strict'

// Formats the result of `inspect` as text.

const { infoRows } = require('./bundle.js')
const { list, page, row, rowsUnder, tallied } = require('./page.js')
const { count, duration, fileSize, moment, plural } = require('./quantities.js')
const { warningRows, whatIsWrong } = require('./run/summary.js')
const { printable } = require('./safe-text.js')
const { checkpointRows, nameRows, sequenceWarning } = require('./session/names.js')
const { editRows, model, tools, turns } = require('./session/summary.js')

/** @import { BundleInfo, BundleProblem, ForeignConversation, ForeignFormat, ReceiptSummary, RunError, SessionHandle } from 'session-tape' */
/** @import { SessionStartPayload } from 'session-tape' */
/** @import { Colours } from './colours.js' */
/** @import { ToolTally } from './session/tally.js' */
/** @import { Source } from './source.js' */

/**
 * The result of `inspect`. What was not found out is absent.
 *
 * @typedef {object} About
 * @property {string} path
 * @property {Source['form']} form
 * @property {true} [archived]
 * @property {boolean} damaged
 * @property {Seal} [bundle]
 * @property {number} [size] of the log or archive, in bytes
 * @property {string[]} [warnings]
 * @property {string[]} [damage]
 * @property {string[]} [notes]
 * @property {string} [repair] what a repair would recover
 *
 * @typedef {Partial<BundleInfo> & { problems: BundleProblem[], signed?: boolean }} Seal
 * @typedef {{ count: number, byKind: Record<string, number>, firstTime: string | null, lastTime: string | null }} Events
 */

/**
 * Another program's session. The receipt is null if there are several conversations, and none was chosen.
 *
 * @typedef {{ format: ForeignFormat, version: string | null, conversations: ForeignConversation[], receipt: ReceiptSummary | null }} Foreign
 * @typedef {{ format?: undefined, version?: undefined, conversations?: undefined, receipt?: undefined }} Native
 */

/**
 * What was said in another program's session.
 *
 * @typedef {object} Talk
 * @property {Record<string, number>} turns
 * @property {string[]} models
 * @property {Record<string, ToolTally>} tools
 * @property {Record<string, number> | null} usage
 */

/**
 * @typedef {object} AboutSession
 * @property {'session'} kind
 * @property {string} [error]
 * @property {Events} events
 * @property {SessionStartPayload | null} header
 * @property {Record<string, number>} [edits]
 * @property {{ references: number, objects: number, bytes: number }} [images]
 *
 * @typedef {'metadata' | 'lastSeq' | 'historyLength' | 'sequenceCorrupt' | 'checkpoints' | 'sessionName' | 'ancestry'} OfHandle
 * @typedef {(Foreign & Talk & { receipt: ReceiptSummary }) | (Native & { turns?: undefined })} Origin
 * @typedef {About & AboutSession & Partial<Pick<SessionHandle, OfHandle>> & Origin} SessionInspection
 */

/**
 * @typedef {object} AboutRun
 * @property {'run'} kind
 * @property {RunError} [error]
 * @property {Events} events
 * @property {{ workflow?: { name?: string, version?: string }, scheduler?: string } | null} header
 * @property {string | null} runId
 * @property {string | null} status
 * @property {Record<string, number>} nodes
 * @property {number} workers
 * @property {{ snapshot: string, size: number, signed: boolean }[]} snapshots
 * @property {{ count: number, bytes: number }} blobs
 *
 * @typedef {About & AboutRun & Native & { sequenceCorrupt?: undefined }} RunInspection
 */

/**
 * Without events: a bundle with problems, or several conversations.
 *
 * @typedef {{ kind: 'session' | 'run' | null, error?: undefined, events?: undefined, sequenceCorrupt?: undefined }} NoEvents
 * @typedef {(About & NoEvents & (Foreign | Native)) | SessionInspection | RunInspection} Inspection
 */

const MAX_SNAPSHOTS = 10
const MAX_PROBLEMS = 30

/** @type {Record<Source['form'], string>} */
const FORMS = {
  file: 'a file',
  directory: 'a directory, not sealed',
  bundle: 'a bundle (a directory)',
  archive: 'a bundle (one file)',
  foreign: "another program's session",
}

/** @type {(found: Inspection, colour: Colours, width: number) => string} */
function inspectionPage(found, colour, width) {
  const { path, kind, bundle } = found
  const title = kind === null ? 'A bundle' : `A ${kind}`
  const parts =
    found.events === undefined
      ? []
      : kind === 'run'
        ? runSections(found, colour)
        : sessionSections(found, colour, width)
  return page(
    title,
    printable(path, 1000),
    [
      aboutForm(found, colour),
      foreignRows(found, colour),
      bundle ? seal(bundle, colour) : [],
      ...parts,
      verdict(found, colour, width),
    ],
    colour,
  )
}

/** @type {(found: About, colour: Colours) => string[]} */
function aboutForm({ form, archived, size }, colour) {
  const rows = [row('Form', archived ? 'an archive (.zst)' : FORMS[form], colour)]
  if (size !== undefined) rows.push(row('Size', `${fileSize(size)} of ${archived ? 'archive' : 'log'}`, colour))
  return rows
}

/** The programs that write sessions of a format. */
const PROGRAMS = {
  claude: 'Claude Code',
  codex: 'Codex',
  gemini: 'Gemini CLI',
  pi: 'pi',
  atif: 'ATIF',
  opencode: 'OpenCode',
  qwen: 'Qwen Code',
  cursor: 'Cursor',
}

/** What another program's session is, and what became of its records. @type {(found: Foreign | Native, colour: Colours) => string[]} */
function foreignRows({ format, version, conversations, receipt }, colour) {
  if (format === undefined) return []
  const named = conversations.map(({ sessionId, agentId, title, records }) => {
    const name = agentId === undefined ? sessionId : `${agentId} (sub-agent)`
    return `${printable(name || '(no id)', 80)}  ${plural(records, 'record')}${title === undefined ? '' : `  ${printable(title, 60)}`}`
  })
  // A single conversation is what the rest of the page is about.
  const isOne = receipt !== null && conversations.length === 1 && conversations[0].agentId === undefined
  const choice = receipt === null ? [row('', colour.dim('one at a time: inspect PATH#ID'), colour)] : []
  const program = PROGRAMS[format] ?? format
  const name = program.toLowerCase() === format ? program : `${program} ${colour.dim(`(${format})`)}`
  return [
    row('Format', name, colour),
    ...(receipt === null
      ? []
      : [row('Version', version === null ? colour.dim('not stated') : printable(version, 40), colour)]),
    ...(isOne ? [] : [...list('Conversations', named, 20, colour), ...choice]),
    ...(receipt === null ? [] : receiptRows(receipt, colour)),
  ]
}

/** The rows of a receipt's summary. @type {(receipt: ReceiptSummary, colour: Colours) => string[]} */
function receiptRows({ records, mapped, kept, dropped, droppedBy }, colour) {
  const counts = `${count(mapped)} mapped · ${count(kept)} kept · ${count(dropped)} dropped`
  const reasons = dropped === 0 ? [] : rowsUnder('Dropped', tallied(droppedBy, colour), colour)
  return [row('Records', `${colour.bold(count(records))}: ${counts}`, colour), ...reasons]
}

/** @type {(bundle: Seal, colour: Colours) => string[]} */
function seal({ problems, signed, ...info }, colour) {
  const rows = info.bundleId === undefined ? [] : infoRows(/** @type {BundleInfo} */ (info), colour)
  if (signed !== undefined)
    rows.push(row('Signed', signed ? 'yes; by whom, verify --key says' : colour.dim('no'), colour))
  return rows
}

/** @type {(found: SessionInspection, colour: Colours, width: number) => string[][]} */
function sessionSections(found, colour, width) {
  const { header, metadata, events, historyLength, lastSeq, checkpoints = [], images } = found
  /** @type {Partial<SessionStartPayload>} */
  const start = metadata ?? header ?? {}
  const directories = Array.isArray(start.workspaceDirs) ? start.workspaceDirs.map((dir) => printable(dir)) : []
  const isForeign = found.format !== undefined
  // A conversion gives a session without an id another one each time.
  const id =
    isForeign && found.receipt.sessionId === ''
      ? colour.dim('the file states no id')
      : colour.cyan(printable(start.sessionId ?? '?'))
  return [
    [
      row('Session', id, colour),
      ...nameRows(found, colour, width),
      ...(isForeign && start.projectHash === OF_NO_DIRECTORY
        ? []
        : [row('Project', printable(start.projectHash ?? '?'), colour)]),
      ...list('Directories', directories, 6, colour),
      ...(isForeign ? modelRows(start, found.models, colour) : [row('Model', model(start), colour)]),
    ],
    talkRows(found, colour),
    [
      ...eventRows(isForeign ? knownTimes(events) : events, colour),
      ...editRows(new Map(Object.entries(found.edits ?? {})), colour),
      row('History', historyLength === undefined ? colour.dim('none') : plural(historyLength, 'item'), colour),
      ...checkpointRows(checkpoints, colour, width),
      ...(images === undefined
        ? []
        : [
            row(
              'Images',
              `${plural(images.references, 'reference')} to ${plural(images.objects, 'object')} (${fileSize(images.bytes)})`,
              colour,
            ),
          ]),
      row('Last seq', lastSeq === undefined ? colour.dim('none') : String(lastSeq), colour),
    ],
  ]
}

/** The project of another program's session without a directory: the SHA-256 of nothing. */
const OF_NO_DIRECTORY = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'

/** The time of another program's session that states none. */
const UNKNOWN_TIME = '1970-01-01T00:00:00.000Z'

/** @type {(events: Events) => Events} */
const knownTimes = ({ firstTime, lastTime, ...events }) => ({
  ...events,
  firstTime: firstTime === UNKNOWN_TIME ? null : firstTime,
  lastTime: lastTime === UNKNOWN_TIME ? null : lastTime,
})

/**
 * The models of another program's session, in the order in which they were first used.
 *
 * @type {(start: Partial<SessionStartPayload>, models: string[], colour: Colours) => string[]}
 */
function modelRows({ provider }, models, colour) {
  const from = provider === 'unknown' ? '' : colour.dim(` (${printable(provider, 80)})`)
  if (models.length === 0) return [row('Model', `${colour.dim('not stated')}${from}`, colour)]
  return list(
    models.length === 1 ? 'Model' : 'Models',
    models.map((name, i) => `${printable(name, 80)}${i === 0 ? from : ''}`),
    10,
    colour,
  )
}

/** The rows of what was said in another program's session. @type {(found: SessionInspection, colour: Colours) => string[]} */
function talkRows(found, colour) {
  if (found.turns === undefined) return []
  // How much of a number is nothing says nothing.
  const stated = Object.entries(found.usage ?? {}).filter(([name, n]) => n > 0 || name === 'input' || name === 'output')
  const tokens = stated.map(([name, n]) =>
    name === 'cost' ? `${n.toFixed(4)} USD` : `${count(n)} ${NAMES_OF_USAGE[name]}`,
  )
  return [
    row('Turns', turns(new Map(Object.entries(found.turns)), colour), colour),
    ...tools(new Map(Object.entries(found.tools)), colour),
    row('Tokens', tokens.length === 0 ? colour.dim('not stated') : tokens.join(' · '), colour),
  ]
}

/** @type {Record<string, string>} */
const NAMES_OF_USAGE = {
  input: 'in',
  cached: 'of them cached',
  cacheWrite: 'of them written to the cache',
  output: 'out',
  reasoning: 'of them reasoning',
}

/** @type {(found: RunInspection, colour: Colours) => string[][]} */
function runSections({ header, runId, status, events, nodes, workers, snapshots, blobs }, colour) {
  const { workflow, scheduler } = header ?? {}
  const name = workflow
    ? [workflow.name, workflow.version].map((part) => printable(part ?? '?', 80)).join(' ')
    : colour.dim('not in the log')
  return [
    [
      row('Run', colour.cyan(printable(runId ?? '?')), colour),
      row('Workflow', name, colour),
      row('Scheduler', printable(scheduler ?? '?', 40), colour),
      row('Status', status ?? '?', colour),
    ],
    [
      ...eventRows(events, colour),
      ...rowsUnder('Nodes', tallied(nodes, colour), colour),
      row('Workers', count(workers), colour),
      ...list(
        'Snapshots',
        snapshots.map((one) => snapshotText(one, colour)),
        MAX_SNAPSHOTS,
        colour,
      ),
      row('Blobs', blobs.count === 0 ? colour.dim('none') : `${count(blobs.count)} (${fileSize(blobs.bytes)})`, colour),
    ],
  ]
}

/** @type {(events: Events, colour: Colours) => string[]} */
function eventRows({ count: events, byKind, firstTime, lastTime }, colour) {
  const kinds = Object.fromEntries(Object.entries(byKind).map(([kind, n]) => [printable(kind, 30), n]))
  const [first, last] = [moment(firstTime), moment(lastTime)]
  const length =
    first && last
      ? colour.dim(
          ` (${duration(Math.max(0, Date.parse(/** @type {string} */ (lastTime)) - Date.parse(/** @type {string} */ (firstTime))))})`,
        )
      : ''
  return [
    ...rowsUnder('Events', [colour.bold(count(events)), ...tallied(kinds, colour)], colour),
    row('First', first ?? colour.dim('no time'), colour),
    row('Last', last ? `${last}${length}` : colour.dim('no time'), colour),
  ]
}

/** @type {(snapshot: RunInspection['snapshots'][number], colour: Colours) => string} */
const snapshotText = ({ snapshot, size, signed }, colour) =>
  `${snapshot}  ${fileSize(size)}${signed ? '  signed' : colour.dim('  not signed')}`

/** The rows of notes and damage. @type {(found: Inspection, colour: Colours, width: number) => string[]} */
function verdict(found, colour, width) {
  const { damaged, bundle, warnings = [], damage = [], notes = [], error, kind, repair } = found
  const longest = Math.max(200, width * 3)
  const problems = (bundle?.problems ?? []).map(
    ({ code, message }) => `${printable(code)}: ${printable(message, longest)}`,
  )
  const bad = [...problems, ...(kind === 'session' && error ? [error] : []), ...damage].map(
    (text) => `  ${colour.red('✗')} ${printable(text, longest)}`,
  )
  if (bad.length > MAX_PROBLEMS)
    bad.splice(MAX_PROBLEMS, Infinity, colour.dim(`  … and ${count(bad.length - MAX_PROBLEMS)} more`))
  const wrong = kind === 'run' && error ? whatIsWrong(error, null, colour, width).slice(0, -1) : bad
  return [
    damaged ? colour.red('Damaged') : row('Damage', colour.green('none found'), colour),
    ...wrong,
    ...(repair === undefined ? [] : [`  ${colour.green('→')} ${printable(repair, 2000)}`]),
    ...sequenceWarning(found, colour),
    ...warningRows([...warnings, ...notes], colour, width),
  ]
}

module.exports = { inspectionPage, receiptRows }
