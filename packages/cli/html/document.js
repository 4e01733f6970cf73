'use strict'

// The HTML document of a page: one file that loads nothing. It contains style, script and data, and its content security policy allows nothing
// else.

const { createHash } = require('node:crypto')
const { readFileSync } = require('node:fs')
const path = require('node:path')
const { failureOf } = require('../complaint.js')
const { htmlText, islandElement } = require('./island.js')

/**
 * @typedef {object} Content
 * @property {string} title
 * @property {string} summary one sentence, for readers without JavaScript
 * @property {string} icon a `data:` URL
 * @property {string[]} styles files of the style, below this directory
 * @property {string[]} scripts files of the script, below `view`, or `invisible`, in the order of their dependencies
 * @property {string[]} [libraries] names of libraries, as `npm run build:page` bundles them
 * @property {[id: string, json: string][]} islands data, safe in a script element
 * @property {boolean} [isServed] whether the page may ask the server that it comes from
 */

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

/** A file of `view`, or the one module that pages share with the command line, whose exports become variables. @param {string} name */
const script = (name) =>
  name === 'invisible' ? moduleScript(path.join('..', 'invisible.js')) : asset('view', `${name}.js`)

/** @param {string} file */
function moduleScript(file) {
  const names = Object.keys(require(path.join(__dirname, file)))
  return `const { ${names.join(', ')} } = ((exports) => {\n${asset(file)}return exports\n})({})`
}

/** @type {(scripts: string[], libraries: string[]) => string} */
function scriptOf(scripts, libraries) {
  const parts = [...libraries.map((name) => built(`${name}.js`)), ...scripts.map(script)]
  return `(() => {\n'use strict'\n${parts.join('\n')}\n})()\n`
}

/** @param {string} source */
const sourceHash = (source) => `'sha256-${createHash('sha256').update(source).digest('base64')}'`

/**
 * The content security policy: no loading, sending or framing, only the page's own script, and no markup from strings except what the
 * sanitizer returns.
 *
 * @type {(css: string, js: string, page: { libraries: string[], isServed: boolean }) => string}
 */
function policy(css, js, { libraries, isServed }) {
  return [
    "default-src 'none'",
    `script-src ${sourceHash(js)}`,
    `style-src ${sourceHash(css)}`,
    'img-src data:',
    `connect-src ${isServed ? "'self'" : "'none'"}`,
    "base-uri 'none'",
    "form-action 'none'",
    "require-trusted-types-for 'script'",
    `trusted-types ${libraries.includes('sanitize') ? 'dompurify' : "'none'"}`,
  ].join('; ')
}

/**
 * The packages in these libraries, with version and licence, for the page's footer.
 *
 * @type {(libraries: string[]) => { name: string, version: string, licence: string }[]}
 */
function packagesOf(libraries) {
  const listed = libraries.length === 0 ? {} : JSON.parse(built('list.json'))
  return libraries.flatMap((name) => listed[name])
}

/** Throws if the libraries of the pages are not built. */
function requireLibraries() {
  built('list.json')
}

/** @param {Content} content */
function documentOf({ title, summary, icon, styles, scripts, libraries = [], islands, isServed = false }) {
  const css = styles.map((name) => asset(name)).join('\n')
  const js = scriptOf(scripts, libraries)
  const data = islands.map(([id, json]) => `${islandElement(id, json)}\n`)
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy(css, js, { libraries, isServed })}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<meta name="generator" content="session-tape">
<link rel="icon" href="${icon}">
<title>${htmlText(title)}</title>
<style>${css}</style>
</head>
<body>
<noscript><p>${htmlText(summary)}</p></noscript>
${data.join('')}<script>${js}</script>
</body>
</html>
`
}

module.exports = { documentOf, packagesOf, requireLibraries }
