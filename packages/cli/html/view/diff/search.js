// Filters rows by text or kind.

const SORTS = {
  all: ['All events', () => true],
  different: ['Where they differ', ({ kind }) => ['divergence', 'left', 'right', 'change', 'after'].includes(kind)],
  chain: ['The causal chain', (row, events, index, page) => page.chainRows.has(index)],
  affected: ['Affected nodes', (row, events, index, page, rows) => rows.isAffected(index)],
  failed: ['Failures', (row, events) => events.some((event) => event?.hasFailed)],
}

class Search {
  constructor(page, timeline) {
    this.page = page
    this.timeline = timeline
    this.input = withAttributes(el('input'), {
      type: 'search',
      placeholder: 'Filter events',
      'aria-label': 'Filter events by text',
      autocomplete: 'off',
      spellcheck: 'false',
    })
    this.select = withAttributes(el('select', ...this.#options()), { 'aria-label': 'Which events' })
    this.status = withAttributes(el('output.status'), { 'aria-live': 'polite' })
    this.element = withAttributes(el('form.search', this.input, this.select, this.status), { role: 'search' })
    this.#listen()
  }

  #listen() {
    let waiting
    this.input.addEventListener('input', () => {
      clearTimeout(waiting)
      waiting = setTimeout(() => this.apply(), 120)
    })
    this.select.addEventListener('change', () => this.apply())
    this.element.addEventListener('submit', (event) => {
      event.preventDefault()
      clearTimeout(waiting)
      this.apply()
      const first = this.timeline.shown.find((row) => this.page.rows[row].kind !== 'gap')
      if (first !== undefined) this.timeline.jump(first)
    })
  }

  #options() {
    const sorts = Object.entries(SORTS).filter(([name]) => this.page.divergence || name === 'all' || name === 'failed')
    const kinds = [...new Set(this.page.sides.flatMap(({ events }) => events.map(({ kind }) => kind)))].sort()
    const option = (value, text) => withAttributes(el('option', text), { value })
    // An option element can't contain markup, so hidden characters of a kind are replaced.
    const groups = kinds.slice(0, 100).map((kind) => option(`kind ${kind}`, kind.replace(INVISIBLE, '\ufffd')))
    return [
      ...sorts.map(([name, [text]]) => option(`sort ${name}`, text)),
      withAttributes(el('optgroup', ...groups), { label: 'Of one kind' }),
    ]
  }

  clear() {
    this.input.value = ''
    this.select.selectedIndex = 0
    this.apply()
  }

  get isActive() {
    return this.input.value !== '' || this.select.selectedIndex > 0
  }

  apply() {
    const text = this.input.value
    marked = text === '' ? null : pattern(text, 'giu')
    const rows = this.page.rows.map((row, index) => index)
    const shown = this.isActive ? rows.filter(this.#test(text)) : rows
    this.timeline.show(shown)
    const events = shown.filter((row) => this.page.rows[row].kind !== 'gap').length
    this.status.textContent = this.isActive
      ? `${events === 0 ? 'nothing' : events.toLocaleString('en-US')} of ${rows.length.toLocaleString('en-US')}`
      : ''
  }

  #test(text) {
    const { page, timeline } = this
    const isWanted = this.#sort()
    const [words, payload] = [pattern(text, 'iu'), pattern(inIsland(text), 'iu')]
    const holds = (event, side, index) =>
      event &&
      (words.test(`${event.kind} ${event.label} ${event.excerpt} ${event.node ?? ''} #${event.place}`) ||
        payload.test(page.sides[side].payloadText(index)))
    return (index) => {
      const row = page.rows[index]
      if (row.kind === 'gap') return false
      const events = timeline.rows.events(index)
      return (
        isWanted(row, events, index, page, timeline.rows) &&
        (text === '' || events.some((event, side) => holds(event, side, row.at[side])))
      )
    }
  }

  #sort() {
    const [group, ...rest] = this.select.value.split(' ')
    const name = rest.join(' ')
    return group === 'sort' ? SORTS[name][1] : (row, events) => events.some((event) => event?.kind === name)
  }
}
