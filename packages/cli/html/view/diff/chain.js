// The causal chains of both sides, from the root to the diverging events.

/** The number of entries that are shown at either end of a long part of a chain. */
const SHOWN = 3

class ChainView {
  /** @param jump called with the number of a timeline row */
  constructor(page, jump) {
    this.page = page
    this.jump = jump
    this.links = []
    this.canvas = svg('svg', { class: 'edges', 'aria-hidden': 'true' })
    this.list = el('ol.chain')
    this.element = el('div.chain-figure', this.canvas, this.list)
    this.#build()
    new ResizeObserver(() => this.#draw()).observe(this.element)
  }

  #build() {
    const { trunk, branches } = partedChains(this.page)
    const ends = this.#column(trunk, 'both', [])
    const tips = branches.map((branch, side) => {
      const { divergence } = this.page
      const name = side === 0 ? 'left' : 'right'
      const tip = this.#column(branch, name, ends)
      return divergence.places[name] === null ? tip : this.#tip(side, name, tip)
    })
    this.list.classList.toggle(
      'one-sided',
      tips.some((tip) => tip.length === 0),
    )
  }

  /** Adds entries, from the farthest to the nearest, and returns those that the next entry is attached to. */
  #column(chain, lane, above) {
    let [causes, ends, before] = [[], above, null]
    for (const entry of shortened([...chain].reverse())) {
      const item = entry.skipped
        ? el(`li.${lane}.skipped`, `${counted(entry.skipped, this.page.noun)} between`)
        : this.#entry(entry, lane)
      this.list.append(item)
      const isSibling = this.#areSiblings(before, entry)
      if (!isSibling) causes = ends
      // The entry of a cause has the evidence of the edge, which is drawn to its effect.
      for (const end of causes) this.links.push({ ...end, to: item, lane })
      ends = [...(isSibling ? ends : []), { from: item, isRecorded: entry.isRecorded ?? true }]
      before = entry
    }
    return ends
  }

  /** Whether two entries are responses of parallel tool calls. These have the same cause, and are all causes of the next item of the AI. */
  #areSiblings(before, entry) {
    return (
      this.page.kind === 'session' &&
      before !== null &&
      [before, entry].every(({ event, skipped }) => !skipped && event?.kind === 'tool')
    )
  }

  #entry({ place, kind, label, isRecorded, row, event }, lane) {
    // Prefer the label of the timeline if the event is in it.
    const words = [
      el('span.number', `#${place}`),
      content('span.kind', event?.kind ?? kind),
      content('span.label', event?.label ?? label),
    ]
    const evidence = isRecorded ? 'recorded' : 'inferred'
    const item = el(`li.${lane}`)
    if (row === undefined) item.append(el('span.event', ...words))
    else
      item.append(
        button(
          '.event',
          null,
          () => this.jump(row),
          ...words,
          el('span.unseen', `, ${evidence}: show it in the timeline`),
        ),
      )
    return item
  }

  #tip(side, name, above) {
    const { page } = this
    const event = eventAt(page, side, page.divergence.places[name])
    const item = el(
      `li.${name}.tip`,
      el(
        'span.event',
        el('span.number', `#${page.divergence.places[name]}`),
        content('span.kind', event?.kind ?? ''),
        content('span.label', event?.label ?? ''),
      ),
    )
    this.list.append(item)
    for (const end of above) this.links.push({ ...end, to: item, lane: name })
    return [{ from: item, isRecorded: true }]
  }

  #draw() {
    const { width, height, left, top } = this.element.getBoundingClientRect()
    withAttributes(this.canvas, { width, height, viewBox: `0 0 ${width} ${height}` })
    const box = (item) => {
      const rect = item.firstElementChild?.getBoundingClientRect() ?? item.getBoundingClientRect()
      return { x: rect.left - left + rect.width / 2, top: rect.top - top, bottom: rect.bottom - top }
    }
    this.canvas.replaceChildren(
      ...this.links.map(({ from, to, lane, isRecorded }) => {
        const [a, b] = [box(from), box(to)]
        const middle = (a.bottom + b.top) / 2
        const d = `M${a.x} ${a.bottom}C${a.x} ${middle} ${b.x} ${middle} ${b.x} ${b.top}`
        return svg('path', { d, class: `edge ${lane} ${isRecorded ? 'recorded' : 'inferred'}` })
      }),
    )
  }
}

const eventAt = (page, side, place) => {
  const row = page.rowOf[side].get(place)
  return row === undefined ? undefined : page.sides[side].events[page.rows[row].at[side]]
}

/** Splits two chains, nearest first, into their common part from the root on and the rest of each. */
function partedChains(page) {
  const { chains } = page.divergence
  const [left, right] = ['left', 'right'].map((name, side) => {
    return chains[name].edges.map((edge) => ({
      ...edge,
      row: page.rowOf[side].get(edge.place),
      event: eventAt(page, side, edge.place),
    }))
  })
  let shared = 0
  const fromRoot = (chain, depth) => chain[chain.length - 1 - depth]
  while (shared < Math.min(left.length, right.length) && isSame(fromRoot(left, shared), fromRoot(right, shared)))
    shared++
  return {
    trunk: left.slice(left.length - shared),
    branches: [left.slice(0, left.length - shared), right.slice(0, right.length - shared)],
  }
}

/** Whether two entries are in the same timeline row or, if their row is not in the page, have the same id. */
const isSame = (a, b) => (a.row !== undefined && b.row !== undefined ? a.row === b.row : a.id === b.id)

function shortened(entries) {
  if (entries.length <= 2 * SHOWN) return entries
  return [...entries.slice(0, 1), { skipped: entries.length - 1 - SHOWN }, ...entries.slice(-SHOWN)]
}

/** The timeline rows of a side's chain, nearest first. */
function chainRows(page, side) {
  const name = page.sides[side].name
  const start = page.rowOf[side].get(page.divergence.places[name])
  const rows = start === undefined ? [] : [{ row: start, isRecorded: true }]
  for (const { place, isRecorded } of page.divergence.chains[name].edges) {
    const row = page.rowOf[side].get(place)
    if (row !== undefined) rows.push({ row, isRecorded })
  }
  return rows
}
