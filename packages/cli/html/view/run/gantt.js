// The Gantt chart: workers as lanes and tasks as bars, on a time line whose long waits are shortened. It shows as a picture what the table of
// workers says for each event.

/** The height of a row in pixels. A lane has as many rows as its worker had concurrent tasks. */
const ROW_HEIGHT = 17
const LANE_PADDING = 7
const BAR_HEIGHT = 15
const MAX_ROWS = 8
const TICKS = 7
const MAX_LANES = 200

class Gantt {
  constructor(run, onPick) {
    this.run = run
    this.onPick = onPick
    this.canvas = withAttributes(el('canvas'), { 'aria-hidden': 'true' })
    this.axis = new TimeAxis()
    this.names = withAttributes(el('div.lane-names'), { 'aria-hidden': 'true' })
    this.tip = el('div.tip')
    this.tip.hidden = true
    this.cursor = el('div.cursor')
    this.plot = el('div.plot', this.canvas, this.cursor, this.tip, this.axis.element)
    this.element = withAttributes(el('div.gantt', this.names, this.plot), {
      tabindex: 0,
      role: 'region',
      'aria-label': 'Tasks of the workers over time',
    })
    this.canvas.addEventListener('click', (event) => this.#clicked(event))
    this.canvas.addEventListener('pointermove', (event) => this.#point(event))
    this.canvas.addEventListener('pointerleave', () => {
      this.tip.hidden = true
    })
    new ResizeObserver(() => this.draw()).observe(this.plot)
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.draw())
    this.update()
  }

  update() {
    const { run } = this
    this.scale = new TimeScale(run.clocks)
    this.bars = taskBars(run)
    this.lanes = lanesOf(run, this.bars).slice(0, MAX_LANES)
    const names = this.lanes.map(({ worker, height }) => {
      const name = content('span', run.workers[worker])
      name.style.height = `${height}px`
      return name
    })
    if (run.workers.length > MAX_LANES)
      names.push(el('span', `and ${counted(run.workers.length - MAX_LANES, 'more worker')}`))
    this.names.replaceChildren(...names)
    this.#showTicks()
    this.draw()
  }

  #showTicks() {
    const { scale, run } = this
    if (!scale.hasTimes) return this.axis.showEnds([run.nameOf(0), run.nameOf(run.length - 1)])
    const events = [...new Set(Array.from({ length: TICKS }, (_, at) => scale.rowAt(at / (TICKS - 1))))]
    return this.axis.showTimes(events.map((event) => [scale.endOf(event), scale.times[event]]))
  }

  draw() {
    const width = this.plot.clientWidth
    if (width === 0) return
    const ratio = devicePixelRatio || 1
    const height = this.lanes.reduce((sum, lane) => sum + lane.height, 0)
    Object.assign(this.canvas, { width: width * ratio, height: height * ratio })
    Object.assign(this.canvas.style, { width: `${width}px`, height: `${height}px` })
    const brush = this.canvas.getContext('2d')
    brush.scale(ratio, ratio)
    const colours = this.#colours()
    this.#drawLanes(brush, width, colours)
    const drawn = new Drawn()
    for (const bar of this.bars)
      if (bar.worker < this.lanes.length && drawn.isNew(bar, this.scale.endOf(bar.to) * width))
        this.#drawBar(brush, bar, width, colours)
    this.showCursor(this.event ?? 0)
  }

  #colours() {
    const style = getComputedStyle(document.documentElement)
    const colour = (name) => style.getPropertyValue(`--${name}`).trim()
    return Object.fromEntries(
      ['sunk', 'line', 'ink', 'paper', 'done', 'failed', 'running', 'waiting', 'strong-line'].map((name) => [
        name,
        colour(name),
      ]),
    )
  }

  #drawLanes(brush, width, colours) {
    for (const { worker, top, height } of this.lanes) {
      brush.fillStyle = worker % 2 ? colours.paper : colours.sunk
      brush.fillRect(0, top, width, height)
    }
    brush.fillStyle = colours.line
    for (const [from, to] of this.scale.waits)
      brush.fillRect(from * width, 0, Math.max((to - from) * width, 1), this.canvas.height)
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
    brush.fillStyle = { failed: colours.failed, '': colours.running }[end] ?? colours.done
    if (start >= 0) brush.fillRect(begin, top, Math.max(right - begin, 1.5), BAR_HEIGHT)
    if (end === 'failed' && right - x > 5) mark(brush, right, top, colours.ink)
    if (end === 'rejected') {
      brush.strokeStyle = colours.failed
      brush.strokeRect(x + 0.5, top + 0.5, Math.max(right - x, 3), BAR_HEIGHT - 1)
    }
    if (attempt > 1 && right - x > 14) {
      brush.fillStyle = colours.paper
      brush.font = '10px sans-serif'
      brush.fillText(String(attempt), begin + 3, top + BAR_HEIGHT - 4)
    }
  }

  #topOf(worker, row) {
    return this.lanes[worker].top + LANE_PADDING / 2 + row * ROW_HEIGHT + (ROW_HEIGHT - BAR_HEIGHT) / 2
  }

  #barAt({ offsetX, offsetY }) {
    const position = offsetX / this.plot.clientWidth
    const near = 3 / this.plot.clientWidth
    const lane = this.lanes.findLast(({ top }) => top <= offsetY)
    const isAt = (bar) =>
      bar.worker === lane?.worker &&
      Math.abs(this.#topOf(bar.worker, bar.row) + BAR_HEIGHT / 2 - offsetY) <= ROW_HEIGHT / 2
    return this.bars.findLast(
      (bar) =>
        isAt(bar) && this.scale.endOf(bar.from) - near <= position && this.scale.endOf(bar.to) + near >= position,
    )
  }

  #clicked(event) {
    const bar = this.#barAt(event)
    this.onPick(bar ? (bar.end === '' ? bar.from : bar.to) : this.scale.rowAt(event.offsetX / this.plot.clientWidth))
  }

  #point(event) {
    const bar = this.#barAt(event)
    this.tip.hidden = bar === undefined
    if (bar === undefined) return
    const { run } = this
    const took = bar.start < 0 ? '' : `, ran ${lengthOf(Math.max(run.clocks[bar.to] - run.clocks[bar.start], 0))}`
    this.tip.replaceChildren(content('span', `${run.nodes[bar.node]}#${bar.attempt}: ${bar.end || 'not ended'}${took}`))
    this.tip.style.left = `${Math.min(event.offsetX + 12, this.plot.clientWidth - 200)}px`
    this.tip.style.top = `${event.offsetY + 14}px`
  }

  showCursor(event) {
    this.event = event
    if (this.run.length > 0) this.cursor.style.left = `${this.scale.endOf(Math.min(event, this.run.length - 1)) * 100}%`
  }
}

/** Remembers how far each row was drawn, to skip bars that could not be seen: those with the same kind of end within the same half pixel. */
class Drawn {
  /** By end, and then by worker and row. */
  #rights = { '': [], done: [], failed: [], rejected: [], skipped: [], moved: [] }

  isNew({ worker, row, end }, right) {
    const rights = this.#rights[end]
    const key = worker * MAX_ROWS + row
    if (right - (rights[key] ?? -1) < 0.5) return false
    rights[key] = right
    return true
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

function mark(brush, x, top, colour) {
  brush.strokeStyle = colour
  brush.lineWidth = 1.5
  brush.beginPath()
  for (const [dx, dy] of [
    [-4, 3],
    [4, 3],
  ]) {
    brush.moveTo(x + dx, top + dy)
    brush.lineTo(x - dx, top + BAR_HEIGHT - dy)
  }
  brush.stroke()
  brush.lineWidth = 1
}
