// Builds the page of a run. All of its parts show the same event and the state after it.

import { render } from 'preact'
import { KINDS } from '../run/kinds.js'
import { box, button, el, elWith, node } from './dom.mjs'
import { fetchJson, withIslands } from './islands.mjs'
import { listenToKeys } from './list.mjs'
import { clockOf } from './quantities.mjs'
import { taskBars } from './run/bars.mjs'
import { EventList } from './run/events.mjs'
import { Gantt } from './run/gantt.mjs'
import { Graph } from './run/graph.mjs'
import { headView } from './run/head.mjs'
import { Run } from './run/model.mjs'
import { eventView, stateView } from './run/panels.mjs'
import { States, engineState, shownState } from './run/state.mjs'
import { Search, namedChoices } from './search.mjs'
import { showPage } from './shell.mjs'

const KEYS = [
  ['j k', 'next, previous event'],
  ['e', 'next failure'],
  ['d', 'first failure of verification'],
  ['/', 'filter'],
  ['Esc', 'all events'],
]
/** How long the state of an event is shown before the engine is asked for it, in milliseconds. */
const ASKED_AFTER = 120

class App {
  constructor(data) {
    this.run = new Run(data)
    const { run } = this
    this.pick = (event) => this.show(event)
    this.states = new States(run)
    this.bars = taskBars(run)
    this.graph = new Graph(run, (index) => this.#pickNode(index))
    this.gantt = new Gantt(run, this.bars, this.pick)
    this.list = new EventList(run, this.pick)
    this.search = new Search(this.list, filtersOf(run))
    this.state = node(elWith('section.panel.state', { 'aria-label': 'State after the event' }))
    this.details = node(elWith('section.panel.event-panel', { 'aria-label': 'Event' }))
    this.position = node(el('output.position'))
    this.slider = node(
      elWith('input.slider', {
        type: 'range',
        min: 0,
        max: Math.max(run.length - 1, 0),
        step: 1,
        'aria-label': 'Event',
        onInput: () => this.show(Number(this.slider.value)),
      }),
    )
    this.head = document.createElement('div')
    this.#showHead()
    showPage(run, {
      head: [this.head],
      bar: [this.#slide()],
      label: 'Run',
      main: [
        section('graph-part', 'Graph', this.graph.element),
        section('gantt-part', 'Workers', this.gantt.element),
        box(el('div.panels'), this.state, this.details),
        section('events-part', 'Events', this.search.element, this.list.element),
      ],
      keys: KEYS,
    })
    this.search.apply()
    this.#listen()
    // Only after the page is painted: the server then starts to verify, on all cores.
    if (run.isServed) requestAnimationFrame(() => requestAnimationFrame(() => this.#verify()))
  }

  #showHead() {
    render(headView(this.run, this.bars, this.pick), this.head)
  }

  #slide() {
    const step = (text, label, by) => node(button('.step', () => this.#step(by), { 'aria-label': label }, text))
    return box(el('div.slide'), step('‹', 'Previous event', -1), this.slider, step('›', 'Next event', 1), this.position)
  }

  #step(by) {
    this.show(Math.min(Math.max(this.event + by, 0), this.run.length - 1))
  }

  #listen() {
    const by = (rows) => () => this.show(this.list.neighbour(rows))
    const keys = { j: by(1), k: by(-1), e: () => this.#nextFailure(), d: () => this.#firstUnsound() }
    const inList = {
      ArrowDown: by(1),
      ArrowUp: by(-1),
      PageDown: by(20),
      PageUp: by(-20),
      Home: by(-Infinity),
      End: by(Infinity),
    }
    listenToKeys(this.list, this.search, keys, inList)
    addEventListener('hashchange', () => this.#fromAddress())
    if (!this.#fromAddress()) this.show(this.run.length - 1)
  }

  #nextFailure() {
    const { run, event } = this
    for (let by = 1; by <= run.length; by++)
      if (run.hasFailed((event + by) % run.length)) return this.show((event + by) % run.length)
  }

  #firstUnsound() {
    const events = this.run.failures.map(({ time }) => this.run.eventAt(time)).filter((event) => event !== undefined)
    if (events.length > 0) this.show(Math.min(...events))
  }

  /** Shows the last event of a node up to the current one or, if that is the current one or there is none, its first event. */
  #pickNode(index) {
    const { node: nodes } = this.run.columns
    const last = nodes.subarray(0, this.event + 1).lastIndexOf(index)
    const found = last >= 0 && last !== this.event ? last : nodes.indexOf(index)
    if (found >= 0) this.show(found)
  }

  #fromAddress() {
    const time = /^#evt_(\d+)$/.exec(location.hash)?.[1]
    const event = time === undefined ? undefined : this.run.eventAt(Number(time))
    if (event !== undefined && event !== this.event) this.show(event)
    return event !== undefined
  }

  show(event) {
    if (!(event >= 0)) return
    this.event = event
    const { run } = this
    const [name, kind] = [run.nameOf(event), run.kindOf(event)]
    this.slider.value = event
    this.slider.setAttribute('aria-valuetext', `${name}, ${kind}`)
    render([el('b', name), ` ${kind} · ${clockOf(run.clocks[event])}`], this.position)
    this.list.setCurrent(event)
    this.gantt.showCursor(event)
    if (this.isWaiting) return
    this.isWaiting = true
    // A slider moves faster than states can be drawn.
    requestAnimationFrame(() => {
      this.isWaiting = false
      this.#showAround()
    })
  }

  #showAround() {
    const { run, event } = this
    this.#showEvent()
    if (run.isServed && run.payload(event) === null) this.#readWhole(event)
    this.#showState(shownState(run, this.states.after(event)), false)
    history.replaceState(null, '', `#${run.nameOf(event)}`)
    if (run.isServed) this.#askForState(event)
  }

  #showEvent(hasFailed = false) {
    const readWhole = (event) => this.#readWhole(event)
    render(eventView(this.run, this.event, { pick: this.pick, readWhole, hasFailed }), this.details)
  }

  #readWhole(event) {
    const shownAgain = (hasFailed) => this.event === event && this.#showEvent(hasFailed)
    this.run.readWhole(event).then(
      () => shownAgain(false),
      () => shownAgain(true),
    )
  }

  #askForState(event) {
    clearTimeout(this.asking)
    const ask = async () => {
      const state = await fetchJson('state', { at: event + this.run.first })
      if (this.event === event) this.#showState(engineState(this.run, state), true)
    }
    this.asking = setTimeout(() => ask().catch(() => {}), ASKED_AFTER)
  }

  #showState(state, isOfEngine) {
    render(stateView(this.run, this.event, state, isOfEngine), this.state)
    this.graph.show(state, this.run.columns.node[this.event])
  }

  /** Shows what the server's verification has found, once it is done. */
  async #verify() {
    const verification = await fetchJson('verification').catch(() => null)
    if (verification === null) return
    this.run.verification = verification
    this.#showHead()
    this.search.apply()
  }
}

const section = (name, title, ...children) => box(el(`section.${name}`, el('h2', title)), ...children)

/** Filters by text, kind and failure. */
function filtersOf(run) {
  const kinds = [...new Set(run.columns.kind)].map((kind) => KINDS[kind]).sort()
  const ofKind = namedChoices('kind', kinds, (event, kind) => run.kindOf(event) === kind)
  const failures = ['failed', 'Failures', (event) => run.hasFailed(event)]
  // The server also searches the payloads that are not in the page.
  const ask = async (text) => new Set((await fetchJson('search', { text })).map((time) => time - run.first))
  return {
    count: run.length,
    placeholder: 'Filter events',
    label: 'Filter events by text',
    selects: [{ label: 'Which events', choices: [['', 'All events'], failures, ...ofKind] }],
    textsOf: (event) => {
      const names = [run.nameOf(event), run.kindOf(event), run.nodeOf(event), run.workerOf(event), run.labelOf(event)]
      return [names.filter((name) => name !== null).join(' '), [run.payloadText(event) ?? '']]
    },
    ...(run.isServed && run.payloadsFrom > 0 && { ask }),
  }
}

withIslands((data) => new App(data))
