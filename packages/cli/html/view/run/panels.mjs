// What is known of the selected event: the state after it, its payload, its causal ancestors, and what verification reports about it.

import { count, plural } from '../../../quantities.js'
import { button, content, el, elWith, table } from '../dom.mjs'
import { payloadView } from '../payload.mjs'
import { isoOf } from '../quantities.mjs'
import { cutTable, redactedNote } from '../shell.mjs'
import { SIGNS } from './graph.mjs'
import { CHECK_NAMES } from './head.mjs'
import { NODE } from './state.mjs'

const MAX_SHOWN = 60
const MAX_TASKS = 12
const MAX_ANCESTORS = 200

/** The state of the coordinator and the workers. */
export function stateView(run, event, { run: status, status: nodes, pending, workers }, isOfEngine) {
  const counts = NODE.map((_, at) => nodes.reduce((sum, each) => sum + (each === at ? 1 : 0), 0))
  const chips = NODE.map((name, at) =>
    counts[at] > 0
      ? el(`span.chip.${name.toLowerCase()}`, `${SIGNS[name]} ${name} `, el('b', count(counts[at])))
      : null,
  )
  return [
    el('h2', `State after ${run.nameOf(event)}`, el('span.note', isOfEngine ? ' rebuilt by the engine' : '')),
    el(
      'div.state-body',
      el('p.run-status', 'Run ', el('b', status)),
      el('p.chips', ...chips),
      pendingView(pending),
      ...workersView(workers),
    ),
  ]
}

function pendingView(pending) {
  if (pending.length === 0) return el('p.note', 'No task waits for a worker.')
  const tasks = pending.slice(0, MAX_SHOWN).flatMap((task) => [content('code', task), ' '])
  const more = pending.length > MAX_SHOWN ? ` and ${plural(pending.length - MAX_SHOWN, 'more task')}` : ''
  return el('p.pending', `Waiting for a worker (${count(pending.length)}): `, ...tasks, more)
}

function workersView(workers) {
  if (workers.length === 0) return [el('p.note', 'There are no workers yet.')]
  const rows = workers.map(({ id, status, active, completed }) => {
    const tasks = active.slice(0, MAX_TASKS).flatMap(([task, of]) => [content('code', task), ` ${of} `])
    return { cells: [id, status, tasks.length > 0 ? tasks : '–', count(completed)] }
  })
  const attributes = { tabindex: 0, role: 'region', 'aria-label': 'Workers' }
  return cutTable(rows, MAX_SHOWN, 'worker', (shown) =>
    elWith('div.scrollable', attributes, table(['Worker', 'Status', 'Tasks', 'Completed'], shown)),
  )
}

/**
 * @param {(event: number) => void} pick shows another event
 * @param {(event: number) => void} readWhole asks the server for the payload
 */
export function eventView(run, event, { pick, readWhole, hasFailed }) {
  const places = [run.nodeOf(event), run.workerOf(event)].filter((name) => name !== null)
  const problems = run.failures
    .filter(({ time }) => time === event + run.first)
    .map(({ name, code, message }) =>
      el('p.problem', el('b', `${CHECK_NAMES[name]}: `), content('span', `${code}. ${message}`)),
    )
  return [
    el('h2', run.nameOf(event), ' ', content('span.kind', run.kindOf(event))),
    el('p.facts', el('time', isoOf(run.clocks[event])), ...places.map((name) => content('span', name))),
    ...problems,
    payloadBox(run, event, readWhole, hasFailed),
    ancestorsView(run, event, pick),
  ]
}

function payloadBox(run, event, readWhole, hasFailed) {
  const parts = run.payload(event)
  const rules = run.redactedAt.get(event + run.first)
  const command = el('code', 'session-tape view --serve')
  const isCut = parts?.[1]?.length > 0
  return el(
    'div.payload',
    el('h3', 'Payload'),
    rules ? redactedNote(rules) : null,
    parts === null ? null : payloadView(parts),
    parts === null && !run.isServed
      ? el('p.note', 'It is not in this page, which would be too large with it. ', command, ' shows it.')
      : null,
    run.isServed && isCut ? button('.whole', () => readWhole(event), {}, 'Show the whole payload') : null,
    hasFailed ? el('p.problem', 'It could not be read.') : null,
  )
}

function ancestorsView(run, event, pick) {
  const found = run.ancestors(event, MAX_ANCESTORS)
  if (found.length === 0) {
    const isFirst = run.first === 0 || event > 0
    const why = isFirst ? 'Nothing: it is the first.' : 'That is before the snapshot with which this log begins.'
    return el('div', el('h3', 'What led to it'), el('p.note', why))
  }
  const items = found.map((at) => {
    const kind = content('span.kind', run.kindOf(at))
    const label = content('span.label', run.nodeOf(at) ?? run.labelOf(at))
    return el(
      'li',
      button('.ancestor', () => pick(at), {}, el('span.number', run.nameOf(at)), ' ', kind, ' ', label),
    )
  })
  const more = found.length === MAX_ANCESTORS ? el('p.note', 'and what was before') : null
  return el('div', el('h3', 'What led to it, nearest first'), el('ol.ancestors', ...items), more)
}
