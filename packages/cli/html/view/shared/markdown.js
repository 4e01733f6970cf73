// The renderer of Markdown. What the model read is shown, also what Markdown has no place for: cells beyond a table's header, what follows the
// language of a code block, titles, and definitions of links.

const SAFE_LINK = /^(?:https?|mailto):/i
const ALLOWED = {
  ALLOWED_TAGS: [
    'p',
    'br',
    'hr',
    'h3',
    'h4',
    'h5',
    'h6',
    'blockquote',
    'ul',
    'ol',
    'li',
    'pre',
    'code',
    'em',
    'strong',
    's',
    'table',
    'thead',
    'tbody',
    'tr',
    'th',
    'td',
    'a',
    'span',
  ],
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
