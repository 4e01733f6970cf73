// Values of a recording: payloads as indented JSON with the line ends of their strings, texts, and values on one line.

import { plural } from '../../quantities.js'
import { content, el, elWith, shown, withPlainLines } from './dom.mjs'

/** The maximum number of fields that are shown as a list rather than as JSON. */
const MAX_FIELDS = 12

/** @param {boolean} isPlain whether to show exact JSON, with line ends as `\n` */
export function payloadView([value, cuts = []], isPlain = false, name = '') {
  const work = { isPlain, cuts: new Map(cuts.map((cut) => [cut.path, cut])) }
  return elWith(`pre.json${name}`, { tabindex: 0 }, ...valueParts(value, '', '', work))
}

const pointerPart = (key) => key.replaceAll('~', '~0').replaceAll('/', '~1')

// The recursion is bounded, because nesting was limited when the page was written.
function valueParts(value, path, indent, work) {
  const cut = work.cuts.get(path)
  if (typeof value === 'string') return [stringView(value, cut, work)]
  if (typeof value !== 'object' || value === null) return [el('span.literal', String(value))]
  const [open, close] = Array.isArray(value) ? '[]' : '{}'
  const entries = Object.entries(value)
  if (entries.length === 0 && !cut) return [open + close]
  const items = entries.flatMap(([key, item], at) => [
    `\n${indent}  `,
    ...(open === '{' ? [content('span.key', JSON.stringify(key)), ': '] : []),
    ...valueParts(item, `${path}/${pointerPart(key)}`, `${indent}  `, work),
    at < entries.length - 1 ? ',' : '',
  ])
  return [open, ...items, ...(cut ? [`\n${indent}  `, leftOutView(cut)] : []), `\n${indent}${close}`]
}

function stringView(text, cut, { isPlain }) {
  const isBlock = !isPlain && text.includes('\n')
  if (!isBlock)
    return el('span.string.content', '"', ...cutText(text, cut, ' ', (part) => JSON.stringify(part).slice(1, -1)), '"')
  const ends = text.includes('\r\n') ? [el('span.left-out', 'lines end in \\r\\n'), '\n'] : []
  return el('span.block.content', ...ends, ...cutText(text, cut, '\n', withPlainLines))
}

/** A text, and between its parts what was cut out of it. */
function cutText(text, cut, space, form) {
  if (!cut) return shown(form(text))
  return [...shown(form(text.slice(0, cut.at))), space, leftOutView(cut), space, ...shown(form(text.slice(cut.at)))]
}

export function leftOut({ what, left }) {
  if (what === 'text') return `… ${plural(left, 'character')} left out …`
  if (what === 'items') return `… ${plural(left, 'more item')} left out`
  if (what === 'fields') return `… ${plural(left, 'more field')} left out`
  return `… ${plural(left, 'item')} nested too deep to be shown`
}

export const leftOutView = (cut, tag = 'span') => el(`${tag}.left-out`, leftOut(cut))

/** The cuts below a path, with paths relative to it. */
export const cutsBelow = (cuts, path) =>
  cuts
    .filter((cut) => cut.path === path || cut.path.startsWith(`${path}/`))
    .map((cut) => ({ ...cut, path: cut.path.slice(path.length) }))

/** Texts with their line ends, anything else as JSON. @param cuts what was cut, with paths relative to the value; @param name classes to add */
export function valueView(value, cuts = [], name = '') {
  const cut = cuts.find(({ path }) => path === '')
  if (typeof value === 'string')
    return elWith(`pre.text${name}`, { tabindex: 0 }, ...cutText(value, cut, '\n', withPlainLines))
  if (!isReadable(value) || cut) return payloadView([value ?? null, cuts], false, name)
  const entries = Object.entries(value).map(([key, field]) => {
    const isShort = typeof field !== 'object' && String(field).length < 80 && !String(field).includes('\n')
    const view = isShort ? content('code.short', field) : valueView(field, cutsBelow(cuts, `/${pointerPart(key)}`))
    return el(isShort ? 'div.short-field' : 'div', content('dt', key), el('dd', view))
  })
  return el(`dl.fields${name}`, ...entries)
}

/** Whether a value is an object with texts, such as the arguments of a tool. */
function isReadable(value) {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  const values = Object.values(value)
  return values.length > 0 && values.length <= MAX_FIELDS && values.some((field) => typeof field === 'string')
}

/** A value on one line. */
export function briefly(value, longest = 120) {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '')
  const line = text
    .slice(0, longest * 2)
    .replace(/\s+/gu, ' ')
    .trim()
  return line.length > longest ? `${line.slice(0, longest - 1)}…` : line
}

/** A tool's arguments or result on one line, without names if there is only one. */
export function fieldsBriefly(parameters) {
  if (typeof parameters !== 'object' || parameters === null || Array.isArray(parameters))
    return briefly(parameters ?? '')
  const entries = Object.entries(parameters)
  if (entries.length === 1) return fieldsBriefly(entries[0][1])
  return briefly(entries.map(([name, value]) => `${name}: ${briefly(value, 60)}`).join(' · '))
}
