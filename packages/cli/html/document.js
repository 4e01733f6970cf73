'use strict'

// The HTML document of a page: one file that loads nothing. It contains style, script and data, and its content security policy allows nothing
// else.

const { createHash } = require('node:crypto')
const { readFileSync } = require('node:fs')
const path = require('node:path')
const { deflateSync } = require('node:zlib')
const { failureOf } = require('../complaint.js')
const { writeAtomically } = require('./atomic.js')
const { htmlText, islandJson } = require('./island.js')

/**
 * @typedef {object} Content
 * @property {keyof typeof PAGES} kind
 * @property {string} summary one sentence, for readers without JavaScript
 * @property {{ title: string, [name: string]: unknown }} data what the page's script reads first
 * @property {[id: string, json: string][]} islands further data, safe in a script element
 * @property {boolean} [isServed] whether the page may ask the server that it comes from
 */

const SVG = "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'"

/** The icon of each page, and what of it needs its script. */
const PAGES = {
  // A speech bubble.
  session: {
    icon: `${SVG}%3E%3Cpath d='M2 2h12v9H8l-4 4v-4H2z' fill='%232b68c8'/%3E%3C/svg%3E`,
    needs: 'The conversation needs',
  },
  // A small graph.
  run: {
    icon: `${SVG}%3E%3Cpath d='M4 4l8 4-8 4' fill='none' stroke='%232b68c8' stroke-width='2'/%3E%3Ccircle cx='4' cy='4' r='2.5' fill='%232b68c8'/%3E%3Ccircle cx='12' cy='8' r='2.5' fill='%232b68c8'/%3E%3Ccircle cx='4' cy='12' r='2.5' fill='%232b68c8'/%3E%3C/svg%3E`,
    needs: 'The page needs',
  },
  // Two diverging lines.
  diff: {
    icon: `${SVG} fill='none' stroke-width='2' stroke-linecap='round'%3E%3Cpath d='M8 1v5c0 4-5 3-5 9' stroke='%232b68c8'/%3E%3Cpath d='M8 6c0 4 5 3 5 9' stroke='%23c2570c'/%3E%3C/svg%3E`,
    needs: 'The timeline needs',
  },
}

/** Longer data is compressed. */
const PLAIN = 256 << 10

/**
 * Normalises line ends, because browsers convert CRLF to LF before they compute the hash for the content security policy.
 *
 * @param {string[]} name
 */
const asset = (...name) => readFileSync(path.join(__dirname, ...name), 'utf8').replaceAll('\r\n', '\n')

/** A file that `npm run build:page` makes. @param {string} file */
function built(file) {
  try {
    return asset('libraries', file)
  } catch (error) {
    if (failureOf(error).code !== 'ENOENT') throw error
    throw Object.assign(new Error('the libraries of the page are not built; run `npm run build:page`'), {
      code: 'NoPageLibraries',
    })
  }
}

/** @param {string} source */
const sourceHash = (source) => `'sha256-${createHash('sha256').update(source).digest('base64')}'`

/**
 * The content security policy: no loading, sending or framing, only the page's own script, and no markup from strings except what the
 * sanitizer returns.
 *
 * @type {(css: string, js: string, page: Content) => string}
 */
function policy(css, js, { kind, isServed }) {
  return [
    "default-src 'none'",
    `script-src ${sourceHash(js)}`,
    `style-src ${sourceHash(css)}`,
    'img-src data:',
    `connect-src ${isServed ? "'self'" : "'none'"}`,
    "base-uri 'none'",
    "form-action 'none'",
    "require-trusted-types-for 'script'",
    `trusted-types ${kind === 'session' ? 'dompurify' : "'none'"}`,
  ].join('; ')
}

/** Throws if the scripts of the pages are not built. */
function requireLibraries() {
  built('list.json')
}

/** @type {(id: string, json: string) => string} */
function islandElement(id, json) {
  if (json.length <= PLAIN) return `<script type="application/json" id="${id}">${json}</script>`
  const packed = deflateSync(json, { level: 1 }).toString('base64')
  return `<script type="text/plain" data-packed id="${id}">${packed}</script>`
}

/** @param {Content} content */
function documentOf(content) {
  const { kind, summary, islands, isServed = false } = content
  const { icon, needs } = PAGES[kind]
  const [css, js] = [asset('style.css'), built(`${kind}.js`)]
  // With the packages in the script, for the page's footer.
  const data = { v: 1, ...content.data, isServed, libraries: JSON.parse(built('list.json'))[kind] }
  const elements = [['page-data', islandJson(data)], ...islands].map(([id, json]) => `${islandElement(id, json)}\n`)
  return `<!doctype html>
<html lang="en" data-page="${kind}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy(css, js, content)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<meta name="generator" content="session-tape">
<link rel="icon" href="${icon}">
<title>${htmlText(data.title)}</title>
<style>${css}</style>
</head>
<body>
<noscript><p>${htmlText(`${summary} ${needs} JavaScript, which is switched off here.`)}</p></noscript>
${elements.join('')}<script>${js}</script>
</body>
</html>
`
}

/**
 * Writes a page atomically. The same content gives the same bytes.
 *
 * @type {(outPath: string, content: Content, signal?: AbortSignal) => Promise<{ path: string, bytes: number }>}
 */
async function writePage(outPath, content, signal) {
  const html = Buffer.from(documentOf(content), 'utf8')
  await writeAtomically(outPath, html, signal)
  return { path: outPath, bytes: html.length }
}

module.exports = { islandElement, documentOf, writePage, requireLibraries }
