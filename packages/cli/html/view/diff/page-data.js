// The data of the page. Payloads are parsed only when they are shown.

class Side {
  #lines

  constructor(name, data) {
    Object.assign(this, data)
    this.name = name
    this.Name = name === 'left' ? 'Left' : 'Right'
    this.events = data.events.map(([place, kind, label, excerpt, node, parent, ts, flags]) => {
      return { place, kind, label, excerpt, node, parent, ts, hasFailed: (flags & 1) !== 0 }
    })
    // Each payload is on a line of its own.
    this.#lines = islandText(`${name}-payloads`).slice(2, -2).split(',\n')
  }

  payloadText(index) {
    return this.#lines[index]
  }

  /** `[payload, cuts]`, or null if the payload is not in the page. */
  payload(index) {
    return JSON.parse(this.#lines[index])
  }
}

function readPage() {
  const page = JSON.parse(islandText('page-data'))
  page.sides = [new Side('left', page.left), new Side('right', page.right)]
  page.rows = page.rows.map(([kind, left, right]) => ({ kind: page.rowKinds[kind], at: [left, right] }))
  page.divergenceRow = page.rows.findIndex(({ kind }) => kind === 'divergence')
  page.rowOf = [0, 1].map((side) => rowsByPlace(page, side))
  page.noun = page.kind === 'run' ? 'event' : 'record'
  page.named = (side) => page.sides[side].id ?? page.sides[side].given
  return page
}

function rowsByPlace({ rows, sides }, side) {
  const found = new Map()
  for (const [index, { kind, at }] of rows.entries()) {
    if (kind !== 'gap' && at[side] >= 0) found.set(sides[side].events[at[side]].place, index)
  }
  return found
}
