// Time lines: positions on them, the labels below, and the map of a list with the part that is in the window.

import { countBefore } from '../count-before.js'
import { elWith, node } from './dom.mjs'
import { clockOf, dayOf } from './quantities.mjs'

/** Shorter waits are never shortened, in milliseconds. */
const SHORTEST_WAIT = 60_000
const SAMPLE = 20_000
/** The smallest distance between labels, in pixels. */
const LABEL_GAP = 8

/** The positions of records or events on a time line, from 0 to 1. Long waits are shortened, so that the rest stays readable. */
export class TimeScale {
  /** `[start position, end position, ms]` of each shortened wait. */
  waits = []

  /** @param {Float64Array} times in milliseconds; NaN where there is none */
  constructor(times) {
    const count = times.length
    const steps = stepsOf(times)
    const longest = longestStep(steps)
    this.ends = new Float64Array(count)
    this.times = new Float64Array(count)
    let [position, time] = [0, times.find((each) => !Number.isNaN(each)) ?? 0]
    for (let row = 0; row < count; row++) {
      const step = steps[row]
      if (step > longest) this.waits.push([position, position + longest, step])
      position += Math.min(step, longest)
      time += step
      this.ends[row] = position
      this.times[row] = time
    }
    this.hasTimes = position > 0
    // Without times, records are at equal distances.
    for (let row = 0; row < count; row++) this.ends[row] = this.hasTimes ? this.ends[row] / position : (row + 1) / count
    this.waits = this.waits.map(([from, to, ms]) => [from / position, to / position, ms])
  }

  startOf(row) {
    return row === 0 ? 0 : this.ends[row - 1]
  }

  endOf(row) {
    return this.ends[row]
  }

  /** The first row that ends at a position or later. */
  rowAt(position) {
    return Math.max(Math.min(countBefore(this.ends, position), this.ends.length - 1), 0)
  }

  /** Positions with their times, about `count` at equal distances. */
  ticks(count) {
    const rows = new Set(Array.from({ length: count }, (_, at) => this.rowAt(at / (count - 1))))
    return [...rows].map((row) => [this.endOf(row), this.times[row]])
  }
}

/** The time between each record and the one before it. It is 0 for a record without a time, or with an earlier time than a previous record. */
function stepsOf(times) {
  const steps = new Float64Array(times.length)
  let latest = NaN
  for (let row = 0; row < times.length; row++) {
    const at = times[row]
    if (Number.isNaN(at)) continue
    steps[row] = at > latest ? at - latest : 0
    // The first time is compared with none.
    if (!(at <= latest)) latest = at
  }
  return steps
}

/** The longest step that is not shortened, in milliseconds. If there are many steps, it is derived from a sample. */
function longestStep(steps) {
  const stride = Math.ceil(steps.length / SAMPLE)
  const sorted = Float64Array.from({ length: Math.floor(steps.length / stride) || 0 }, (_, at) => steps[at * stride])
    .filter((step) => step > 0)
    .sort()
  const usual = sorted[Math.floor(sorted.length * 0.9)] ?? 0
  return Math.max(SHORTEST_WAIT, usual * 6)
}

/** The labels below a time line. Those for which there is no room are left out; the first and the last one are kept longest. */
export class TimeAxis {
  #labels = []

  constructor() {
    this.element = node(elWith('div.axis', { 'aria-hidden': 'true' }))
    new ResizeObserver(() => this.#fit()).observe(this.element)
  }

  /** @param {[position: number, ms: number][]} times positions from 0 to 1, in order. A time is shown with its day if the label before it is of another day. */
  showTimes(times) {
    this.#show(times.map(([position, ms]) => ({ position, day: dayOf(ms), text: clockOf(ms) })))
  }

  /** @param {string[]} texts of the two ends */
  showEnds(texts) {
    this.#show(texts.map((text, position) => ({ position, day: '', text })))
  }

  #show(labels) {
    this.#labels = labels.map((label, at) => {
      const end = at === 0 ? '.first' : at === labels.length - 1 ? '.last' : ''
      return { ...label, element: node(elWith(`span${end}`, { style: { left: `${label.position * 100}%` } })) }
    })
    this.element.replaceChildren(...this.#labels.map(({ element }) => element))
    this.#fit()
  }

  #fit() {
    if (this.#labels.length === 0 || this.element.clientWidth === 0) return
    const [first, ...others] = this.#labels
    const last = others.pop()
    // Measured with its day if that is not the first label's: the label before it is not known yet.
    const end = last && edgesOf(last, first.day)
    let [right, day] = [edgesOf(first, '').right, first.day]
    for (const label of others) {
      const edges = edgesOf(label, day)
      label.element.hidden = edges.left < right + LABEL_GAP || edges.right > end.left - LABEL_GAP
      if (!label.element.hidden) [right, day] = [edges.right, label.day]
    }
    if (!last) return
    last.element.textContent = textBehind(last, day)
    last.element.hidden = end.left < right + LABEL_GAP
  }
}

const textBehind = ({ day, text }, dayBefore) => (day === dayBefore ? text : `${day} ${text}`)

function edgesOf(label, dayBefore) {
  label.element.hidden = false
  label.element.textContent = textBehind(label, dayBefore)
  return label.element.getBoundingClientRect()
}

export const WIDTH = 1000
/** The interval at which the frame follows scrolling, in milliseconds: measuring rows is slow. */
const FOLLOWS = 80

/** A rectangle of a map. `position` and `width` are thousandths of the map's width. */
export const rect = (name, x, y, width, height, ...children) =>
  elWith('rect', { class: name, x, y, width, height }, ...children)

/** A picture of a whole list, with a frame around the part that is in the window. A click goes to a place in it. */
export class ListMap {
  /**
   * @param {string} name classes to add
   * @param {{ startOf: (row: number) => number, endOf: (row: number) => number, rowAt: (position: number) => number }} scale
   */
  constructor(list, name, height, scale, marks) {
    const attributes = { viewBox: `0 0 ${WIDTH} ${height}`, preserveAspectRatio: 'none', 'aria-hidden': 'true' }
    const onClick = ({ clientX }) => this.#clicked(clientX)
    const frame = elWith('rect.frame', { y: 0.5, height: height - 1, rx: 2 })
    Object.assign(this, {
      list,
      scale,
      element: node(elWith(`svg.map${name}`, { ...attributes, onClick }, ...marks, frame)),
    })
    addEventListener('scroll', () => this.#scrolled(), { passive: true })
    this.update()
  }

  #clicked(clientX) {
    const { left, width } = this.element.getBoundingClientRect()
    const row = this.scale.rowAt((clientX - left) / width)
    const rows = this.list.shown.filter((shown) => !this.list.isSkipped(shown))
    const near = rows.find((shown) => shown >= row) ?? rows.at(-1)
    if (near !== undefined) this.list.jump(near, 'start')
  }

  #scrolled() {
    this.waiting ??= setTimeout(() => {
      this.waiting = null
      this.update()
    }, FOLLOWS)
  }

  /** Shows which part of the list is in the window. */
  update() {
    const [from, to] = this.list.seen() ?? [0, -1]
    const x = to < 0 ? 0 : this.scale.startOf(from) * WIDTH
    const width = to < 0 ? 0 : Math.max(this.scale.endOf(to) * WIDTH - x, 4)
    this.element.lastChild.setAttribute('x', x)
    this.element.lastChild.setAttribute('width', width)
  }
}
