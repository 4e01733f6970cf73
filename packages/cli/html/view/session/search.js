// Filters rows by text, speaker, tool and state.

const GROUPS = { human: 'Human', ai: 'AI', tool: 'Tool', other: 'Other records' }

const STATES_OF_ROWS = {
  all: ['All records', () => true],
  now: ['In the history now', ({ flags }) => (flags & IN_HISTORY) !== 0],
  gone: ['Taken away', ({ flags, removedBy }) => (flags & ITEM) !== 0 && removedBy > 0],
  failed: ['Failures', ({ flags }) => (flags & FAILED) !== 0],
  wrong: ['Warnings and damage', ({ flags, line }, page) => (flags & DAMAGED) !== 0 || page.warningsAt.has(line)],
  removers: ['Compressions, rewinds, edits', ({ type }) => REMOVERS.includes(type)],
  switches: ['Provider switches', ({ type }) => type === 'provider_switch'],
}

/** The maximum number of tools that can be chosen. */
const MAX_CHOICES = 200

class Search {
  constructor(page, list) {
    this.page = page
    this.list = list
    this.input = withAttributes(el('input'), {
      type: 'search',
      placeholder: 'Search the conversation',
      'aria-label': 'Search the conversation',
      autocomplete: 'off',
      spellcheck: 'false',
    })
    this.state = this.#select(
      'Which records',
      Object.entries(STATES_OF_ROWS).map(([value, [text]]) => [value, text]),
    )
    this.tool = this.#select('Which tool', [['', 'All tools'], ...this.#toolChoices()])
    this.tool.hidden = page.totals.tools.length === 0
    this.groups = this.#groupBoxes()
    this.status = withAttributes(el('output.status'), { 'aria-live': 'polite' })
    const speakers = withAttributes(el('span.groups', ...this.groups.map(({ label }) => label)), {
      role: 'group',
      'aria-label': 'Speakers',
    })
    this.element = withAttributes(el('form.search', this.input, speakers, this.tool, this.state, this.status), {
      role: 'search',
    })
    this.#listen()
  }

  #toolChoices() {
    // An option element can't contain markup, so hidden characters of a name are replaced.
    return this.page.totals.tools
      .slice(0, MAX_CHOICES)
      .map(({ name }) => [`tool ${name}`, name.replace(INVISIBLE, '\ufffd')])
  }

  #select(label, choices) {
    return withAttributes(
      el('select', ...choices.map(([value, text]) => withAttributes(el('option', text), { value }))),
      { 'aria-label': label },
    )
  }

  #groupBoxes() {
    return Object.entries(GROUPS).map(([name, text]) => {
      const box = withAttributes(el('input'), { type: 'checkbox', value: name })
      box.checked = true
      return { name, box, label: el('label', box, text) }
    })
  }

  #listen() {
    let waiting
    this.input.addEventListener('input', () => {
      clearTimeout(waiting)
      waiting = setTimeout(() => this.apply(), 120)
    })
    for (const control of [this.state, this.tool, ...this.groups.map(({ box }) => box)])
      control.addEventListener('change', () => this.apply())
    this.element.addEventListener('submit', (event) => {
      event.preventDefault()
      clearTimeout(waiting)
      this.apply()
      if (this.list.shown.length > 0) this.list.jump(this.list.shown[0], 'start')
    })
  }

  get isActive() {
    return (
      this.input.value !== '' ||
      this.state.selectedIndex > 0 ||
      this.tool.selectedIndex > 0 ||
      this.groups.some(({ box }) => !box.checked)
    )
  }

  clear() {
    this.input.value = ''
    this.state.selectedIndex = 0
    this.tool.selectedIndex = 0
    for (const { box } of this.groups) box.checked = true
    this.apply()
  }

  /** Shows the matching rows. If the page has only excerpts of some records, the server searches too. */
  apply() {
    const text = this.input.value
    this.found = null
    if (text !== '' && this.page.served && this.page.excerptsBefore > 1) this.#ask(text)
    this.#show(text)
  }

  #ask(text) {
    linesWith(this.page, text).then(
      (lines) => {
        if (this.input.value !== text) return
        this.found = new Set(lines)
        this.#show(text)
      },
      () => {},
    )
  }

  #show(text) {
    marked = text === '' ? null : pattern(text, 'giu')
    const { rows } = this.page
    const test = this.test()
    const shown = []
    for (let row = 0; row < rows.length; row++) if (test(row)) shown.push(row)
    this.list.show(shown)
    this.status.textContent = this.isActive
      ? `${shown.length === 0 ? 'nothing' : shown.length.toLocaleString('en-US')} of ${rows.length.toLocaleString('en-US')}`
      : ''
  }

  /** Returns a function that says whether a row is shown. */
  test() {
    if (!this.isActive) return () => true
    const { page } = this
    const text = this.input.value
    const payload = pattern(inIsland(text), 'iu')
    const names = new Set(this.groups.filter(({ box }) => box.checked).map(({ name }) => name))
    const isOfState = STATES_OF_ROWS[this.state.value][1]
    const lines = this.tool.value === '' ? null : linesOfTool(page, this.tool.value.slice('tool '.length))
    return (index) => {
      const row = page.rows[index]
      const group = Object.hasOwn(GROUPS, row.speaker) ? row.speaker : 'other'
      if (!names.has(group) || !isOfState(row, page) || (lines && !lines.has(row.line))) return false
      return text === '' || (this.found ? this.found.has(row.line) : payload.test(page.payloadText(index)))
    }
  }
}

function linesOfTool(page, name) {
  return new Set(
    page.calls.filter((call) => call.name === name).flatMap(({ line, responseLine }) => [line, responseLine]),
  )
}
