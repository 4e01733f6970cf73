// Filters the rows of a list by text, and by what one chooses.

import { count } from '../../quantities.js'
import { safeInIsland } from '../island.js'
import { elWith, el, node, setMarked, visible } from './dom.mjs'

/** The maximum number of names in a list of choices. */
const MAX_CHOICES = 200
/** How long the search waits for the next key, in milliseconds. */
const DELAY = 120

const pattern = (text, flags) => new RegExp(text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&'), flags)

/** Text as it is in the JSON of payloads, to search them without parsing. */
const inIsland = (text) => safeInIsland(JSON.stringify(text).slice(1, -1))

/** The choices of names, such as kinds. An option element can't contain markup, so hidden characters are replaced. */
export const namedChoices = (prefix, names, test) =>
  names.slice(0, MAX_CHOICES).map((name) => [`${prefix} ${name}`, visible(name), (row) => test(row, name)])

/**
 * @typedef {[value: string, text: string, test?: (row: number) => boolean]} Choice the first of a list is for all rows
 * @typedef {object} Filters
 * @property {number} count of all rows
 * @property {string} placeholder
 * @property {string} label
 * @property {{ label: string, choices: Choice[], group?: { label: string, choices: Choice[] }, isHidden?: boolean }[]} selects
 * @property {{ label: string, choices: Choice[] }} [boxes] of which a row has to be of one that is checked
 * @property {(row: number) => [words: string, payloads: string[]]} textsOf what is searched, as shown and as JSON
 * @property {(text: string) => Promise<Set<number>> | undefined} [ask] the server, which also searches what is not in the page
 */

export class Search {
  #filters
  #selects
  #boxes
  #waiting
  /** The rows that the server has found. */
  #found

  /** @param {Filters} filters */
  constructor(list, filters) {
    this.list = list
    this.#filters = filters
    const { boxes } = filters
    const input = elWith('input', {
      type: 'search',
      placeholder: filters.placeholder,
      'aria-label': filters.label,
      autocomplete: 'off',
      spellcheck: false,
      onInput: () => this.#soon(),
    })
    const boxLabels = boxes?.choices.map(([value, text]) =>
      el('label', elWith('input', { type: 'checkbox', value, checked: true }), text),
    )
    const onChange = ({ target }) => target !== this.input && this.apply()
    this.element = node(
      elWith(
        'form.search',
        { role: 'search', onChange, onSubmit: (event) => this.#submitted(event) },
        input,
        boxes ? elWith('span.groups', { role: 'group', 'aria-label': boxes.label }, ...boxLabels) : null,
        ...filters.selects.map(selectView),
        elWith('output.status', { 'aria-live': 'polite' }),
      ),
    )
    const all = (selector) => [...this.element.querySelectorAll(selector)]
    this.input = this.element.firstChild
    this.status = this.element.lastChild
    this.#boxes = all('[type="checkbox"]').map((element, at) => ({ element, test: boxes.choices[at][2] }))
    this.#selects = all('select').map((element, at) => ({ element, ...filters.selects[at] }))
  }

  #soon() {
    clearTimeout(this.#waiting)
    this.#waiting = setTimeout(() => this.apply(), DELAY)
  }

  #submitted(event) {
    event.preventDefault()
    clearTimeout(this.#waiting)
    this.apply()
    const first = this.list.shown.find((row) => !this.list.isSkipped(row))
    if (first !== undefined) this.list.jump(first, 'start')
  }

  get isActive() {
    const isChosen = this.#selects.some(({ element }) => element.selectedIndex > 0)
    return this.input.value !== '' || isChosen || this.#boxes.some(({ element }) => !element.checked)
  }

  clear() {
    this.input.value = ''
    for (const { element } of this.#selects) element.selectedIndex = 0
    for (const { element } of this.#boxes) element.checked = true
    this.apply()
  }

  /** Shows all rows again, at the current one. */
  leave() {
    if (!this.isActive) return
    const { current } = this.list
    this.clear()
    this.list.jump(current)
  }

  /** Shows the matching rows: those of the page at once, and those that the server finds as soon as it has. */
  apply() {
    const text = this.input.value
    setMarked(text === '' ? null : pattern(text, 'giu'))
    this.#found = null
    this.#show(text)
    if (text === '') return
    this.#filters.ask?.(text)?.then(
      (found) => {
        if (this.input.value !== text) return
        this.#found = found
        this.#show(text)
      },
      () => {},
    )
  }

  #show(text) {
    const all = Array.from({ length: this.#filters.count }, (_, row) => row)
    const shown = this.isActive ? all.filter(this.#test(text)) : all
    this.list.show(shown)
    const found = shown.length === 0 ? 'nothing' : count(shown.length)
    this.status.textContent = this.isActive ? `${found} of ${count(all.length)}` : ''
  }

  #test(text) {
    const tests = this.#selects.flatMap(({ element, choices, group }) => {
      const [, , test] = [...choices, ...(group?.choices ?? [])][element.selectedIndex]
      return test ?? []
    })
    const boxes = this.#boxes.filter(({ element }) => element.checked)
    const isOfBox = (row) => this.#boxes.length === boxes.length || boxes.some(({ test }) => test(row))
    const [words, payload] = [pattern(text, 'iu'), pattern(inIsland(text), 'iu')]
    const holds = (row) => {
      const [shown, payloads] = this.#filters.textsOf(row)
      return words.test(shown) || payloads.some((each) => payload.test(each)) || this.#found?.has(row)
    }
    return (row) =>
      !this.list.isSkipped(row) && isOfBox(row) && tests.every((test) => test(row)) && (text === '' || holds(row))
  }
}

function selectView({ label, choices, group, isHidden = false }) {
  const options = (all) => all.map(([value, text]) => elWith('option', { value }, text))
  const more = group && elWith('optgroup', { label: group.label }, ...options(group.choices))
  return elWith('select', { 'aria-label': label, hidden: isHidden }, ...options(choices), more)
}
