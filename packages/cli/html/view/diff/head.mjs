// The top of the page: both sides and the result, and the card at the divergence.

import { count, fileSize, plural } from '../../../quantities.js'
import { content, el, elWith, factsList, node } from '../dom.mjs'
import { chainFigure } from './chain.mjs'
import { fieldView, sidesView } from './fields.mjs'

const MAX_NODES = 40

export const headView = (page) =>
  el(
    'div.summary',
    el('div.title', content('h1', page.title), headline(page)),
    el('div.sides', ...page.sides.map((side) => sideCard(page, side))),
  )

function headline({ divergence, noun }) {
  const equal =
    'Nothing that matters differs: ids, times and what else identifies an execution aside, these are the same.'
  if (!divergence) return el('p.verdict.equal', el('strong', 'Equal. '), equal)
  const { at, says, cause, because } = divergence
  const parts = [says, el('span.cause', `${cause}.`), because].flatMap((part) => (part ? [' ', part] : []))
  return el('p.verdict', el('strong', `They part at ${noun} #${at}.`), ...parts)
}

function sideCard({ kind }, { name, Name, given, id, facts, bytes, count: all, problem, events }) {
  const list = [[kind === 'run' ? 'Events' : 'Records', count(all)], ...facts, ['Log', fileSize(bytes)]]
  const shown = `${count(events.length)} of them are in this page: the beginning, what is around the divergence, and the end.`
  return elWith(
    `section.side.${name}`,
    { 'aria-label': Name },
    el('h2', el('span.tag', Name), ' ', content('span.id', id ?? given)),
    content('p.given', given),
    factsList('dl', list),
    events[0]?.place > 0 ? el('p.note', `It begins at #${events[0].place}, behind a snapshot.`) : null,
    events.length < all ? el('p.note', shown) : null,
    problem ? content('p.problem', `Behind #${events.at(-1)?.place} the log can't be read: ${problem}`) : null,
  )
}

/** @param {(row: number) => void} jump */
export function divergenceCard(page, jump) {
  const { divergence, noun } = page
  const edges = page.sides.flatMap(({ name }) => divergence.chains[name].edges)
  const card = node(
    elWith(
      'section.divergence',
      { id: 'divergence', 'aria-labelledby': 'divergence-title', tabindex: -1 },
      el(
        'header',
        elWith('h2', { id: 'divergence-title' }, 'Here they part'),
        el('p.where', `${noun} #${divergence.at}`),
        el('p.says', divergence.says),
      ),
      el(
        'div.why',
        el('h3', 'Likely cause'),
        el('p.cause', content('strong', divergence.cause)),
        content('p', divergence.because),
      ),
      el('div.what', differences(divergence)),
      el('div.how', el('h3', 'How they came here'), ...chainNotes(divergence, edges), affectedPart(divergence)),
    ),
  )
  if (edges.length > 0) card.querySelector('.how h3').after(chainFigure(page, jump))
  return card
}

function differences(divergence) {
  const { fields, fieldsLeft } = divergence
  return el(
    'div.differences',
    el('h3', 'What differs'),
    ...(fields.length > 0 ? fields.map(fieldView) : [sidesView(divergence)]),
    fieldsLeft > 0 ? el('p.note', `${plural(fieldsLeft, 'more field')} differ.`) : null,
  )
}

/** What the lines of the chain's picture mean. */
function chainNotes({ chains }, edges) {
  if (edges.length === 0) return [el('p.note', 'Nothing led here: it is the beginning.')]
  const [isInferred, isRecorded] = [false, true].map((which) => edges.some((edge) => edge.isRecorded === which))
  const recorded = isRecorded ? [el('span.solid'), isInferred ? 'recorded' : 'recorded in the log'] : []
  const inferred = isInferred ? [el('span.dashed'), 'inferred from the order of the records'] : []
  const isTruncated = chains.left.isTruncated || chains.right.isTruncated
  return [
    el('p.legend', ...inferred, ...recorded),
    isTruncated ? el('p.note', 'The log begins behind a snapshot: what led there is not in it.') : null,
  ]
}

function affectedPart({ affected, affectedLeft }) {
  if (affected.length === 0) return null
  const left = affected.length - MAX_NODES + affectedLeft
  return el(
    'div.affected',
    el('h3', affected.length === 1 ? 'Affected node' : 'Affected nodes'),
    el('ul.nodes', ...affected.slice(0, MAX_NODES).map((name) => content('li', name))),
    left > 0 ? el('p.note', `and ${count(left)} more`) : null,
  )
}
