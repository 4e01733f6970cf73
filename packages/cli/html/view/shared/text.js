// Shows untrusted text. Invisible and directional characters are shown as escapes.

/** The search term, which is marked in all shown text; null without a search. */
let marked = null

/** The escape of a character, as on the command line. */
function nameOfHidden(char) {
  const code = char.codePointAt(0)
  if (char === '\r') return '\\r'
  if (code < 0x100) return `\\x${code.toString(16).padStart(2, '0')}`
  return code > 0xffff ? `\\u{${code.toString(16)}}` : `\\u${code.toString(16).padStart(4, '0')}`
}

/** Normalises line ends. */
const withPlainLines = (text) => text.replaceAll('\r\n', '\n')

/** Appends content to an element. */
function appendContent(parent, text) {
  eachPart(
    text,
    INVISIBLE_IN_LINES,
    (part) => appendMarked(parent, part),
    (char) => {
      const shown = el('span.hidden', nameOfHidden(char))
      shown.title = `U+${char.codePointAt(0).toString(16).toUpperCase().padStart(4, '0')}`
      parent.append(shown)
    },
  )
  return parent
}

function appendMarked(parent, text) {
  if (marked === null) parent.append(text)
  else
    eachPart(
      text,
      marked,
      (part) => parent.append(part),
      (found) => parent.append(el('mark', found)),
    )
}

/** Calls one function for each text between matches, and the other for each match, in order. */
function eachPart(text, pattern, between, match) {
  let from = 0
  for (const { 0: found, index } of text.matchAll(pattern)) {
    if (index > from) between(text.slice(from, index))
    if (found !== '') match(found)
    from = index + found.length
  }
  if (from < text.length) between(text.slice(from))
}

/** An element whose content is isolated from the text direction around it. */
const content = (name, text) => {
  const element = el(name)
  element.classList.add('content')
  return appendContent(element, text)
}
