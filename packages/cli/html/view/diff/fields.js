// Differing values side by side, with the differing words marked.

/** The number of characters of equal text that are shown around a difference. */
const CONTEXT = 160

/** @param field `{ path, also, left, right, blob? }`; a side without the field is null */
function fieldView({ path, also, note, left, right, blob }) {
  const group = withAttributes(el('section.field'), { 'aria-label': `Difference at ${path}` })
  group.append(content('h4.path', [path || '(the whole)', ...also].join(', ')))
  if (note) group.append(el('p.note', note))
  if (blob) group.append(hashes(left, right, blob), sideBySide(blobValue(blob.left), blobValue(blob.right)))
  else group.append(sideBySide(left, right))
  return group
}

const blobValue = ({ text }) => ({ value: text, cuts: [], skipped: 0 })

/** Shows the content of blobs instead of their hashes. */
function hashes(left, right, blob) {
  const hash = (name, { value }) => withAttributes(el(`code.${name}`, `${value.slice(0, 12)}…`), { title: value })
  const isWhole = blob.left.isWhole && blob.right.isWhole
  const sizes = `${fileSize(blob.left.size)} and ${fileSize(blob.right.size)}${isWhole ? '' : ', shown from the beginning'}`
  return el('p.hashes', 'The hashes ', hash('left', left), ' and ', hash('right', right), ` are of these (${sizes}):`)
}

function sideBySide(left, right) {
  const texts = [left, right].map((side) => side && valueText(side.value))
  const parts = left && right ? wordDiff(texts[0], texts[1]) : null
  const values = el('div.values')
  for (const [index, side] of [left, right].entries()) {
    const name = index === 0 ? 'left' : 'right'
    values.append(
      side ? valueView(name, side, parts ?? [['=', texts[index]]]) : el(`p.value.${name}.absent`, 'not there'),
    )
  }
  return values
}

const valueText = (value) => (typeof value === 'string' ? value : JSON.stringify(value, null, 2))

function valueView(name, { cuts, skipped }, parts) {
  const view = el(`pre.value.${name}`)
  if (skipped > 0)
    view.append(el('span.left-out', `… ${counted(skipped, 'character')} before, equal on both sides …`), '\n')
  const shown = parts.filter(([op]) => op === '=' || (op === '-') === (name === 'left'))
  for (const [at, [op, text]] of shown.entries()) {
    if (op === '=') appendShortened(view, withPlainLines(text), at > 0, at < shown.length - 1)
    else view.append(content(op === '-' ? 'del' : 'ins', text))
  }
  for (const cut of cuts) view.append('\n', el('span.left-out', `${leftOut(cut)}${cut.path ? ` at ${cut.path}` : ''}`))
  return view
}

/** Equal text, without the middle if it is long. */
function appendShortened(view, text, isBehind, isBefore) {
  const [head, tail] = [isBehind ? CONTEXT : 0, isBefore ? CONTEXT : 0]
  const room = isBehind || isBefore ? head + tail + CONTEXT : 4000
  if (text.length <= room) return void appendContent(view, text)
  const [from, to] = [head || (isBefore ? 0 : room), text.length - tail]
  appendContent(view, text.slice(0, from))
  view.append(el('span.left-out', `… ${counted(to - from, 'equal character')} …`))
  appendContent(view, text.slice(to))
}
