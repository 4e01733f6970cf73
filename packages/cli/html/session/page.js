'use strict'

// The HTML document of a session.

const { documentOf } = require('../document.js')
const { LIBRARIES, pageData } = require('./page-data.js')

/** The modules of the page's script, in the order of their dependencies. */
const SCRIPTS = [
  'invisible',
  ...[
    'element',
    'text',
    'islands',
    'payload',
    'pattern',
    'windowed-list',
    'keyboard',
    'print',
    'quantities',
    'time-scale',
    'time-axis',
    'markdown',
    'markup',
    'seal',
    'footer',
  ].map((name) => `shared/${name}`),
  ...[
    'items',
    'model',
    'details',
    'value',
    'tool-call',
    'blocks',
    'note-text',
    'notes',
    'rows',
    'strip',
    'totals',
    'head',
    'search',
    'live',
    'main',
  ].map((name) => `session/${name}`),
]

/** The icon: a speech bubble. */
const ICON =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E" +
  "%3Cpath d='M2 2h12v9H8l-4 4v-4H2z' fill='%232b68c8'/%3E%3C/svg%3E"

/**
 * @param {import('./gather.js').Model} model
 * @param {{ served?: import('./page-data.js').Served | null }} [options]
 */
function pageOf(model, { served = null } = {}) {
  const { title, data, islands } = pageData(model, { served })
  return documentOf({
    title,
    summary: `${title}: ${data.facts.map(([name, value]) => `${name} ${value}`).join(', ')}. The conversation needs JavaScript, which is switched off here.`,
    icon: ICON,
    styles: ['base.css', 'recording.css', 'session/style.css'],
    scripts: SCRIPTS,
    libraries: LIBRARIES,
    islands,
    isServed: served !== null,
  })
}

module.exports = { pageOf }
