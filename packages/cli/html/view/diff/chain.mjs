// The causal chains of both sides: a picture from the root to the diverging events, and rails with a bead for each ancestor in the timeline.

import { render } from 'preact'
import { plural } from '../../../quantities.js'
import { box, button, content, el, elWith, node } from '../dom.mjs'

/** The number of entries that are shown at the near end of a long part of a chain. */
const SHOWN = 3

/**
 * A picture of the chains, whose edges are drawn when its entries have their places.
 *
 * @param {(row: number) => void} jump
 */
export function chainFigure(page, jump) {
  const [left, right] = page.sides.map((side) => chainOf(page, side))
  let shared = 0
  while (shared < Math.min(left.length, right.length) && isSame(left[shared], right[shared])) shared++
  const figure = new Figure(page)
  const trunk = figure.add(left.slice(0, shared), 'both', [])
  for (const [side, chain] of [left, right].entries()) {
    const { name } = page.sides[side]
    const ends = figure.add(chain.slice(shared), name, trunk)
    const place = page.divergence.places[name]
    if (place !== null) figure.add([{ place, isTip: true, event: eventAt(page, page.sides[side], place) }], name, ends)
  }
  return figure.element(jump)
}

const eventAt = ({ rows, sides }, side, place) => rows[side.rowOf.get(place)]?.events[sides.indexOf(side)]

/** The entries of a side, from the root on. */
const chainOf = (page, side) =>
  page.divergence.chains[side.name].edges
    .map((edge) => ({ ...edge, row: side.rowOf.get(edge.place), event: eventAt(page, side, edge.place) }))
    .reverse()

/** Whether two entries are in the same timeline row or, if their row is not in the page, have the same id. */
const isSame = (a, b) => (a.row !== undefined && b.row !== undefined ? a.row === b.row : a.id === b.id)

class Figure {
  #entries = []
  #links = []

  constructor(page) {
    this.page = page
  }

  /** Adds entries, from the farthest to the nearest, and returns those that the next entry is attached to. */
  add(chain, lane, above) {
    let [causes, ends, before] = [[], above, null]
    for (const entry of shortened(chain)) {
      const to = this.#entries.push({ ...entry, lane }) - 1
      const isSibling = this.#areSiblings(before, entry)
      if (!isSibling) causes = ends
      // The entry of a cause has the evidence of the edge, which is drawn to its effect.
      for (const end of causes) this.#links.push({ ...end, to, lane })
      ends = [...(isSibling ? ends : []), { from: to, isRecorded: entry.isRecorded ?? true }]
      before = entry
    }
    return ends
  }

  /** Whether two entries are responses of parallel tool calls. These have the same cause, and are all causes of the next item of the AI. */
  #areSiblings(before, entry) {
    const isResponse = ({ event, skipped }) => !skipped && event?.kind === 'tool'
    return this.page.kind === 'session' && before !== null && isResponse(before) && isResponse(entry)
  }

  element(jump) {
    const canvas = node(elWith('svg.edges', { 'aria-hidden': 'true' }))
    const list = node(el('ol.chain', ...this.#entries.map((entry) => entryView(entry, this.page.noun, jump))))
    const element = box(el('div.chain-figure'), canvas, list)
    new ResizeObserver(() => this.#draw(canvas, [...list.children])).observe(element)
    return element
  }

  #draw(canvas, items) {
    const { left, top } = canvas.parentNode.getBoundingClientRect()
    const boxes = items.map((item) => {
      const box = (item.firstElementChild ?? item).getBoundingClientRect()
      return { x: box.left - left + box.width / 2, top: box.top - top, bottom: box.bottom - top }
    })
    const paths = this.#links.map(({ from, to, lane, isRecorded }) => {
      const [a, b] = [boxes[from], boxes[to]]
      const middle = (a.bottom + b.top) / 2
      const d = `M${a.x} ${a.bottom}C${a.x} ${middle} ${b.x} ${middle} ${b.x} ${b.top}`
      return elWith(`path.edge.${lane}.${evidence(isRecorded)}`, { d })
    })
    render(paths, canvas)
  }
}

const evidence = (isRecorded) => (isRecorded ? 'recorded' : 'inferred')

function shortened(entries) {
  if (entries.length <= 2 * SHOWN) return entries
  return [entries[0], { skipped: entries.length - 1 - SHOWN }, ...entries.slice(-SHOWN)]
}

function entryView({ lane, skipped, isTip, place, kind = '', label = '', isRecorded, row, event }, noun, jump) {
  if (skipped) return el(`li.${lane}.skipped`, `${plural(skipped, noun)} between`)
  // The label of the timeline is better, if the event is in it.
  const words = [
    el('span.number', `#${place}`),
    content('span.kind', event?.kind ?? kind),
    content('span.label', event?.label ?? label),
  ]
  if (row === undefined) return el(`li.${lane}${isTip ? '.tip' : ''}`, el('span.event', ...words))
  const more = el('span.unseen', `, ${evidence(isRecorded)}: show it in the timeline`)
  return el(
    `li.${lane}`,
    button('.event', () => jump(row), {}, ...words, more),
  )
}

/** Draws the rails of both sides into the timeline's canvas. */
export function drawRails({ sides, chains }, timeline) {
  const { element, canvas } = timeline
  const spine = element.querySelector('.spine')?.getBoundingClientRect()
  if (!spine) return
  const { left } = element.getBoundingClientRect()
  const parts = sides.flatMap(({ name }, side) => {
    const x = spine.left - left + spine.width * (side === 0 ? 0.27 : 0.73)
    const beads = chains[side]
      .map((bead) => ({ ...bead, y: timeline.middleOf(bead.row) }))
      .filter(({ y }) => y !== undefined)
    const rails = beads.slice(1).map(({ y, isRecorded }, at) => {
      return elWith(`path.rail.${name}.${evidence(isRecorded)}`, { d: `M${x} ${beads[at].y}V${y}` })
    })
    const circles = beads.map(({ y }, at) =>
      elWith(`circle.bead.${name}${at === 0 ? '.tip' : ''}`, { cx: x, cy: y, r: at === 0 ? 5 : 3.5 }),
    )
    return [...rails, ...circles]
  })
  render(parts, canvas)
}
