// Creates elements with Preact. Strings always become text: the page never parses markup from strings, except what the sanitizer returns.

import { Component, h, render } from 'preact'
import { INVISIBLE, INVISIBLE_IN_LINES } from '../../invisible.js'

/** @param {string} name `tag` or `tag.class.class` */
export const el = (name, ...children) => elWith(name, {}, ...children)

/** The attributes are never from a recording. */
export function elWith(name, attributes, ...children) {
  const [tag, ...classes] = name.split('.')
  return h(tag, { ...attributes, ...(classes.length > 0 && { class: classes.join(' ') }) }, ...children)
}

export const button = (name, onClick, attributes, ...children) =>
  elWith(`button${name}`, { type: 'button', onClick, ...attributes }, ...children)

/** The nodes of what Preact renders, for a part of the page that it does not update. */
export function nodesOf(...children) {
  const box = document.createElement('div')
  render(children, box)
  return [...box.childNodes]
}

export const node = (child) => nodesOf(child)[0]

/** An element that Preact makes, with nodes behind its own content. */
export function box(element, ...nodes) {
  const found = node(element)
  found.append(...nodes)
  return found
}

/** The search term, which is marked in all shown text; null without a search. */
let marked = null
export const setMarked = (pattern) => {
  marked = pattern
}

/** Normalises line ends. */
export const withPlainLines = (text) => text.replaceAll('\r\n', '\n')

/** The escape of a character, as on the command line. */
export function nameOfHidden(char) {
  const code = char.codePointAt(0)
  if (char === '\r') return '\\r'
  if (code < 0x100) return `\\x${code.toString(16).padStart(2, '0')}`
  return code > 0xffff ? `\\u{${code.toString(16)}}` : `\\u${code.toString(16).padStart(4, '0')}`
}

function hiddenView(char) {
  const title = `U+${char.codePointAt(0).toString(16).toUpperCase().padStart(4, '0')}`
  return elWith('span.hidden', { title }, nameOfHidden(char))
}

/** Untrusted text, with invisible and directional characters as escapes, and the search term marked. */
export const shown = (text) =>
  parts(String(text), INVISIBLE_IN_LINES, hiddenView).flatMap((part) =>
    typeof part === 'string' && marked !== null ? parts(part, marked, (found) => el('mark', found)) : [part],
  )

/** The text between the matches of a pattern, and what `view` makes of each match, in order. */
function parts(text, pattern, view) {
  const found = []
  let from = 0
  for (const { 0: match, index } of text.matchAll(pattern)) {
    if (index > from) found.push(text.slice(from, index))
    if (match !== '') found.push(view(match))
    from = index + match.length
  }
  if (from < text.length) found.push(text.slice(from))
  return found
}

/** Text for attributes and for SVG, which can't contain the element that shows a hidden character. */
export const visible = (text) => text.replace(INVISIBLE, nameOfHidden)

/** An element whose content is isolated from the text direction around it. */
export const content = (name, text, attributes = {}) => elWith(`${name}.content`, attributes, ...shown(text))

/** Names with values. */
export const factsList = (name, facts) =>
  el(name, ...facts.map(([term, value]) => el('div', content('dt', term), content('dd', value))))

/** A table whose first column has the names of its rows. A cell is a text or a list of elements; a row may have a class. */
export function table(columns, rows) {
  const head = columns.map((name) => elWith('th', { scope: 'col' }, name))
  const cell = (name, value, attributes) =>
    Array.isArray(value) ? elWith(name, attributes, ...value) : content(name, value, attributes)
  const body = rows.map(({ name, cells: [first, ...others] }) =>
    elWith('tr', { class: name }, cell('th', first, { scope: 'row' }), ...others.map((value) => cell('td', value))),
  )
  return el('table', el('thead', el('tr', ...head)), el('tbody', ...body))
}

/** Open parts, which stay open when their row is made again. */
const openParts = new Set()

/** A part that can be opened. Its content is made when it is first shown. */
class Details extends Component {
  render({ name, id, summary, build }) {
    const onToggle = ({ target }) => {
      if (target.open) openParts.add(id)
      else openParts.delete(id)
      this.isMade ||= target.open
      this.forceUpdate()
    }
    const open = openParts.has(id)
    this.isMade ||= open
    return elWith(`details${name}`, { open, onToggle }, el('summary', ...summary), this.isMade ? build() : null)
  }
}

export const details = (name, id, summary, build) => h(Details, { name, id, summary, build, key: id })

/** An element whose content is no work of Preact: `fill` appends it when the text is new. */
class Filled extends Component {
  shouldComponentUpdate({ text }) {
    return text !== this.props.text
  }

  render({ name, text, fill }) {
    return elWith(name, { ref: (element) => element && fill(element, text) })
  }
}

export const filled = (name, text, fill) => h(Filled, { name, text, fill })
