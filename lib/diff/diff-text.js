'use strict'

// Renders a diff as text. Text of a recording is escaped, so that it can't control the terminal.

const { plainJson, hasOwn } = require('../builtins.js')
const { NO_OPTIONS, check } = require('../arguments.js')
const { INVISIBLE } = require('../invisible.js')

const RESET = '\u001b[0m'
const COLORS = { title: '\u001b[1m', left: '\u001b[31m', right: '\u001b[32m', event: '\u001b[36m', dim: '\u001b[2m' }

/** Members of a side that are shown elsewhere or not at all. */
const OMITTED = new Set(['run_id', 'event_id', 'kind', 'node', 'tool'])

function diffToText(diff, options) {
  if (diff !== null) check.object(diff, 'diff')
  if (options !== undefined) {
    check.object(options, 'options')
    check.optional(options.color, 'options.color', 'boolean')
    check.optional(options.details, 'options.details', 'boolean')
  }
  const { color = false, details = false } = options ?? NO_OPTIONS
  const paint = color ? (name, text) => `${COLORS[name]}${text}${RESET}` : (name, text) => text
  if (diff === null) return paint('title', 'No divergence')
  const lines = [
    paint('title', `Divergence at event #${diff.divergence_event}`),
    '',
    ...sideLines('Left', diff.left, paint),
    '',
    ...sideLines('Right', diff.right, paint),
    ...chainLines(diff, paint),
  ]
  if (details) lines.push(...detailLines(diff, paint))
  return lines.join('\n')
}

function sideLines(name, side, paint) {
  const color = name.toLowerCase()
  if (side === null) return [paint(color, `${name}:`), '  (ended)']
  const tool = member(side, 'tool')
  const about = tool === undefined ? ['node', member(side, 'node')] : ['tool', tool]
  // No array destructuring, for the reason given at `checkEach` in arguments.js.
  const members = Object.entries(side).filter((member) => !OMITTED.has(member[0]))
  const lines = [['kind', side.kind], about, ...members].filter((member) => member[1] !== undefined)
  return [paint(color, `${name} (${shown(side.run_id)}):`), ...lines.map((member) => `  ${shown(member[0])}: ${shown(member[1])}`)]
}

function chainLines({ left, ancestors }, paint) {
  const side = left === null ? 'right' : 'left'
  const chain = ancestors[side].map((edge) => {
    const label = member(edge, 'label')
    const named = label === undefined ? '' : ` (${shown(label)})`
    return `  - ${paint('event', `#${numberOf(edge.event_id)}`)}: ${shown(edge.kind)}${named}`
  })
  if (chain.length === 0) return []
  const truncated = member(ancestors, 'truncated')
  const isTruncated = truncated !== undefined && member(truncated, side)
  return [paint('title', 'Causal chain:'), ...chain, ...(isTruncated ? ['  - …'] : [])]
}

function detailLines(diff, paint) {
  const { kind, likely_cause: cause, common_ancestor: common, affected_nodes: nodes, fields } = diff
  const edits = member(diff, 'edits')
  const stopped = member(diff, 'edits_stopped')
  const lines = [`Kind: ${shown(kind)}`, `Likely cause: ${shown(cause)}`]
  if (common !== null) lines.push(`Common ancestor: #${numberOf(common)}`)
  if (nodes.length > 0) lines.push(`Affected nodes: ${nodes.map(shown).join(', ')}`)
  if (fields.length > 0) lines.push('Fields:', ...fields.map((field) => fieldLine(field, paint)))
  if (edits !== undefined) lines.push(`Edits: ${edits.length}`)
  if (stopped !== undefined) lines.push(`Edits: more than ${stopped.limit}`)
  return ['', ...lines]
}

function fieldLine(field, paint) {
  const { path } = field
  const note = member(field, 'note')
  const value = (color, one) => paint(color, one === undefined ? '(absent)' : shortened(plainJson(one)))
  return `  ${shown(path)}: ${value('left', member(field, 'left'))} → ${value('right', member(field, 'right'))}${note === undefined ? '' : paint('dim', ` (${shown(note)})`)}`
}

/** Returns an own property, or `undefined`. */
function member(object, name) {
  return hasOwn(object, name) ? object[name] : undefined
}

/** The number after `evt_` or `rec_`. */
function numberOf(eventId) {
  return shown(eventId.slice(eventId.indexOf('_') + 1))
}

function shortened(text) {
  const clean = shown(text)
  // An emoji that is cut may leave a joiner, which nothing needs any more.
  return clean.length > 100 ? `${shown(clean.slice(0, 100))}…` : clean
}

/** A value on one line, with invisible characters escaped. */
function shown(value) {
  const text = typeof value === 'string' ? value : plainJson(value)
  return text.replace(INVISIBLE, (found) => {
    const named = { '\n': '\\n', '\r': '\\r', '\t': '\\t' }[found]
    return named ?? `\\u{${found.codePointAt(0).toString(16)}}`
  })
}

module.exports = { diffToText }
