// What all pages have in common: their parts from top to bottom, the bundle that a recording is in, and what the keys do.

import { fileSize, plural } from '../../quantities.js'
import { box, content, el, elWith, factsList, node } from './dom.mjs'

/**
 * Puts a page together. Its parts are nodes, as most of them change by themselves.
 *
 * @param {{ libraries: { name: string, version: string, licence: string }[] }} page
 * @param {{ head: Node[], tools?: Node[], bar: Node[], label: string, main: Node[], keys: [key: string, does: string][] }} parts
 */
export function showPage({ libraries }, { head, tools, bar, label, main, keys }) {
  document.body.append(
    box(el('header.top'), ...head),
    box(el('div.bar'), ...(tools ? [box(el('div.tools'), ...tools)] : []), ...bar),
    box(elWith('main', { 'aria-label': label }), ...main),
    node(footer(keys, libraries)),
  )
  // A page opens at the place that its address names, or at its own.
  history.scrollRestoration = 'manual'
}

function footer(keys, libraries) {
  const legend = keys.map(([names, does]) =>
    el('span', ...names.split(' ').flatMap((name) => [el('kbd', name), ' ']), does),
  )
  const made = libraries.map(({ name, version, licence }) => content('li', `${name} ${version}, ${licence}`))
  return el(
    'footer',
    el('p.keys', ...legend),
    el(
      'details.made',
      el('summary', 'Made with session-tape and these libraries'),
      el('ul', ...made),
      el('p.note', 'The texts of their licences are in the source of this page.'),
    ),
  )
}

/** The title of a recording, where it is, facts, and its bundle. */
export const aboutView = ({ title, given, seal }, facts, { verdict, more = [] }) =>
  el(
    'div.about',
    content('h1', title),
    content('p.given', given),
    verdict,
    factsList('dl.facts-list', facts),
    seal && sealView(seal),
    ...more,
  )

/** The bundle that a recording is in: its seal, its signature, and what was redacted. */
function sealView({ bundleId, files, bytes, redactions, partial, signature }) {
  const facts = [
    ['Bundle', bundleId.slice(0, 16)],
    ['Holds', `${plural(files, 'file')}, ${fileSize(bytes)}${partial ? ', from a snapshot on' : ''}`],
    ['Signature', signature],
    ['Redacted', redactions === 0 ? 'nothing' : plural(redactions, 'place')],
  ]
  const title = el('h2', 'A sealed bundle, verified')
  return elWith('section.seal', { 'aria-label': 'Seal' }, title, factsList('dl.facts-list', facts))
}

export const redactedNote = (rules) => el('p.redacted', el('b', 'Redacted'), content('span', ` by ${rules.join(', ')}`))

/** A table, and the number of the rows for which there is no room. */
export function cutTable(rows, most, noun, view) {
  const table = view(rows.slice(0, most))
  return rows.length > most ? [table, el('p.note', `and ${plural(rows.length - most, `more ${noun}`)}`)] : [table]
}
