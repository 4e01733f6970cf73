// Shows a payload as indented JSON, with the line ends of its strings.

/** @param {boolean} isPlain whether to show exact JSON, with line ends as `\n` */
function payloadView([value, cuts = []], isPlain) {
  const root = el('pre.json')
  const work = { isPlain, cuts: new Map(cuts.map((cut) => [cut.path, cut])) }
  appendValue(root, value, '', '', work)
  return root
}

// The recursion is bounded, because nesting was limited when the page was written.
function appendValue(parent, value, path, indent, work) {
  if (typeof value === 'string') return appendString(parent, value, work.cuts.get(path), work)
  if (typeof value !== 'object' || value === null) return parent.append(el('span.literal', String(value)))
  const isList = Array.isArray(value)
  const entries = isList ? value.map((item, index) => [String(index), item]) : Object.entries(value)
  const [open, close] = isList ? '[]' : '{}'
  const cut = work.cuts.get(path)
  if (entries.length === 0 && !cut) return parent.append(open + close)
  parent.append(open)
  for (const [at, [key, item]] of entries.entries()) {
    parent.append(`\n${indent}  `)
    if (!isList) parent.append(content('span.key', JSON.stringify(key)), ': ')
    appendValue(parent, item, `${path}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`, `${indent}  `, work)
    if (at < entries.length - 1) parent.append(',')
  }
  if (cut) parent.append(`\n${indent}  `, el('span.left-out', leftOut(cut)))
  parent.append(`\n${indent}${close}`)
}

function leftOut({ what, left }) {
  if (what === 'text') return `… ${counted(left, 'character')} left out …`
  if (what === 'items') return `… ${counted(left, 'more item')} left out`
  if (what === 'fields') return `… ${counted(left, 'more field')} left out`
  return `… ${counted(left, 'item')} nested too deep to be shown`
}

function appendString(parent, text, cut, { isPlain }) {
  const isBlock = !isPlain && text.includes('\n')
  const shown = isBlock ? withPlainLines : (part) => JSON.stringify(part).slice(1, -1)
  const element = el(isBlock ? 'span.block' : 'span.string')
  element.classList.add('content')
  if (!isBlock) element.append('"')
  else if (text.includes('\r\n')) element.append(el('span.left-out', 'lines end in \\r\\n'), '\n')
  appendContent(element, shown(cut ? text.slice(0, cut.at) : text))
  if (cut) {
    element.append(isBlock ? '\n' : ' ', el('span.left-out', leftOut(cut)), isBlock ? '\n' : ' ')
    appendContent(element, shown(text.slice(cut.at)))
  }
  if (!isBlock) element.append('"')
  parent.append(element)
}
