'use strict'

// Formats the results of the replay and the tally of a session as text.

const { list, page, row, rowsUnder } = require('../page.js')
const { count, duration, elapsed, fileSize, moment, plural } = require('../quantities.js')
const { printable } = require('../safe-text.js')
const { checkpointRows, nameRows, sequenceWarning } = require('./names.js')

/** @import { SessionEventPayload, SessionHandle, SessionMetadata } from 'session-tape' */
/** @import { Colours } from '../colours.js' */
/** @import { Model, Tally, ToolTally } from './tally.js' */

const SPEAKERS = ['human', 'ai', 'tool']
const MAX_TOOLS = 15
const MAX_EVENTS = 20
const MAX_WARNINGS = 20
const MAX_SWITCHES = 8
const MAX_DIRECTORIES = 6

/**
 * @typedef {object} Shown
 * @property {string} path
 * @property {number} size of the file, in bytes
 * @property {SessionHandle} session opened with `auditTrail`
 * @property {Map<string, number>} survivors the number of items in the history, by speaker
 * @property {Tally} tally
 * @property {number} replayMs
 * @property {string | null} repair what a repair would recover
 *
 * @typedef {(shown: Shown, colour: Colours, width: number) => string[]} Section
 */

/**
 * @param {Shown} shown
 * @param {Colours} colour
 * @param {number} width of the terminal, in columns
 */
function sessionSummary(shown, colour, width) {
  const sections = [about, talk, events, warnings].map((section) => section(shown, colour, width - 2))
  return page('A session', printable(shown.path, 1000), [...sections, foot(shown, colour)], colour)
}

/** @type {Section} */
function about({ session, tally }, colour, width) {
  const { metadata } = session
  const directories = metadata.workspaceDirs.map((dir) => printable(dir))
  return [
    row('Session', colour.cyan(printable(metadata.sessionId)), colour),
    ...nameRows(session, colour, width),
    row('Project', printable(metadata.projectHash), colour),
    ...list('Directories', directories, MAX_DIRECTORIES, colour),
    ...times(metadata, tally, colour),
    row('Model', colour.cyan(model(metadata)), colour),
    ...switches(tally, colour),
  ]
}

/** @type {(metadata: SessionMetadata, tally: Tally, colour: Colours) => string[]} */
function times({ startTime }, { firstTs, lastTs }, colour) {
  const started = moment(startTime) ? startTime : firstTs
  if (started === null || lastTs === null) return [row('Started', colour.dim('not recorded'), colour)]
  const ms = Date.parse(lastTs) - Date.parse(started)
  const length =
    ms < 0
      ? colour.dim('unknown: the clock was put back')
      : `${duration(ms)} ${colour.dim(`(until ${moment(lastTs)})`)}`
  return [row('Started', /** @type {string} */ (moment(started)), colour), row('Duration', length, colour)]
}

/** @type {(tally: Tally, colour: Colours) => string[]} */
function switches({ switchCount, switches: first, startedWith }, colour) {
  if (switchCount === 0) return []
  const shown = first.slice(0, MAX_SWITCHES)
  const rows = [`${plural(switchCount, 'time')}, started with ${model(startedWith ?? {})}`]
  for (const to of shown) rows.push(`→ ${model(to)} ${colour.dim(`(line ${count(to.line)})`)}`)
  const more = switchCount - shown.length
  if (more > 0) rows.push(colour.dim(`… and ${plural(more, 'more switch', 'more switches')}`))
  return rowsUnder('Switched', rows, colour)
}

/** @type {Section} */
function talk({ session, survivors, tally }, colour, width) {
  const inAll = tally.compressions + tally.rewinds + tally.edits.size > 0 ? colour.dim(' in all') : ''
  return [
    row('Turns', `${turns(tally.turns, colour)}${inAll}`, colour),
    ...tools(tally.tools, colour),
    row('Compressions', happened(tally.compressions, tally.itemsCompressed, 'summed up', colour), colour),
    row('Rewinds', happened(tally.rewinds, tally.itemsRewound, 'taken back', colour), colour),
    ...editRows(tally.edits, colour),
    row('History', history(session.historyLength, survivors, colour), colour),
    ...checkpointRows(session.checkpoints, colour, width),
  ]
}

/** @type {(bySpeaker: Map<string, number>, colour: Colours) => string} */
function turns(bySpeaker, colour) {
  if (bySpeaker.size === 0) return colour.dim('none')
  const others = [...bySpeaker.keys()].filter((speaker) => !SPEAKERS.includes(speaker))
  const names = [...SPEAKERS.filter((speaker) => bySpeaker.has(speaker)), ...others.slice(0, 5)]
  return names
    .map((speaker) => `${printable(speaker, 40)} ${colour.bold(count(/** @type {number} */ (bySpeaker.get(speaker))))}`)
    .join(' · ')
}

/** A table of tools, the most used first, with failures in red. @type {(byName: Map<string, ToolTally>, colour: Colours) => string[]} */
function tools(byName, colour) {
  if (byName.size === 0) return [row('Tools', colour.dim('none used'), colour)]
  const sorted = [...byName].sort(([a, x], [b, y]) => y.calls - x.calls || (a < b ? -1 : 1))
  const shown = sorted.slice(0, MAX_TOOLS).map(([name, tool]) => ({ name: printable(name, 40), ...tool }))
  const names = Math.max(...shown.map(({ name }) => name.length))
  const numbers = Math.max(...shown.map(({ calls }) => count(calls).length))
  const rows = shown.map(({ name, ...tool }) => {
    const text = `${name.padEnd(names)}  ${colour.bold(count(tool.calls).padStart(numbers))}`
    return [text, ...toolTroubles(tool, colour)].join('  ')
  })
  if (sorted.length > shown.length) rows.push(colour.dim(`… and ${plural(sorted.length - shown.length, 'more tool')}`))
  return rowsUnder('Tools', rows, colour)
}

/** @type {(tool: ToolTally, colour: Colours) => (string | false)[]} */
function toolTroubles({ calls, responses, failures }, colour) {
  const unanswered = calls - responses
  return [
    failures > 0 && colour.red(`${count(failures)} failed`),
    unanswered > 0 && colour.yellow(`${count(unanswered)} without an answer`),
    unanswered < 0 && colour.dim(`${count(-unanswered)} answers without a call`),
  ].filter(Boolean)
}

/** What edited the history, if anything did. @type {(byType: Map<string, number>, colour: Colours) => string[]} */
function editRows(byType, colour) {
  if (byType.size === 0) return []
  const all = [...byType.values()].reduce((sum, n) => sum + n, 0)
  const types = [...byType].map(([type, n]) => `${type} ${count(n)}`)
  return [row('Edits', `${colour.bold(count(all))} ${colour.dim(`(${types.join(' · ')})`)}`, colour)]
}

/** @type {(times: number, items: number, how: string, colour: Colours) => string} */
const happened = (times, items, how, colour) =>
  times === 0 ? colour.dim('none') : `${colour.bold(count(times))} ${colour.dim(`(${plural(items, 'item')} ${how})`)}`

/** @type {(items: number, bySpeaker: Map<string, number>, colour: Colours) => string} */
function history(items, bySpeaker, colour) {
  if (items === 0) return colour.dim('nothing survives')
  return `${colour.bold(plural(items, 'item'))} ${items === 1 ? 'survives' : 'survive'} (${turns(bySpeaker, colour)})`
}

/** @type {Section} */
function events({ session: { sessionEvents } }, colour, width) {
  if (sessionEvents.length === 0) return []
  const shown = sessionEvents.slice(0, MAX_EVENTS)
  const bySeverity = ['error', 'warning', 'info']
    .map(
      /** @returns {[number, string]} */ (severity) => [
        sessionEvents.filter((event) => event.severity === severity).length,
        severity,
      ],
    )
    .filter(([n]) => n > 0)
    .map(([n, severity]) => (severity === 'info' ? `${count(n)} info` : plural(n, severity)))
  const rows = shown.map((event) => sessionEvent(event, colour, width))
  const more = sessionEvents.length - shown.length
  if (more > 0) rows.push(colour.dim(`  … and ${count(more)} more`))
  return [`${colour.bold('Session events')} ${colour.dim(bySeverity.join(', '))}`, ...rows]
}

/** @type {Record<SessionEventPayload['severity'], [tone: 'dim' | 'yellow' | 'red', mark: string]>} */
const MARKS = { info: ['dim', 'i'], warning: ['yellow', '!'], error: ['red', '✗'] }

/** @type {(event: SessionEventPayload, colour: Colours, width: number) => string} */
function sessionEvent({ severity, message, timestamp, seq }, colour, width) {
  const [tone, mark] = MARKS[severity]
  const time = moment(timestamp)?.slice(11, 19) ?? '--:--:--'
  const number = typeof seq === 'number' ? `#${seq}` : ''
  const lead = `${time} ${number.padEnd(5)}`
  return `  ${colour[tone](mark)} ${colour.dim(lead)} ${printable(message, Math.max(20, width - lead.length - 5))}`
}

/** @type {Section} */
function warnings({ session, repair }, colour, width) {
  const rows = warningRows(session.warnings, colour, width, sequenceWarning(session, colour))
  return repair === null ? rows : [...rows, `  ${colour.green('→')} ${repair}`]
}

/**
 * The section of warnings. `first` are rows to show before the texts; if there are any, there are texts too.
 *
 * @type {(texts: string[], colour: Colours, width: number, first: string[]) => string[]}
 */
function warningRows(texts, colour, width, first) {
  if (texts.length === 0) return [`${colour.bold('Warnings')} ${colour.green('none, the file is sound')}`]
  const rows = texts
    .slice(0, MAX_WARNINGS)
    .map((text) => `  ${colour.yellow('!')} ${printable(text, Math.max(40, width - 4))}`)
  if (texts.length > rows.length) rows.push(colour.dim(`  … and ${count(texts.length - rows.length)} more`))
  return [`${colour.bold('Warnings')} ${colour.dim('of the replay')}`, ...first, ...rows]
}

/** @type {(shown: Shown, colour: Colours) => string[]} */
function foot({ session, size, replayMs }, colour) {
  const speed = size > 1 << 20 ? ` (${fileSize(size / (replayMs / 1000))}/s)` : ''
  return [
    colour.dim(`${plural(session.eventCount, 'event')}, ${fileSize(size)}, replayed in ${elapsed(replayMs)}${speed}`),
  ]
}

/** @type {(names: Partial<Model>) => string} */
const model = ({ provider, model: name }) => [provider, name].map((part) => printable(part || '?', 80)).join(' / ')

module.exports = { sessionSummary, editRows, model, tools, turns }
