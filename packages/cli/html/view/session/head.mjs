// The top of the page: facts about the session, whether it is sound, and its totals.

import { count, fileSize, plural } from '../../../quantities.js'
import { content, el, factsList, table } from '../dom.mjs'
import { lengthOf } from '../quantities.mjs'
import { aboutView, cutTable } from '../shell.mjs'
import { lineLink, nameOf } from './words.mjs'

const MAX_TOOLS = 12
const MAX_TYPES = 14
const MAX_WARNINGS = 100
const MAX_CHECKPOINTS = 40

export function headView(page) {
  const more = [checkpointsView(page)]
  if (page.leftOut > 0) more.push(el('p.note', `The first ${plural(page.leftOut, 'record')} are not in this page.`))
  if (page.excerptsBefore > 1 && !page.isServed) {
    const before = `Before line ${count(page.excerptsBefore)} records are shortened to their beginning. `
    more.push(el('p.note', before, el('code', 'session-tape view --serve'), ' shows all of them.'))
  }
  return el('div.summary', aboutView(page, page.facts, { verdict: verdictView(page), more }), totalsView(page))
}

function verdictView({ error, warnings, sequenceCorrupt }) {
  if (error !== null) return el('p.verdict.bad', el('strong', 'It can’t be replayed. '), content('span', error))
  if (warnings.length === 0) return el('p.verdict.good', el('strong', 'Sound. '), 'It replays without a warning.')
  const order = sequenceCorrupt ? ', and its sequence numbers are not in order' : ''
  const list = warnings
    .slice(0, MAX_WARNINGS)
    .map(([line, text]) => el('li', ...(line > 0 ? [lineLink(line), ': '] : []), content('span', text)))
  const summary = el('summary', el('strong', plural(warnings.length, 'warning')), order)
  return el('details.verdict.bad', summary, el('ul', ...list))
}

function checkpointsView({ checkpoints }) {
  if (checkpoints.length === 0) return null
  const chips = checkpoints
    .slice(0, MAX_CHECKPOINTS)
    .map(([, name, sequence]) => el('span.chip', content('span', name), el('span.note', ` at seq ${sequence}`)))
  return el('p.checkpoints', el('b', 'Checkpoints '), el('span', ...chips))
}

function totalsView({ totals: { speakers, tools, types, largest }, rows, rowOf }) {
  const spoke = speakers
    .filter(({ turns }) => turns > 0)
    .map(({ name, turns, bytes, ms }) => ({
      cells: [nameOf(name), count(turns), `${name === 'human' ? 'waited ' : ''}${lengthOf(ms)}`, fileSize(bytes)],
    }))
  const others = types.filter(({ name }) => name !== 'content').slice(0, MAX_TYPES)
  const row = rows[rowOf.get(largest)]
  return el(
    'div.totals',
    el('section.total', el('h3', 'Who spoke'), table(['Speaker', 'Turns', 'Time', 'Size'], spoke)),
    el('section.total', el('h3', 'Tools'), ...toolsView(tools, MAX_TOOLS)),
    el(
      'section.total',
      el('h3', 'Other records'),
      factsList(
        'dl',
        others.map((type) => [type.name, count(type.count)]),
      ),
      row ? el('p.note', 'The largest record is ', lineLink(largest), `, ${fileSize(row.size)}.`) : null,
    ),
  )
}

/** The calls of tools, with their failures and durations, also of a run. */
export function toolsView(tools, most) {
  if (tools.length === 0) return [el('p.note', 'No tool was called.')]
  const rows = tools.map(({ name, calls, failures, open = 0, ms, longest }) => {
    const failed = [failures > 0 ? count(failures) : '', open > 0 ? `${count(open)} open` : ''].filter(Boolean)
    return { cells: [name, count(calls), failed.join(', ') || '–', lengthOf(ms), lengthOf(longest)] }
  })
  return cutTable(rows, most, 'tool', (shown) => table(['Tool', 'Calls', 'Failed', 'Time', 'Longest'], shown))
}
