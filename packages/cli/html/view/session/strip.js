// The time line above the conversation: how long each speaker took, tools as bars, waits, and what compressions and rewinds removed.

const WIDTH = 1000
const LANES = { human: 0, ai: 1, tool: 2, gone: 3 }
const LANE_NAMES = ['Human', 'AI', 'Tools', 'Taken away']
const LANE = 11
const GAP = 3
const HEIGHT = 4 * (LANE + GAP) + 4
/** Bars that are closer than this, in thousandths of the width, are drawn as one. */
const NEAR = 1
const TICKS = 6
const MAX_REMOVALS = 400
/** The interval at which the frame follows scrolling, in milliseconds. */
const FOLLOWS = 80

const laneTop = (lane) => 2 + lane * (LANE + GAP)

class Strip {
  constructor(page, list) {
    this.page = page
    this.list = list
    this.frame = svg('rect', { class: 'frame', y: 0.5, height: HEIGHT - 1, rx: 2 })
    this.map = svg('svg', {
      class: 'map strip',
      viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
      preserveAspectRatio: 'none',
      'aria-hidden': 'true',
    })
    this.axis = new TimeAxis()
    const lanes = withAttributes(el('div.lanes', ...LANE_NAMES.map((name) => el('span', name))), {
      'aria-hidden': 'true',
    })
    this.element = el('div.time-line', lanes, el('div.plot', this.map, this.axis.element))
    this.map.addEventListener('click', (event) => this.#clicked(event))
    addEventListener('scroll', () => this.#scrolled(), { passive: true })
    this.draw()
  }

  draw() {
    const { page } = this
    this.scale = new TimeScale(Float64Array.from(page.rows, ({ at }) => at ?? NaN))
    this.map.replaceChildren(...this.#waits(), ...this.#lanes(), ...this.#gone(), ...this.#marks(), this.frame)
    this.axis.showTimes(this.#ticks())
    this.update()
  }

  #waits() {
    return this.scale.waits.slice(0, 500).map(([from, to, ms]) => {
      const wait = svg('rect', {
        class: 'wait',
        x: from * WIDTH,
        y: 0,
        width: Math.max((to - from) * WIDTH, 1),
        height: HEIGHT,
      })
      wait.append(svg('title', {}, `${lengthOf(ms)} passed`))
      return wait
    })
  }

  #lanes() {
    const { page, scale } = this
    const bars = new Bars()
    for (const [row, { speaker, flags }] of page.rows.entries()) {
      // Tools are drawn as their calls, which may overlap in time.
      if (flags & ITEM && (speaker === 'human' || speaker === 'ai'))
        bars.add(LANES[speaker], scale.startOf(row), scale.endOf(row), '')
    }
    const calls = page.calls.filter(({ responseLine }) => responseLine > 0)
    const spans = calls
      .map(({ line, responseLine, hasFailed }) => [page.rowOf.get(line), page.rowOf.get(responseLine), hasFailed])
      .filter(([from, to]) => from !== undefined && to !== undefined)
    for (const [from, to, hasFailed] of spans.sort((a, b) => a[0] - b[0]))
      bars.add(LANES.tool, scale.endOf(from), scale.endOf(to), hasFailed ? ' failed' : '')
    return bars.elements()
  }

  #gone() {
    const { page, scale } = this
    removedBy(page, 0)
    const parts = []
    for (const [line, removed] of page.removals) {
      const by = page.rowOf.get(line)
      if (by === undefined || removed.length === 0) continue
      const { type, gone } = page.rows[by]
      const [from, to] = [scale.startOf(removed[0]) * WIDTH, scale.endOf(removed.at(-1)) * WIDTH]
      const bar = svg('rect', {
        class: `bar-gone ${type}`,
        x: from,
        y: laneTop(LANES.gone),
        width: Math.max(to - from, 1.5),
        height: LANE,
      })
      bar.append(svg('title', {}, `${capitalised(removalWord(type))} at line ${line}: ${counted(gone, 'item')}`))
      parts.push(
        bar,
        svg('rect', { class: `remover ${type}`, x: scale.endOf(by) * WIDTH - 0.75, y: 0, width: 1.5, height: HEIGHT }),
      )
      if (parts.length > MAX_REMOVALS) break
    }
    return parts
  }

  #marks() {
    const { page, scale } = this
    const marks = new Map()
    for (const [row, { type, flags, line }] of page.rows.entries()) {
      const kind =
        flags & DAMAGED || page.warningsAt.has(line)
          ? 'damage'
          : type === 'provider_switch'
            ? 'switch'
            : type === 'session_event' && flags & FAILED
              ? 'failure'
              : null
      if (kind) marks.set(`${kind} ${Math.round(scale.endOf(row) * 500) * 2}`, kind)
    }
    return [...marks.keys()].map((key) => {
      const [kind, x] = key.split(' ')
      return svg('rect', { class: `mark-${kind}`, x: Number(x) - 1, y: 0, width: 2, height: HEIGHT })
    })
  }

  #ticks() {
    const { scale } = this
    if (!scale.hasTimes) return []
    const rows = [...new Set(Array.from({ length: TICKS }, (_, at) => scale.rowAt(at / (TICKS - 1))))]
    return rows.map((row) => [scale.endOf(row), scale.times[row]])
  }

  #clicked({ clientX }) {
    const { left, width } = this.map.getBoundingClientRect()
    const row = this.scale.rowAt((clientX - left) / width)
    const near = this.list.shown.find((shown) => shown >= row) ?? this.list.shown.at(-1)
    if (near !== undefined) this.list.jump(near, 'start')
  }

  /** Measuring rows is slow, so the frame follows at intervals. */
  #scrolled() {
    this.waiting ??= setTimeout(() => {
      this.waiting = null
      this.update()
    }, FOLLOWS)
  }

  /** Shows which part of the conversation is in the window. */
  update() {
    const seen = [...this.list.element.querySelectorAll('.line')].filter((line) => {
      const { top, bottom } = line.getBoundingClientRect()
      return bottom > 0 && top < innerHeight
    })
    if (seen.length === 0 || this.page.rows.length === 0) return withAttributes(this.frame, { x: 0, width: 0 })
    const [first, last] = [seen[0], seen.at(-1)].map((line) => Number(line.dataset.row))
    const [from, to] = [this.scale.startOf(first) * WIDTH, this.scale.endOf(last) * WIDTH]
    return withAttributes(this.frame, { x: from, width: Math.max(to - from, 4) })
  }
}

/** The bars of the lanes, which are added in the order of their starts. Bars without a visible gap between them are merged. */
class Bars {
  #bars = []
  #last = new Map()

  add(lane, start, end, kind) {
    const [from, to] = [start * WIDTH, end * WIDTH]
    const key = `${lane}${kind}`
    const last = this.#last.get(key)
    if (last && from - last.to < NEAR) {
      last.to = Math.max(last.to, to)
      return
    }
    const bar = { lane, from, to, kind }
    this.#last.set(key, bar)
    this.#bars.push(bar)
  }

  elements() {
    const names = Object.keys(LANES)
    return this.#bars.map(({ lane, from, to, kind }) =>
      svg('rect', {
        class: `span ${names[lane]}${kind}`,
        x: from,
        y: laneTop(lane),
        width: Math.max(to - from, 1.2),
        height: LANE,
      }),
    )
  }
}

const capitalised = (word) => word[0].toUpperCase() + word.slice(1)
