'use strict'

// Formats the result of `verifyRun` as a table.

const { count } = require('../quantities.js')
const { printable } = require('../safe-text.js')

/** @import { Check, RunError, RunVerification } from 'session-tape' */
/** @import { Colours } from '../colours.js' */

/** @type {[name: 'chain' | 'dag' | 'schedule' | 'stateHashes' | 'outputHashes' | 'blobs' | 'snapshots', label: string, what: string][]} */
const CHECKS = [
  ['chain', 'Log', 'lines: form, place, hashes, transitions'],
  ['dag', 'Graph', 'workflow.json against dag.json and the log'],
  ['schedule', 'Schedule', 'assignments against the scheduler'],
  ['stateHashes', 'States', 'the state after each event'],
  ['outputHashes', 'Outputs', "tools' outputs against their blobs"],
  ['blobs', 'Blobs', 'stored blobs against their hashes and sizes'],
  ['snapshots', 'Snapshots', 'files that a replay could begin with'],
]

/** @type {(run: RunVerification) => number} */
const failures = (run) => CHECKS.reduce((sum, [name]) => sum + (run[name]?.failed ?? 0), 0)
/** @type {(run: RunVerification) => number} */
const unverifiable = (run) => CHECKS.reduce((sum, [name]) => sum + (run[name]?.unverifiable ?? 0), 0)

/** @type {(run: RunVerification, colour: Colours, width: number) => string[]} */
function checkTable(run, colour, width) {
  const head = ['', 'checked', 'failed', 'unverifiable']
    .map((title, i) => (i === 0 ? title.padEnd(12) : title.padStart(13)))
    .join('')
  const rows = CHECKS.flatMap(([name, label, what]) => checkRows(run[name], label, what, colour, width))
  return [colour.dim(head), ...rows]
}

/** @type {(check: Check | undefined, label: string, what: string, colour: Colours, width: number) => string[]} */
function checkRows(check, label, what, colour, width) {
  if (check === undefined) return []
  const numbers = [check.checked, check.failed, check.unverifiable].map((n) => count(n).padStart(13))
  const tones = [
    String,
    check.failed > 0 ? colour.red : colour.dim,
    check.unverifiable > 0 ? colour.yellow : colour.dim,
  ]
  const row = `${mark(check, colour)} ${label.padEnd(10)}${numbers.map((text, i) => tones[i](text)).join('')}  ${colour.dim(what)}`
  return check.firstFailure ? [row, `    ${failure(check.firstFailure, Math.max(200, width * 3))}`] : [row]
}

/** @type {(check: Check, colour: Colours) => string} */
function mark({ checked, failed, unverifiable: left }, colour) {
  if (failed > 0) return colour.red('✗')
  if (left > 0) return colour.yellow('?')
  return checked > 0 ? colour.green('✓') : colour.dim('–')
}

/** @type {(failure: RunError, longest: number) => string} */
const failure = ({ code, message, eventId }, longest) =>
  `${printable(code)}: ${printable(message, longest)}${eventId && !message.includes(eventId) ? ` (${printable(eventId)})` : ''}`

module.exports = { checkTable, failures, unverifiable }
