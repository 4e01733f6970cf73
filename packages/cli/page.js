'use strict'

// Text pages with labels on the left and values on the right.

const { count, plural } = require('./quantities.js')

/** @import { Colours } from './colours.js' */

const LABEL = 14

/** @type {(label: string, text: string, colour: Colours) => string} */
const row = (label, text, colour) => `${colour.dim(label.padEnd(LABEL))}${text}`
/** @type {(label: string, rows: string[], colour: Colours) => string[]} */
const rowsUnder = (label, rows, colour) => rows.map((text, i) => row(i === 0 ? label : '', text, colour))

/** The first elements, and the number of the others. @type {(label: string, items: string[], most: number, colour: Colours) => string[]} */
function list(label, items, most, colour) {
  if (items.length === 0) return [row(label, colour.dim('none'), colour)]
  const rows = items.slice(0, most)
  if (items.length > most) rows.push(colour.dim(`… and ${count(items.length - most)} more`))
  return rowsUnder(label, rows, colour)
}

/**
 * A page: a title, and sections of rows separated by a line.
 *
 * @type {(title: string, path: string, sections: string[][], colour: Colours) => string}
 */
function page(title, path, sections, colour) {
  const head = `${colour.bold(title)}\n${colour.dim(path)}\n`
  const body = sections.filter((rows) => rows.length > 0).map((rows) => rows.map((text) => `  ${text}\n`).join(''))
  return `\n${[head, ...body].join('\n')}`
}

/**
 * Counts by name, the most frequent first, several on each row: `content 12 · rewind 1`.
 *
 * @param {Record<string, number>} counts
 * @param {Colours} colour
 */
function tallied(counts, colour, perRow = 6, most = 30) {
  const sorted = Object.entries(counts).sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1))
  if (sorted.length === 0) return [colour.dim('none')]
  const shown = sorted.slice(0, most).map(([name, n]) => `${name} ${colour.bold(count(n))}`)
  if (sorted.length > most) shown.push(colour.dim(plural(sorted.length - most, 'more kind')))
  return Array.from({ length: Math.ceil(shown.length / perRow) }, (_, i) =>
    shown.slice(i * perRow, (i + 1) * perRow).join(' · '),
  )
}

module.exports = { row, rowsUnder, list, page, tallied }
