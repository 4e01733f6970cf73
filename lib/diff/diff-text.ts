// Renders a diff as text. Text of a recording is escaped, so that it can't control the terminal.

import { NO_OPTIONS, check, checked } from '../arguments.js'
import { hasOwn, stringify } from '../builtins.js'
import { INVISIBLE } from '../invisible.js'
import type { Diff, DiffField, DiffSide } from './document.js'

const RESET = '\u001b[0m'
type Color = 'title' | 'left' | 'right' | 'event' | 'dim'
type Paint = (color: Color, text: string) => string

const COLORS: Record<Color, string> = {
  title: '\u001b[1m',
  left: '\u001b[31m',
  right: '\u001b[32m',
  event: '\u001b[36m',
  dim: '\u001b[2m',
}

/** Members of a side that are shown elsewhere or not at all. */
const OMITTED = new Set(['run_id', 'event_id', 'kind', 'node', 'tool'])

/**
 * Formats a diff as text for people, without a line feed at the end. Control characters are escaped.
 *
 * @param diff - What `diff` resolved to.
 * @param options - `color`: use terminal escape sequences for colours (default `false`). `details`: also show the likely cause, the
 * affected nodes, and each field that differs (default `false`).
 */
export function diffToText(
  diff: Diff | null,
  options: { color?: boolean | undefined; details?: boolean | undefined } = NO_OPTIONS,
): string {
  if (diff !== null) check.object(diff, 'diff')
  const { color = false, details = false } = checked<typeof options>(options, {
    color: 'boolean?',
    details: 'boolean?',
  })
  const paint: Paint = color ? (name, text) => `${COLORS[name]}${text}${RESET}` : (_, text) => text
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

function sideLines(name: 'Left' | 'Right', side: DiffSide | null, paint: Paint): string[] {
  const color = name === 'Left' ? 'left' : 'right'
  if (side === null) return [paint(color, `${name}:`), '  (ended)']
  const tool = member(side, 'tool')
  const about = tool === undefined ? ['node', member(side, 'node')] : ['tool', tool]
  // No array destructuring, for the reason given at `checkEach` in arguments.ts.
  const members = Object.entries(side).filter((member) => !OMITTED.has(member[0]))
  const lines = [['kind', side.kind], about, ...members].filter((member) => member[1] !== undefined)
  return [
    paint(color, `${name} (${shown(side.run_id)}):`),
    ...lines.map((member) => `  ${shown(member[0])}: ${shown(member[1])}`),
  ]
}

function chainLines({ left, ancestors }: Diff, paint: Paint): string[] {
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

function detailLines(diff: Diff, paint: Paint): string[] {
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

function fieldLine(field: DiffField, paint: Paint): string {
  const { path } = field
  const note = member(field, 'note')
  const value = (color: Color, one: unknown) => paint(color, one === undefined ? '(absent)' : shortened(stringify(one)))
  return `  ${shown(path)}: ${value('left', member(field, 'left'))} → ${value('right', member(field, 'right'))}${note === undefined ? '' : paint('dim', ` (${shown(note)})`)}`
}

/** Returns an own property, or `undefined`. */
function member<T extends object, N extends keyof T>(object: T, name: N): T[N] | undefined {
  return hasOwn(object, name) ? object[name] : undefined
}

/** The number after `evt_` or `rec_`. */
function numberOf(eventId: string): string {
  return shown(eventId.slice(eventId.indexOf('_') + 1))
}

function shortened(text: string): string {
  const clean = shown(text)
  // An emoji that is cut may leave a joiner, which nothing needs any more.
  return clean.length > 100 ? `${shown(clean.slice(0, 100))}…` : clean
}

const NAMED: Record<string, string | undefined> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' }

/** A value on one line, with invisible characters escaped. */
function shown(value: unknown): string {
  const text = typeof value === 'string' ? value : stringify(value)
  return text.replace(INVISIBLE, (found) => {
    const named = NAMED[found]
    return named ?? `\\u{${found.codePointAt(0)!.toString(16)}}`
  })
}
