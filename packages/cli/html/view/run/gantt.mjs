// The Gantt chart: workers as lanes and tasks as bars, on a time line whose long waits are shortened. It shows as a picture what the table of
// workers says for each event.

import { render } from 'preact'
import { plural } from '../../../quantities.js'
import { box, content, el, elWith, node } from '../dom.mjs'
import { lengthOf } from '../quantities.mjs'
import { TimeAxis, TimeScale } from '../time.mjs'

/** The height of a row in pixels. A lane has as many rows as its worker had concurrent tasks. */
const ROW_HEIGHT = 17
const LANE_PADDING = 7
const BAR_HEIGHT = 15
const MAX_ROWS = 8
const TICKS = 7
const MAX_LANES = 200
const COLOURS = ['sunk', 'line', 'ink', 'paper', 'green', 'red', 'blue', 'waiting']

export class Gantt {
  #run
  #bars
  #lanes
  #event = 0

  constructor(run, bars, onPick) {
    this.#run = run
    this.#bars = bars
    this.#lanes = lanesOf(run, bars).slice(0, MAX_LANES)
    this.scale = new TimeScale(run.clocks)
    this.canvas = node(
      elWith('canvas', {
        'aria-hidden': 'true',
        onClick: (event) => onPick(this.#eventUnder(event)),
        onPointerMove: (event) => this.#point(event),
        onPointerLeave: () => (this.tip.hidden = true),
      }),
    )
    this.cursor = node(el('div.cursor'))
    this.tip = node(elWith('div.tip', { hidden: true }))
    const axis = this.#axis()
    this.plot = box(el('div.plot'), this.canvas, this.cursor, this.tip, axis.element)
    const label = 'Tasks of the workers over time'
    const names = elWith('div.lane-names', { 'aria-hidden': 'true' }, ...this.#names())
    this.element = box(elWith('div.gantt', { tabindex: 0, role: 'region', 'aria-label': label }, names), this.plot)
    new ResizeObserver(() => this.#draw()).observe(this.plot)
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.#draw())
  }

  #names() {
    const { workers } = this.#run
    const names = this.#lanes.map(({ worker, height }) =>
      content('span', workers[worker], { style: { height: `${height}px` } }),
    )
    if (workers.length > MAX_LANES) names.push(el('span', `and ${plural(workers.length - MAX_LANES, 'more worker')}`))
    return names
  }

  #axis() {
    const axis = new TimeAxis()
    if (this.scale.hasTimes) axis.showTimes(this.scale.ticks(TICKS))
    else axis.showEnds([this.#run.nameOf(0), this.#run.nameOf(this.#run.length - 1)])
    return axis
  }

  #draw() {
    const width = this.plot.clientWidth
    if (width === 0) return
    const ratio = devicePixelRatio || 1
    const height = this.#lanes.reduce((sum, lane) => sum + lane.height, 0)
    Object.assign(this.canvas, { width: width * ratio, height: height * ratio })
    Object.assign(this.canvas.style, { width: `${width}px`, height: `${height}px` })
    const brush = this.canvas.getContext('2d')
    brush.scale(ratio, ratio)
    const style = getComputedStyle(document.documentElement)
    const colours = Object.fromEntries(COLOURS.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]))
    this.#drawLanes(brush, width, height, colours)
    // How far each row was drawn, by how its bars end: those within the same half pixel could not be seen.
    const drawn = new Map()
    for (const bar of this.#bars) {
      const right = this.scale.endOf(bar.to) * width
      const key = `${bar.worker} ${bar.row} ${bar.end}`
      if (bar.worker >= this.#lanes.length || right - (drawn.get(key) ?? -1) < 0.5) continue
      drawn.set(key, right)
      this.#drawBar(brush, bar, width, colours)
    }
    this.showCursor(this.#event)
  }

  #drawLanes(brush, width, height, colours) {
    for (const { worker, top, height: laneHeight } of this.#lanes) {
      brush.fillStyle = worker % 2 ? colours.paper : colours.sunk
      brush.fillRect(0, top, width, laneHeight)
    }
    brush.fillStyle = colours.line
    for (const [from, to] of this.scale.waits) brush.fillRect(from * width, 0, Math.max((to - from) * width, 1), height)
  }

  /**
   * Draws a bar: light while the task waits for its start, filled while it runs. The end is shown as a shape: a cross for a failure, an outline for
   * a rejection.
   */
  #drawBar(brush, { worker, row, from, start, to, end, attempt }, width, colours) {
    const [x, begin, right] = [from, start < 0 ? to : start, to].map((event) => this.scale.endOf(event) * width)
    const top = this.#topOf(worker, row)
    brush.fillStyle = colours.waiting
    brush.fillRect(x, top + 4, Math.max(begin - x, 1), BAR_HEIGHT - 8)
    brush.fillStyle = { failed: colours.red, '': colours.blue }[end] ?? colours.green
    if (start >= 0) brush.fillRect(begin, top, Math.max(right - begin, 1.5), BAR_HEIGHT)
    if (end === 'failed' && right - x > 5) drawCross(brush, right, top, colours.ink)
    if (end === 'rejected') {
      brush.strokeStyle = colours.red
      brush.strokeRect(x + 0.5, top + 0.5, Math.max(right - x, 3), BAR_HEIGHT - 1)
    }
    if (attempt > 1 && right - x > 14) {
      brush.fillStyle = colours.paper
      brush.font = '10px sans-serif'
      brush.fillText(String(attempt), begin + 3, top + BAR_HEIGHT - 4)
    }
  }

  #topOf(worker, row) {
    return this.#lanes[worker].top + LANE_PADDING / 2 + row * ROW_HEIGHT + (ROW_HEIGHT - BAR_HEIGHT) / 2
  }

  #barAt({ offsetX, offsetY }) {
    const { scale } = this
    const [position, near] = [offsetX, 3].map((x) => x / this.plot.clientWidth)
    const lane = this.#lanes.findLast(({ top }) => top <= offsetY)
    return this.#bars.findLast(
      ({ worker, row, from, to }) =>
        worker === lane?.worker &&
        Math.abs(this.#topOf(worker, row) + BAR_HEIGHT / 2 - offsetY) <= ROW_HEIGHT / 2 &&
        scale.endOf(from) - near <= position &&
        scale.endOf(to) + near >= position,
    )
  }

  #eventUnder(event) {
    const bar = this.#barAt(event)
    if (bar === undefined) return this.scale.rowAt(event.offsetX / this.plot.clientWidth)
    return bar.end === '' ? bar.from : bar.to
  }

  #point(event) {
    const bar = this.#barAt(event)
    this.tip.hidden = bar === undefined
    if (bar === undefined) return
    const { nodes, clocks } = this.#run
    const took = bar.start < 0 ? '' : `, ran ${lengthOf(Math.max(clocks[bar.to] - clocks[bar.start], 0))}`
    render(content('span', `${nodes[bar.node]}#${bar.attempt}: ${bar.end || 'not ended'}${took}`), this.tip)
    this.tip.style.left = `${Math.min(event.offsetX + 12, this.plot.clientWidth - 200)}px`
    this.tip.style.top = `${event.offsetY + 14}px`
  }

  showCursor(event) {
    this.#event = event
    if (this.#run.length > 0) this.cursor.style.left = `${this.scale.endOf(event) * 100}%`
  }
}

/** Assigns each bar a row of its worker's lane in which no other task is open, as far as there are rows. */
function lanesOf(run, bars) {
  const ends = run.workers.map(() => [])
  for (const bar of bars) {
    const rows = ends[bar.worker]
    const free = rows.findIndex((end) => end <= bar.from)
    bar.row = Math.min(free >= 0 ? free : rows.length, MAX_ROWS - 1)
    rows[bar.row] = bar.to
  }
  let top = 0
  return ends.map((rows, worker) => {
    const lane = { worker, top, height: Math.max(rows.length, 1) * ROW_HEIGHT + LANE_PADDING }
    top += lane.height
    return lane
  })
}

function drawCross(brush, x, top, colour) {
  brush.strokeStyle = colour
  brush.lineWidth = 1.5
  brush.beginPath()
  for (const dx of [-4, 4]) {
    brush.moveTo(x + dx, top + 3)
    brush.lineTo(x - dx, top + BAR_HEIGHT - 3)
  }
  brush.stroke()
  brush.lineWidth = 1
}
