'use strict'

const { bundleVerification } = require('../bundle.js')
const { Complaint, EXIT, failureOf, usage } = require('../complaint.js')
const { jsonText } = require('../json-text.js')
const { collected, wholeNumber } = require('../option-values.js')
const { moment } = require('../quantities.js')
const { printable } = require('../safe-text.js')
const { sessionEvents } = require('../session/events.js')
const { recordingAt, shown, withFiles } = require('../source.js')

/** @import { CausalEdge, RunEvent, RunEventKind } from 'session-tape' */
/** @import { Colours } from '../colours.js' */
/** @import { Context } from '../context.js' */
/** @import { Define } from '../program.js' */
/** @import { Files } from '../source.js' */
/** @typedef {{ eventId: string, ts?: unknown, type?: unknown, payload?: unknown, value?: unknown }} SessionEvent */
/** @typedef {{ events?: true, from?: number, to?: number, kind?: RunEventKind[] }} Options the kinds are not yet checked, and of a session any */

const EXAMPLES = `
Examples:
  session-tape trace weekly.cath-bundle evt_42            # what led to it, nearest first
  session-tape trace weekly.cath-bundle --events --from 100 --to 200
  session-tape trace weekly.cath-bundle --events --kind ToolFailed,ToolTimedOut --json
  session-tape trace session.jsonl --events --kind compressed

With --events --json each event is a line of JSON. Events are counted from 0: evt_0 is a run's first, rec_0 a session's.
`

/** @type {Define} */
function define(program, does) {
  program
    .command('trace')
    .summary('what led to an event, or all events')
    .description('Shows the chain of causes of an event, or the events one by one.')
    .argument('<path>', 'session, run or bundle')
    .argument('[event]', 'id of an event (evt_42, rec_42), or its number')
    .option('--events', 'the events themselves')
    .option('--from <n>', 'with --events: the first', wholeNumber)
    .option('--to <n>', 'with --events: the last', wholeNumber)
    .option('--kind <kinds>', 'with --events: only of these kinds, with commas between them', collected)
    .option('--json', 'the result as JSON')
    .addHelpText('after', EXAMPLES)
    .action(does(trace))
}

/** @type {(context: Context, args: [path: string, event: string | undefined], options: Options) => Promise<void>} */
async function trace(context, [path, event], options) {
  if ((event === undefined) === (options.events === undefined)) throw usage('trace: name an event, or give --events')
  if (event !== undefined && (options.from ?? options.to ?? options.kind) !== undefined) {
    throw usage('--from, --to, --kind: only with --events')
  }
  const source = await recordingAt(context, path)
  return withFiles(context, source, (files) =>
    event === undefined ? events(context, files, options) : ancestors(context, files, event),
  )
}

const PREFIXES = { run: 'evt_', session: 'rec_' }

/** @type {(context: Context, source: Files, event: string) => Promise<void>} */
async function ancestors(context, source, event) {
  const eventId = /^\d+$/.test(event) ? `${PREFIXES[source.kind]}${event}` : event
  const traced = await context.tape.traceAncestors(source.at, eventId, { signal: context.signal })
  await context.print(traced, (_, colour) => chainText(eventId, traced, colour))
}

/** @type {(eventId: string, traced: { chain: CausalEdge[], truncated: boolean }, colour: Colours) => string} */
function chainText(eventId, { chain, truncated }, colour) {
  const rows = chain.map((edge) => `  - ${edgeText(edge, colour)}\n`)
  if (truncated) rows.push(colour.dim('  … what came before is not in the bundle\n'))
  if (rows.length === 0) rows.push(colour.dim('  nothing: it is the first\n'))
  return `Causal chain of ${printable(eventId)}:\n${rows.join('')}`
}

/** @type {(edge: CausalEdge, colour: Colours) => string} */
function edgeText({ event_id: id, kind, label, evidence }, colour) {
  const what = label === undefined ? '' : ` (${printable(label, 120)})`
  return `${colour.cyan(printable(id))}: ${printable(kind)}${what}${evidence === 'inferred' ? colour.dim(' inferred') : ''}`
}

/** @type {(context: Context, source: Files, options: Options) => Promise<void>} */
async function events(context, source, { from = 0, to = Infinity, kind: kinds }) {
  const isRun = source.kind === 'run'
  // The library verifies a bundle itself when it reads the events of a run.
  if (!isRun && source.form === 'bundle') await expectSound(context, source)
  const toText = /** @type {(event: RunEvent | SessionEvent, context: Context) => string} */ (
    isRun ? runLine : sessionLine
  )
  const { output, signal } = context
  try {
    const found = isRun
      ? context.tape.readRunEvents(source.at, { from, to, signal: context.signal, ...(kinds && { kinds }) })
      : sessionEvents(context.tape, source.log, { from, to, kinds, signal: context.signal })
    for await (const event of found) {
      signal.throwIfAborted()
      if (output.isClosed) break
      await output.write(context.json ? `${jsonText(event)}\n` : toText(event, context))
    }
  } catch (error) {
    throw withoutPlace(error)
  } finally {
    // Also after an error, so that the events before the damage are shown.
    await output.flush()
  }
}

/** An error of the library that names a kind by its place in the options, as one that names the option of the command. @param {unknown} error */
function withoutPlace(error) {
  const { code, message } = failureOf(error)
  const named = message.replace(/^options\.kinds\[\d+\]/, '--kind:')
  return named === message ? error : new Complaint(code, named)
}

/** @type {(context: Context, source: Files) => Promise<void>} */
async function expectSound(context, source) {
  const { problems } = await bundleVerification(context, source, {})
  if (problems.length === 0) return
  const [{ code, message }] = problems
  throw new Complaint(code, `${shown(source.path)} does not verify: ${message}`, {
    exitCode: EXIT.damaged,
    path: source.path,
    problems,
  })
}

/** @type {(event: RunEvent, context: Context) => string} */
function runLine({ eventId, ts, kind, node, parent, payload }, { colour, width }) {
  const lead = `${eventId.padEnd(9)} ${clock(ts)} `
  const cause = parent === null ? '' : colour.dim(` ← ${parent}`)
  const where = node === null ? '' : ` ${printable(node, 40)}`
  return `${colour.cyan(lead)}${kind.padEnd(16)}${where}${cause}  ${colour.dim(inShort(payload, width))}\n`
}

/** @type {(event: SessionEvent, context: Context) => string} */
function sessionLine({ eventId, ts, type, payload, value }, { colour, width }) {
  const content = colour.dim(inShort(payload ?? value, width))
  return `${colour.cyan(eventId.padEnd(9))} ${clock(ts)} ${printable(type ?? '(no type)', 24).padEnd(16)}  ${content}\n`
}

/** @param {unknown} ts */
const clock = (ts) => moment(ts)?.slice(11, 19) ?? '--:--:--'

/** A payload, truncated to the rest of the line. @type {(payload: unknown, width: number) => string} */
function inShort(payload, width) {
  return printable(jsonText(payload ?? null), Math.max(40, width - 50))
}

module.exports = { define }
