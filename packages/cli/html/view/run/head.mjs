// The top of the page: facts about the run, whether it is what was recorded, and its totals.

import { count, plural } from '../../../quantities.js'
import { button, content, el, table } from '../dom.mjs'
import { toolsView } from '../session/head.mjs'
import { aboutView } from '../shell.mjs'
import { taskTotals, toolTotals } from './bars.mjs'

const MAX_TOOLS = 10

export const CHECK_NAMES = {
  chain: 'Hash chain',
  dag: 'Graph',
  schedule: 'Schedule',
  stateHashes: 'States',
  outputHashes: 'Outputs',
  blobs: 'Blobs',
  snapshots: 'Snapshots',
}

export function headView(run, bars, pick) {
  const { all, failed, rejected, retries, moved } = taskTotals(run, bars)
  const counts = { Failed: failed, Retries: retries, Rejected: rejected, Reassigned: moved }
  const facts = [
    ...run.facts,
    ...Object.entries({ Events: run.length, Nodes: run.nodes.length, Tasks: all }),
    ...Object.entries(counts).filter(([, number]) => number > 0),
  ].map(([name, value]) => [name, typeof value === 'number' ? count(value) : value])
  const more = run.first > 0 ? [el('p.note', `It begins at ${run.nameOf(0)}, behind a snapshot.`)] : []
  const tools = el('section.total', el('h2', 'Tools'), ...toolsView(toolTotals(run), MAX_TOOLS))
  return el('div.summary', aboutView(run, facts, { more }), el('div.totals', verdictView(run, pick), tools))
}

function verdictView(run, pick) {
  const { verification, problem } = run
  const parts =
    verification === null
      ? [el('p.verdict', 'It is being verified…')]
      : [
          verdictOf(run),
          checksTable(verification.checks),
          ...run.failures.map((found) => failureView(run, found, pick)),
        ]
  if (problem !== null) parts.push(content('p.problem', `The log can’t be read further: ${problem.message}`))
  return el('section.verification', ...parts)
}

function verdictOf({ verification: { ok, checks }, failures }) {
  if (failures.length > 0)
    return el('p.verdict.bad', el('strong', 'Not what was recorded. '), `${plural(failures.length, 'check')} failed.`)
  if (ok) return el('p.verdict.good', el('strong', 'Sound. '), 'It is what was recorded.')
  const unverifiable = checks.reduce((sum, [, check]) => sum + check.unverifiable, 0)
  return el('p.verdict', el('strong', 'Nothing failed'), `, but ${plural(unverifiable, 'item')} can’t be verified.`)
}

function checksTable(checks) {
  const rows = checks.map(([name, { checked, failed, unverifiable }]) => {
    const state = failed > 0 ? '✗' : checked === 0 ? '–' : unverifiable > 0 ? '!' : '✓'
    const counts = [checked, failed, unverifiable].map((number) => (number === 0 ? '–' : count(number)))
    return { name: failed > 0 ? 'failed' : undefined, cells: [`${state} ${CHECK_NAMES[name]}`, ...counts] }
  })
  return table(['Check', 'Checked', 'Failed', 'Unverifiable'], rows)
}

function failureView(run, { name, code, message, time }, pick) {
  const at = run.eventAt(time)
  const where = at === undefined ? null : button('.link', () => pick(at), {}, run.nameOf(at))
  return el('p.problem', el('b', `${CHECK_NAMES[name]}, ${code}: `), content('span', message), ' ', where)
}
