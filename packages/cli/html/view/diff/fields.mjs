// Differing values side by side, with the differing words marked.

import { fileSize, plural } from '../../../quantities.js'
import { content, el, elWith, factsList, shown, withPlainLines } from '../dom.mjs'
import { leftOut } from '../payload.mjs'
import { wordDiff } from './words.mjs'

/** The number of characters of equal text that are shown around a difference, and of a value without one. */
const CONTEXT = 160
const WHOLE = 4000

/** @param field `{ path, also, left, right, blob? }`; a side without the field is null */
export function fieldView({ path, also, note, left, right, blob }) {
  const values = blob
    ? [blob.left, blob.right].map(({ text }) => ({ value: text, cuts: [], skipped: 0 }))
    : [left, right]
  return elWith(
    'section.field',
    { 'aria-label': `Difference at ${path}` },
    content('h4.path', [path || '(the whole)', ...also].join(', ')),
    note ? el('p.note', note) : null,
    blob ? hashes(left, right, blob) : null,
    sideBySide(...values),
  )
}

/** Shows the content of blobs instead of their hashes. */
function hashes(left, right, blob) {
  const hash = (name, { value }) => elWith(`code.${name}`, { title: value }, `${value.slice(0, 12)}…`)
  const isWhole = blob.left.isWhole && blob.right.isWhole
  const sizes = `${fileSize(blob.left.size)} and ${fileSize(blob.right.size)}${isWhole ? '' : ', shown from the beginning'}`
  return el('p.hashes', 'The hashes ', hash('left', left), ' and ', hash('right', right), ` are of these (${sizes}):`)
}

const valueText = ({ value }) => (typeof value === 'string' ? value : JSON.stringify(value, null, 2))

function sideBySide(left, right) {
  const parts = left && right ? wordDiff(valueText(left), valueText(right)) : null
  const value = (name, side) =>
    side ? valueView(name, side, parts ?? [['=', valueText(side)]]) : el(`p.value.${name}.absent`, 'not there')
  return el('div.values', value('left', left), value('right', right))
}

function valueView(name, { cuts, skipped }, all) {
  const own = name === 'left' ? '-' : '+'
  const parts = all.filter(([op]) => op === '=' || op === own)
  const before = `… ${plural(skipped, 'character')} before, equal on both sides …`
  return el(
    `pre.value.${name}`,
    ...(skipped > 0 ? [el('span.left-out', before), '\n'] : []),
    ...parts.flatMap(([op, text], at) => {
      if (op !== '=') return [content(op === '-' ? 'del' : 'ins', text)]
      return shortened(withPlainLines(text), at > 0, at < parts.length - 1)
    }),
    ...cuts.flatMap((cut) => ['\n', el('span.left-out', `${leftOut(cut)}${cut.path ? ` at ${cut.path}` : ''}`)]),
  )
}

/** Equal text, without the middle if it is long. */
function shortened(text, isBehind, isBefore) {
  const [head, tail] = [isBehind ? CONTEXT : 0, isBefore ? CONTEXT : 0]
  const room = isBehind || isBefore ? head + tail + CONTEXT : WHOLE
  if (text.length <= room) return shown(text)
  const [from, to] = [head || (isBefore ? 0 : room), text.length - tail]
  const left = el('span.left-out', `… ${plural(to - from, 'equal character')} …`)
  return [...shown(text.slice(0, from)), left, ...shown(text.slice(to))]
}

/** The facts of the events, if there are no fields to compare. */
export function sidesView({ sides }) {
  const side = (name) =>
    sides[name] ? factsList(`dl.value.${name}`, sides[name]) : el(`p.value.${name}.absent`, 'has ended')
  return el('div.values', side('left'), side('right'))
}
