// Words from outside. What can't be seen, or turns the direction of what stands around it, is shown by its number.

// Zero-width joiners stay: emoji and whole scripts are written with them.
const HIDDEN = /[\p{Cs}\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu

/** What the search looks for, to be marked wherever it is shown; null: nothing. */
let marked = null

/** As it is escaped in programs, and by the command line. */
function nameOfHidden(char) {
  const code = char.codePointAt(0)
  if (char === '\r') return '\\r'
  if (code < 0x100) return `\\x${code.toString(16).padStart(2, '0')}`
  return code > 0xffff ? `\\u{${code.toString(16)}}` : `\\u${code.toString(16).padStart(4, '0')}`
}

/** Text of several lines, where it does not matter here how they end. */
const withPlainLines = (text) => text.replaceAll('\r\n', '\n')

/** Appends content to an element. */
function appendContent(parent, text) {
  eachPart(text, HIDDEN, (part) => appendMarked(parent, part), (char) => {
    const shown = el('span.hidden', nameOfHidden(char))
    shown.title = `U+${char.codePointAt(0).toString(16).toUpperCase().padStart(4, '0')}`
    parent.append(shown)
  })
  return parent
}

function appendMarked(parent, text) {
  if (marked === null) parent.append(text)
  else eachPart(text, marked, (part) => parent.append(part), (found) => parent.append(el('mark', found)))
}

/** Calls for what stands between the matches, and for the matches, in order. */
function eachPart(text, pattern, between, match) {
  let from = 0
  for (const { 0: found, index } of text.matchAll(pattern)) {
    if (index > from) between(text.slice(from, index))
    if (found !== '') match(found)
    from = index + found.length
  }
  if (from < text.length) between(text.slice(from))
}

/** An element with content in it, kept apart from the direction of the words around it. */
const content = (name, text) => {
  const element = el(name)
  element.classList.add('content')
  return appendContent(element, text)
}
