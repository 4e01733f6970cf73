// Builds the page. All of its parts show the same event and the state after it.

const KEYS = [
  [['j', 'k'], 'next, previous event'],
  ['e', 'next failure'],
  ['d', 'first failure of verification'],
  ['/', 'filter'],
  ['Esc', 'all events'],
]

class App {
  constructor() {
    this.run = new Run()
    const { run } = this
    this.#noteFailures()
    this.pick = (event) => this.show(event)
    this.states = new States(run)
    this.graph = new Graph(run, (id) => this.#pickNode(id))
    this.gantt = new Gantt(run, this.pick)
    this.statePanel = new StatePanel(run)
    this.eventPanel = new EventPanel(run, this.pick)
    this.list = new EventList(run, this.pick)
    this.slider = withAttributes(el('input.slider'), {
      type: 'range',
      min: 0,
      max: Math.max(run.length - 1, 0),
      step: 1,
      value: 0,
      'aria-label': 'Event',
    })
    this.slider.addEventListener('input', () => this.show(Number(this.slider.value)))
    this.filter = new Filter(run, this.list)
    this.head = headView(run, this.gantt.bars, this.pick)
    document.body.append(this.head, this.#bar(), this.#main(), footer(KEYS, run.libraries))
    this.#listen()
    // Only after the page is painted: the server then starts to verify, on all cores.
    if (run.served) afterPaint(() => this.#verify())
  }

  #noteFailures() {
    this.run.failureTimes = new Set(
      failuresOf(this.run)
        .map(({ failure }) => failure.time)
        .filter((time) => time !== null),
    )
  }

  #bar() {
    const step = (text, label, by) =>
      button('.step', label, () => this.show(Math.min(Math.max(this.event + by, 0), this.run.length - 1)), text)
    this.position = el('output.position')
    return el(
      'div.bar',
      el('div.slide', step('‹', 'Previous event', -1), this.slider, step('›', 'Next event', 1), this.position),
    )
  }

  #main() {
    const section = (name, title, ...children) => el(`section.${name}`, el('h2', title), ...children)
    return withAttributes(
      el(
        'main',
        section('graph-part', 'Graph', this.graph.element),
        section('gantt-part', 'Workers', this.gantt.element),
        el('div.panels', this.statePanel.element, this.eventPanel.element),
        section('events-part', 'Events', this.filter.element, this.list.element),
      ),
      { 'aria-label': 'Run' },
    )
  }

  #listen() {
    document.addEventListener('keydown', (event) => this.#key(event))
    addEventListener('hashchange', () => this.#fromAddress())
    if (!this.#fromAddress()) this.show(this.run.length - 1)
  }

  #key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return
    if (event.key === 'Escape') return this.filter.clear()
    if (event.target.closest('input:not(.slider), select')) return
    const by = (rows) => () => this.show(this.list.neighbour(rows))
    const keys = {
      j: by(1),
      k: by(-1),
      e: () => this.#nextFailure(),
      d: () => this.#firstUnsound(),
      '/': () => this.filter.input.focus(),
    }
    const inList = {
      ArrowDown: by(1),
      ArrowUp: by(-1),
      PageDown: by(20),
      PageUp: by(-20),
      Home: by(-Infinity),
      End: by(Infinity),
    }
    const act = keys[event.key] ?? (event.target === this.list.element ? inList[event.key] : undefined)
    if (!act) return
    event.preventDefault()
    act()
  }

  #nextFailure() {
    const { run, event } = this
    for (let by = 1; by <= run.length; by++)
      if (run.hasFailed((event + by) % run.length)) return this.show((event + by) % run.length)
  }

  #firstUnsound() {
    const [time] = [...this.run.failureTimes].sort((a, b) => a - b)
    if (time !== undefined && time - this.run.first < this.run.length) this.show(time - this.run.first)
  }

  /** Shows the last event of a node up to the current one or, if that is the current one or there is none, its first event. */
  #pickNode(id) {
    const { columns, nodes } = this.run
    const node = nodes.indexOf(id)
    const last = columns.node.subarray(0, this.event + 1).lastIndexOf(node)
    const found = last >= 0 && last !== this.event ? last : columns.node.indexOf(node)
    if (found >= 0) this.show(found)
  }

  #fromAddress() {
    const time = /^#evt_(\d+)$/.exec(location.hash)?.[1]
    const event = Number(time) - this.run.first
    if (time === undefined || !(event >= 0 && event < this.run.length)) return false
    if (event !== this.event) this.show(event)
    return true
  }

  show(event) {
    if (!(event >= 0)) return
    this.event = event
    this.slider.value = event
    const { run } = this
    this.slider.setAttribute('aria-valuetext', `${run.nameOf(event)}, ${run.kindOf(event)}`)
    this.position.replaceChildren(el('b', run.nameOf(event)), ` ${run.kindOf(event)} · ${clockOf(run.clocks[event])}`)
    this.list.setCurrent(event)
    this.gantt.showCursor(event)
    if (this.isWaiting) return
    this.isWaiting = true
    // A slider moves faster than states can be drawn.
    requestAnimationFrame(() => {
      this.isWaiting = false
      this.#showState()
    })
  }

  #showState() {
    const { run, event } = this
    this.eventPanel.show(event)
    this.#showShown(shownState(run, this.states.after(event)), false)
    history.replaceState(null, '', `#${run.nameOf(event)}`)
    if (!run.served) return
    clearTimeout(this.asking)
    this.asking = setTimeout(
      () =>
        stateAt(run, event).then(
          (state) => {
            if (this.event === event) this.#showShown(engineState(run, state), true)
          },
          () => {},
        ),
      120,
    )
  }

  #showShown(shown, isOfEngine) {
    this.statePanel.show(this.event, shown, isOfEngine)
    this.graph.show(shown, this.run.columns.node[this.event])
  }

  /** Shows what the server's verification has found, once it is done. */
  async #verify() {
    const { run } = this
    run.verification = await verificationOf(run).catch(() => null)
    if (run.verification === null) return
    this.#noteFailures()
    const head = headView(run, this.gantt.bars, this.pick)
    this.head.replaceWith(head)
    this.head = head
    this.filter.apply()
  }
}

/** Filters the events by text, kind and failure. */
class Filter {
  constructor(run, list) {
    this.run = run
    this.list = list
    this.input = withAttributes(el('input'), {
      type: 'search',
      placeholder: 'Filter events',
      'aria-label': 'Filter events by text',
      autocomplete: 'off',
      spellcheck: 'false',
    })
    const kinds = run
      .kindsThere()
      .map((at) => run.kinds[at])
      .sort()
    const options = [['', 'All events'], ['failed', 'Failures'], ...kinds.map((kind) => [`kind ${kind}`, kind])]
    this.select = withAttributes(
      el('select', ...options.map(([value, text]) => withAttributes(el('option', text), { value }))),
      { 'aria-label': 'Which events' },
    )
    this.status = withAttributes(el('output.status'), { 'aria-live': 'polite' })
    this.element = withAttributes(el('form.search', this.input, this.select, this.status), { role: 'search' })
    let waiting
    this.input.addEventListener('input', () => {
      clearTimeout(waiting)
      waiting = setTimeout(() => this.apply(), 150)
    })
    this.select.addEventListener('change', () => this.apply())
    this.element.addEventListener('submit', (event) => event.preventDefault())
  }

  clear() {
    this.input.value = ''
    this.select.selectedIndex = 0
    this.apply()
  }

  apply() {
    const text = this.input.value
    marked = text === '' ? null : pattern(text, 'giu')
    this.#show(null)
    // The server also searches the payloads that are not in the page.
    if (text === '' || !this.run.served || this.run.payloadsFrom === 0) return
    eventsWith(this.run, text).then(
      (times) => {
        if (this.input.value === text) this.#show(new Set(times.map((time) => time - this.run.first)))
      },
      () => {},
    )
  }

  #show(found) {
    const { run } = this
    if (this.input.value === '' && this.select.selectedIndex === 0) {
      this.status.textContent = ''
      return this.list.show(null)
    }
    const test = this.#test(found)
    const shown = []
    for (let event = 0; event < run.length; event++) if (test(event)) shown.push(event)
    this.list.show(shown)
    this.status.textContent = `${shown.length === 0 ? 'nothing' : NUMBERS.format(shown.length)} of ${NUMBERS.format(run.length)}`
    return undefined
  }

  #test(found) {
    const { run } = this
    const { value } = this.select
    const kind = value.startsWith('kind ') ? run.kinds.indexOf(value.slice('kind '.length)) : -1
    const text = this.input.value
    const [words, payload] = [pattern(text, 'iu'), pattern(inIsland(text), 'iu')]
    const holds = (event) =>
      found?.has(event) ||
      words.test(
        `${run.nameOf(event)} ${run.kindOf(event)} ${run.nodeOf(event) ?? ''} ${run.workerOf(event) ?? ''} ${run.labelOf(event)}`,
      ) ||
      payload.test(run.payloadText(event) ?? '')
    return (event) =>
      (kind < 0 || run.columns.kind[event] === kind) &&
      (value !== 'failed' || run.hasFailed(event)) &&
      (text === '' || holds(event))
  }
}

withIslands(() => new App())
