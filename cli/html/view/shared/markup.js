// Markdown and highlighted code. The text is untrusted: raw HTML is off, the output of the libraries goes through the sanitizer, nothing is loaded,
// and hidden characters are shown as everywhere else.

/** The longest text that is rendered as Markdown, and the longest code that is highlighted, in characters. */
const LONGEST_MARKDOWN = 200_000
const LONGEST_HIGHLIGHTED = 50_000

const SAFE_LINK = /^(?:https?|mailto):/i
const ALLOWED = {
  ALLOWED_TAGS: ['p', 'br', 'hr', 'h3', 'h4', 'h5', 'h6', 'blockquote', 'ul', 'ol', 'li', 'pre', 'code', 'em', 'strong', 's', 'table', 'thead', 'tbody', 'tr', 'th', 'td', 'a', 'span'],
  ALLOWED_ATTR: ['href', 'class', 'start'],
  ALLOWED_URI_REGEXP: SAFE_LINK,
  ALLOW_DATA_ATTR: false,
  ALLOW_ARIA_ATTR: false,
  RETURN_DOM_FRAGMENT: true,
}

const sanitized = (html) => DOMPurify.sanitize(html, ALLOWED)

const markdownIt = markdownRenderer()

function markdownRenderer() {
  const renderer = new MarkdownIt({ html: false, linkify: true, breaks: true, highlight: highlightedHtml })
  renderer.linkify.set({ fuzzyLink: false, fuzzyEmail: false })
  renderer.validateLink = (url) => SAFE_LINK.test(url.trim())
  // An image would be loaded from elsewhere, so its description and address are shown instead.
  renderer.renderer.rules.image = (tokens, at) => {
    const [text, address] = [tokens[at].content, tokens[at].attrGet('src')].map(renderer.utils.escapeHtml)
    return `<span class="image">${text || 'image'} (${address})</span>`
  }
  for (const name of ['th_open', 'td_open']) {
    renderer.renderer.rules[name] = (tokens, at) => `<${tokens[at].tag}>`
  }
  renderer.core.ruler.push('headings', ({ tokens }) => {
    // The page's own headings are above them.
    for (const token of tokens) if (/^heading_/.test(token.type)) token.tag = `h${Math.min(Number(token.tag[1]) + 2, 6)}`
  })
  return renderer
}

/** Returns an empty string if the language is unknown or the code is too long; the code is then shown plain. */
function highlightedHtml(code, language) {
  if (code.length > LONGEST_HIGHLIGHTED || !language || !hljs.getLanguage(language)) return ''
  return hljs.highlight(code, { language, ignoreIllegals: true }).value
}

/** An element with a text as Markdown. */
function markdownView(text) {
  const plain = withPlainLines(text)
  if (plain.length > LONGEST_MARKDOWN) return el('div.markdown', content('p.plain', plain))
  const view = el('div.markdown', sanitized(markdownIt.render(plain)))
  for (const link of view.querySelectorAll('a')) finishLink(link)
  for (const table of view.querySelectorAll('table')) makeScrollable(table)
  for (const pre of view.querySelectorAll('pre')) pre.tabIndex = 0
  return revealHidden(view)
}

/** Shows where a link leads if its text does not. */
function finishLink(link) {
  if (!link.hasAttribute('href')) return
  withAttributes(link, { rel: 'noopener noreferrer nofollow', target: '_blank' })
  link.title = link.href
  const { host } = link
  if (host !== '' && !link.textContent.includes(host)) link.after(el('span.host', ` (${host})`))
}

function makeScrollable(table) {
  const box = withAttributes(el('div.scrollable'), { tabindex: 0, role: 'region', 'aria-label': 'Table' })
  table.replaceWith(box)
  box.append(table)
}

/** An element with highlighted code. */
function codeView(code, language) {
  const plain = withPlainLines(code)
  const html = highlightedHtml(plain, language)
  const inner = html === '' ? content('code', plain) : revealHidden(el('code.hljs', sanitized(html)))
  return withAttributes(el('pre.code', inner), { tabindex: 0 })
}

/** Shows hidden characters and marks the search term in all text of an element. */
function revealHidden(element) {
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT)
  const texts = []
  while (walker.nextNode()) texts.push(walker.currentNode)
  for (const text of texts) {
    const part = document.createDocumentFragment()
    appendContent(part, text.data)
    if (part.childNodes.length !== 1 || part.firstChild.nodeType !== Node.TEXT_NODE) text.replaceWith(part)
  }
  return element
}
