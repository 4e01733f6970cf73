// Markdown and highlighted code. The text is untrusted: raw HTML is off, the output of the libraries goes through the sanitizer, nothing is loaded,
// and hidden characters are shown as everywhere else. What the model read is shown, also what Markdown has no place for: cells beyond a table's
// header, what follows the language of a code block, titles, and definitions of links.

import DOMPurify from 'dompurify'
import hljs from 'highlight.js/lib/common'
import MarkdownIt from 'markdown-it'
import { content, el, elWith, filled, nodesOf, shown, withPlainLines } from './dom.mjs'

const SAFE_LINK = /^(?:https?|mailto):/i
const ALLOWED = {
  ALLOWED_TAGS: 'p br hr h3 h4 h5 h6 blockquote ul ol li pre code em strong s table thead tbody tr th td a span'.split(
    ' ',
  ),
  ALLOWED_ATTR: ['href', 'class', 'start'],
  ALLOWED_URI_REGEXP: SAFE_LINK,
  ALLOW_DATA_ATTR: false,
  ALLOW_ARIA_ATTR: false,
  RETURN_DOM_FRAGMENT: true,
}

const sanitized = (html) => DOMPurify.sanitize(html, ALLOWED)

/** The library drops what is nested more deeply. */
const DEEPEST = 100

const markdownIt = markdownRenderer()

/** The HTML of a text, not yet sanitized; null if it is nested too deeply. */
function markdownHtml(text) {
  const env = { lines: text.split(/\r\n?|\n/) }
  const tokens = markdownIt.parse(text, env)
  return tokens.some(({ level }) => level >= DEEPEST - 1)
    ? null
    : markdownIt.renderer.render(tokens, markdownIt.options, env)
}

function markdownRenderer() {
  const renderer = new MarkdownIt({
    html: false,
    linkify: true,
    breaks: true,
    maxNesting: DEEPEST,
    highlight: highlightedHtml,
  })
  renderer.linkify.set({ fuzzyLink: false, fuzzyEmail: false })
  // Definitions of links stay where they are.
  renderer.disable('strip_references')
  renderer.validateLink = (url) => SAFE_LINK.test(url.trim())
  const { rules } = renderer.renderer
  const escaped = renderer.utils.escapeHtml
  // An image would be loaded from elsewhere, so its description and address are shown instead.
  rules.image = (tokens, at) => {
    const [address, title] = ['src', 'title'].map((name) => tokens[at].attrGet(name) ?? '')
    return `<span class="image">${escaped(tokens[at].content || 'image')} (${escaped(address)})</span>${titleHtml(escaped(title))}`
  }
  rules.link_close = (tokens, at) => `</a>${titleHtml(escaped(tokens[at].meta?.title ?? ''))}`
  for (const name of ['th_open', 'td_open']) {
    rules[name] = (tokens, at) => `<${tokens[at].tag}${tokens[at].meta?.isExtra ? ' class="extra"' : ''}>`
  }
  const { fence } = rules
  rules.fence = (tokens, at, options, env, self) => {
    const info = tokens[at].info.trim()
    return (info === '' ? '' : `<p class="info">${escaped(info)}</p>`) + fence(tokens, at, options, env, self)
  }
  rules.reference_definition = (tokens, at, options, { lines }) => {
    const [from, to] = tokens[at].map
    return `<p class="definition">${escaped(lines.slice(from, to).join('\n'))}</p>`
  }
  renderer.core.ruler.after('block', 'extra_cells', addExtraCells)
  renderer.core.ruler.push('headings', ({ tokens }) => {
    // The page's own headings are above them.
    for (const token of tokens)
      if (/^heading_/.test(token.type)) token.tag = `h${Math.min(Number(token.tag[1]) + 2, 6)}`
  })
  renderer.core.ruler.push('titles', ({ tokens }) => {
    for (const { children } of tokens) if (children) keepTitles(children)
  })
  return renderer
}

const titleHtml = (escapedTitle) => (escapedTitle === '' ? '' : `<span class="title"> “${escapedTitle}”</span>`)

/** Moves the titles of links to their ends, behind which they are shown. */
function keepTitles(tokens) {
  const titles = []
  for (const token of tokens) {
    if (token.type === 'link_open') titles.push(token.attrGet('title') ?? '')
    if (token.type === 'link_close') token.meta = { title: titles.pop() }
  }
}

/** Adds the cells of rows that are longer than the header of their table. */
function addExtraCells(state) {
  const tokens = []
  let [columns, line, isBody] = [0, 0, false]
  for (const token of state.tokens) {
    if (token.type === 'table_open') [columns, isBody] = [0, false]
    if (token.type === 'th_open') columns += 1
    if (token.type === 'tbody_open') isBody = true
    if (token.type === 'tr_open') line = token.map[0]
    if (token.type === 'tr_close' && isBody)
      tokens.push(
        ...cellsIn(state.env.lines[line])
          .slice(columns)
          .flatMap((cell) => cellTokens(state, cell, token.level + 1)),
      )
    tokens.push(token)
  }
  state.tokens = tokens
}

function cellTokens({ Token }, content, level) {
  const [open, inline, close] = [
    new Token('td_open', 'td', 1),
    new Token('inline', '', 0),
    new Token('td_close', 'td', -1),
  ]
  Object.assign(open, { level, meta: { isExtra: true } })
  Object.assign(inline, { level: level + 1, content, children: [] })
  return [open, inline, Object.assign(close, { level })]
}

/** The cells of a row of a table, which may be inside of a quotation. */
function cellsIn(line) {
  const cells = line
    .replace(/^[\s>]+/, '')
    .trimEnd()
    .split(/(?<!\\)\|/)
  if (cells[0] === '') cells.shift()
  if (cells.at(-1) === '') cells.pop()
  return cells.map((cell) => cell.replaceAll('\\|', '|').trim())
}

/** The longest text that is rendered as Markdown, and the longest code that is highlighted, in characters. */
const MAX_MARKDOWN = 200_000
const MAX_HIGHLIGHTED = 50_000

/** Returns an empty string if the language is unknown or the code is too long; the code is then shown plain. */
function highlightedHtml(code, language) {
  if (code.length > MAX_HIGHLIGHTED || !language || !hljs.getLanguage(language)) return ''
  return hljs.highlight(code, { language, ignoreIllegals: true }).value
}

/** An element with a text as Markdown, or plain if it is too long, or so deeply nested that the library would drop something. */
export function markdownView(text) {
  return filled('div.markdown', withPlainLines(text), (view, plain) => {
    const html = plain.length > MAX_MARKDOWN ? null : markdownHtml(plain)
    if (html === null) return view.replaceChildren(...nodesOf(content('p.plain', plain)))
    view.replaceChildren(sanitized(html))
    for (const link of view.querySelectorAll('a[href]')) finishLink(link)
    for (const table of view.querySelectorAll('table')) makeScrollable(table)
    for (const pre of view.querySelectorAll('pre')) pre.tabIndex = 0
    return revealHidden(view)
  })
}

/** Shows where a link leads if its text does not. */
function finishLink(link) {
  Object.assign(link, { rel: 'noopener noreferrer nofollow', target: '_blank', title: link.href })
  const { host } = link
  if (host !== '' && !link.textContent.includes(host)) link.after(...nodesOf(el('span.host', ` (${host})`)))
}

function makeScrollable(table) {
  const [box] = nodesOf(elWith('div.scrollable', { tabindex: 0, role: 'region', 'aria-label': 'Table' }))
  table.replaceWith(box)
  box.append(table)
}

/** An element with highlighted code. */
export function codeView(code, language) {
  const plain = withPlainLines(code)
  const html = highlightedHtml(plain, language)
  const highlighted = (view) => {
    view.replaceChildren(sanitized(html))
    revealHidden(view)
  }
  const inner = html === '' ? content('code', plain) : filled('code.hljs', plain, highlighted)
  return elWith('pre.code', { tabindex: 0 }, inner)
}

/** Shows hidden characters and marks the search term in all text of an element. */
function revealHidden(element) {
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT)
  const texts = []
  while (walker.nextNode()) texts.push(walker.currentNode)
  for (const text of texts) {
    const parts = shown(text.data)
    if (parts.some((part) => typeof part !== 'string')) text.replaceWith(...nodesOf(...parts))
  }
}
