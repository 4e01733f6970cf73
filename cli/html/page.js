'use strict'

// The HTML document.

const { createHash } = require('node:crypto')
const { readFileSync } = require('node:fs')
const path = require('node:path')
const { htmlText, islandJson, islandOfLines } = require('./island.js')
const { ROW_KINDS } = require('./align.js')

/** The modules of the page's script, in the order of their dependencies. */
const SCRIPTS = ['element', 'text', 'words', 'payload', 'page-data', 'fields', 'chain', 'rows', 'timeline', 'rails', 'overview', 'search', 'keyboard', 'print', 'main']

/** The icon: two diverging lines. */
const ICON =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16' fill='none' stroke-width='2' stroke-linecap='round'%3E" +
  "%3Cpath d='M8 1v5c0 4-5 3-5 9' stroke='%232b68c8'/%3E%3Cpath d='M8 6c0 4 5 3 5 9' stroke='%23c2570c'/%3E%3C/svg%3E"

/** Normalises line ends, because browsers convert CRLF to LF before they compute the hash for the content security policy. */
const asset = (...name) => readFileSync(path.join(__dirname, ...name), 'utf8').replaceAll('\r\n', '\n')

function script() {
  const parts = SCRIPTS.map((name) => asset('view', `${name}.js`))
  return `(() => {\n'use strict'\n${parts.join('\n')}\n})()\n`
}

const sourceHash = (source) => `'sha256-${createHash('sha256').update(source).digest('base64')}'`

/** The content security policy: no loading, sending or framing, only the page's own script, and no markup from strings. */
function policy(css, js) {
  return [
    "default-src 'none'",
    `script-src ${sourceHash(js)}`,
    `style-src ${sourceHash(css)}`,
    'img-src data:',
    "connect-src 'none'",
    "base-uri 'none'",
    "form-action 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; ')
}

/** @param model the result of `gather` */
function pageOf(model) {
  const [css, js] = [asset('style.css'), script()]
  const title = titleOf(model)
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy(css, js)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<meta name="generator" content="session-tape">
<link rel="icon" href="${ICON}">
<title>${htmlText(title)}</title>
<style>${css}</style>
</head>
<body>
<noscript><p>${htmlText(inShort(model))} The timeline needs JavaScript, which is switched off here.</p></noscript>
<script type="application/json" id="page-data">${islandJson(pageData(model, title))}</script>
<script type="application/json" id="left-payloads">${payloads(model.left)}</script>
<script type="application/json" id="right-payloads">${payloads(model.right)}</script>
<script>${js}</script>
</body>
</html>
`
}

function titleOf({ kind, left, right }) {
  if (kind === 'session') return 'Two sessions compared'
  const named = left.of !== undefined && left.of === right.of
  return named ? `Two runs of ${left.of} compared` : 'Two runs compared'
}

function inShort({ divergence, left, right }) {
  if (!divergence) return `${left.given} and ${right.given} are equal: nothing that matters differs.`
  return `${left.given} and ${right.given} part at event #${divergence.at}. ${divergence.says} ${divergence.cause}. ${divergence.because}`
}

const payloads = (side) => islandOfLines(side.events.map(({ payload }) => payload ?? 'null'))

/** Compacts the data: nodes are listed once, and events are arrays. */
function pageData(model, title) {
  const { kind, left, right, divergence, rows, changes } = model
  return { v: 1, title, kind, divergence: divergence ?? null, rowKinds: ROW_KINDS, rows, changes, left: sideData(left), right: sideData(right) }
}

function sideData({ given, id, facts, bytes, count, problem, events }) {
  const flags = ({ hasFailed, isCompared }) => (hasFailed ? 1 : 0) + (isCompared ? 0 : 2)
  const lists = events.map((event) => [event.place, event.kind, event.label, event.excerpt, event.node, event.parent, event.ts, flags(event)])
  return { given, id: id ?? null, facts, bytes, count, problem, events: lists }
}

module.exports = { pageOf }
