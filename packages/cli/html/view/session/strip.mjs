// The time line above the conversation: how long each speaker took, tools as bars, waits, and what compressions and rewinds removed.

import { plural } from '../../../quantities.js'
import { FLAGS } from '../../session/items.js'
import { removalWord } from '../../session/note-text.js'
import { box, el, elWith } from '../dom.mjs'
import { lengthOf } from '../quantities.mjs'
import { ListMap, TimeAxis, TimeScale, WIDTH, rect } from '../time.mjs'

const LANES = { human: 'Human', ai: 'AI', tool: 'Tools', gone: 'Taken away' }
const LANE = 11
const GAP = 3
const HEIGHT = 4 * (LANE + GAP) + 4
/** Bars that are closer than this, in thousandths of the width, are drawn as one. */
const NEAR = 1
const TICKS = 6
const MAX_REMOVALS = 400
const MAX_WAITS = 500

const laneTop = (lane) => 2 + Object.keys(LANES).indexOf(lane) * (LANE + GAP)
const title = (text) => el('title', text)

/** @returns {{ element: HTMLElement, update: () => void }} */
export function stripOf(page, list) {
  const scale = new TimeScale(Float64Array.from(page.rows, ({ at }) => at ?? NaN))
  const marks = [...waits(scale), ...spans(page, scale), ...removals(page, scale), ...marksOf(page, scale)]
  const map = new ListMap(list, '.strip', HEIGHT, scale, marks)
  const axis = new TimeAxis()
  const names = Object.values(LANES).map((name) => el('span', name))
  const element = box(
    el('div.time-line', elWith('div.lanes', { 'aria-hidden': 'true' }, ...names)),
    box(el('div.plot'), map.element, axis.element),
  )
  axis.showTimes(scale.hasTimes ? scale.ticks(TICKS) : [])
  return { element, update: () => map.update() }
}

const waits = (scale) =>
  scale.waits
    .slice(0, MAX_WAITS)
    .map(([from, to, ms]) =>
      rect('wait', from * WIDTH, 0, Math.max((to - from) * WIDTH, 1), HEIGHT, title(`${lengthOf(ms)} passed`)),
    )

/** The bars of the lanes. Tools are drawn as their calls, which may overlap in time. */
function spans(page, scale) {
  const bars = new Bars()
  for (const [row, { speaker }] of page.rows.entries())
    if (page.has(row, FLAGS.item) && (speaker === 'human' || speaker === 'ai'))
      bars.add(speaker, scale.startOf(row), scale.endOf(row), '')
  const calls = page.calls
    .map(({ line, responseLine, hasFailed }) => [page.rowOf.get(line), page.rowOf.get(responseLine), hasFailed])
    .filter(([from, to]) => from !== undefined && to !== undefined)
  for (const [from, to, hasFailed] of calls.sort((a, b) => a[0] - b[0]))
    bars.add('tool', scale.endOf(from), scale.endOf(to), hasFailed ? ' failed' : '')
  return bars.all.map(({ lane, from, to, kind }) =>
    rect(`span ${lane}${kind}`, from, laneTop(lane), Math.max(to - from, 1.2), LANE),
  )
}

/** Bars, which are added in the order of their starts. Those of a kind without a visible gap between them are merged. */
class Bars {
  all = []
  #last = new Map()

  add(lane, start, end, kind) {
    const [from, to] = [start * WIDTH, end * WIDTH]
    const last = this.#last.get(lane + kind)
    if (last && from - last.to < NEAR) {
      last.to = Math.max(last.to, to)
      return
    }
    const bar = { lane, from, to, kind }
    this.#last.set(lane + kind, bar)
    this.all.push(bar)
  }
}

const removals = (page, scale) =>
  page.removers
    .filter((line) => page.rowOf.has(line))
    .slice(0, MAX_REMOVALS)
    .flatMap((line) => {
      const by = page.rowOf.get(line)
      const { type, gone } = page.rows[by]
      const removed = page.removedBy(line)
      const [from, to] = [scale.startOf(removed[0]) * WIDTH, scale.endOf(removed.at(-1)) * WIDTH]
      const word = removalWord(type)
      const says = title(`${word[0].toUpperCase()}${word.slice(1)} at line ${line}: ${plural(gone, 'item')}`)
      return [
        rect(`bar-gone ${type}`, from, laneTop('gone'), Math.max(to - from, 1.5), LANE, says),
        rect(`remover ${type}`, scale.endOf(by) * WIDTH - 0.75, 0, 1.5, HEIGHT),
      ]
    })

/** Damage, switches and failures, each at its distinct places. */
function marksOf(page, scale) {
  const marks = new Set()
  for (const [row, { type, line }] of page.rows.entries()) {
    const isWrong = page.has(row, FLAGS.damaged) || page.warningsAt.has(line)
    const hasFailed = type === 'session_event' && page.has(row, FLAGS.failed)
    const kind = isWrong ? 'damage' : type === 'provider_switch' ? 'switch' : hasFailed ? 'failure' : null
    if (kind) marks.add(`${kind} ${Math.round(scale.endOf(row) * 500) * 2}`)
  }
  return [...marks].map((mark) => {
    const [kind, x] = mark.split(' ')
    return rect(`mark-${kind}`, Number(x) - 1, 0, 2, HEIGHT)
  })
}
