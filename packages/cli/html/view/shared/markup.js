// Markdown and highlighted code. The text is untrusted: raw HTML is off, the output of the libraries goes through the sanitizer, nothing is loaded,
// and hidden characters are shown as everywhere else.

/** The longest text that is rendered as Markdown, and the longest code that is highlighted, in characters. */
const MAX_MARKDOWN = 200_000
const MAX_HIGHLIGHTED = 50_000

/** Returns an empty string if the language is unknown or the code is too long; the code is then shown plain. */
function highlightedHtml(code, language) {
  if (code.length > MAX_HIGHLIGHTED || !language || !hljs.getLanguage(language)) return ''
  return hljs.highlight(code, { language, ignoreIllegals: true }).value
}

/** An element with a text as Markdown, or plain if it is too long, or so deeply nested that the library would drop something. */
function markdownView(text) {
  const plain = withPlainLines(text)
  const html = plain.length > MAX_MARKDOWN ? null : markdownHtml(plain)
  if (html === null) return el('div.markdown', content('p.plain', plain))
  const view = el('div.markdown', sanitized(html))
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
