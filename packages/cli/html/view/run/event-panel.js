// The selected event: its kind, its payload, its causal ancestors, and what verification reports about it.

const MAX_ANCESTORS = 200

class EventPanel {
  constructor(run, pick) {
    this.run = run
    this.pick = pick
    this.title = el('h2', 'Event')
    this.body = el('div')
    this.element = withAttributes(el('section.panel.event-panel', this.title, this.body), { 'aria-label': 'Event' })
  }

  show(event) {
    const { run } = this
    this.event = event
    this.title.replaceChildren(run.nameOf(event), ' ', content('span.kind', run.kindOf(event)))
    const facts = el('p.facts', el('time', isoOf(run.clocks[event])))
    for (const name of [run.nodeOf(event), run.workerOf(event)]) if (name !== null) facts.append(content('span', name))
    this.body.replaceChildren(facts, ...this.#failures(event), this.#payload(event), this.#ancestors(event))
  }

  #failures(event) {
    const time = event + this.run.first
    return failuresOf(this.run)
      .filter(({ failure }) => failure.time === time)
      .map(({ name, failure }) =>
        el('p.problem', el('b', `${CHECK_NAMES[name]}: `), content('span', `${failure.code}. ${failure.message}`)),
      )
  }

  #payload(event) {
    const { run } = this
    const parts = run.payload(event)
    const rules = new Map(run.seal?.redacted.events).get(event + run.first)
    const box = el('div.payload', el('h3', 'Payload'), ...(rules ? [redactedNote(rules)] : []))
    if (parts !== null) box.append(withAttributes(payloadView(parts, false), { tabindex: 0 }))
    if (run.served && (parts === null || parts[1]?.length > 0)) this.#fetch(event, box, parts === null)
    else if (parts === null)
      box.append(
        el(
          'p.note',
          'It is not in this page, which would be too large with it. ',
          el('code', 'session-tape view --serve'),
          ' shows it.',
        ),
      )
    return box
  }

  #fetch(event, box, isMissing) {
    const load = () =>
      eventPayload(this.run, event).then(
        (parts) => {
          this.run.setWhole(event, [parts[0], parts[1] ?? []])
          if (this.event === event) this.show(event)
        },
        () => box.append(el('p.problem', 'It could not be read.')),
      )
    if (isMissing) load()
    else box.append(button('.whole', null, load, 'Show the whole payload'))
  }

  #ancestors(event) {
    const { run } = this
    const found = run.ancestors(event, MAX_ANCESTORS)
    if (found.length === 0)
      return el(
        'div',
        el('h3', 'What led to it'),
        el(
          'p.note',
          run.first === 0 || event > 0
            ? 'Nothing: it is the first.'
            : 'That is before the snapshot with which this log begins.',
        ),
      )
    const items = found.map((at) =>
      el(
        'li',
        button(
          '.ancestor',
          null,
          () => this.pick(at),
          el('span.number', run.nameOf(at)),
          ' ',
          content('span.kind', run.kindOf(at)),
          ' ',
          content('span.label', run.nodeOf(at) ?? run.labelOf(at)),
        ),
      ),
    )
    return el(
      'div',
      el('h3', 'What led to it, nearest first'),
      el('ol.ancestors', ...items),
      found.length === MAX_ANCESTORS ? el('p.note', 'and what was before') : null,
    )
  }
}
