'use strict'

// Formats the sessions of a directory as text.

const path = require('node:path')
const { page } = require('../page.js')
const { fileSize, moment, plural } = require('../quantities.js')
const { printable } = require('../safe-text.js')
const { model } = require('./summary.js')

/** @import { SkippedSession } from 'session-tape' */
/** @import { Colours } from '../colours.js' */
/** @import { Detailed } from '../commands/sessions.js' */

/**
 * @param {object} found
 * @param {string} found.directory
 * @param {string | undefined} found.project the only project that is listed, or undefined for all
 * @param {Map<string, number> | null} found.positions the position of each file that can be resumed by one
 * @param {Map<string, string | null>} found.mending what repair would recover of damaged files
 * @param {Detailed[]} found.sessions
 * @param {SkippedSession[]} found.unreadable
 * @param {Colours} colour
 * @param {number} width
 */
function listingPage({ directory, project, positions, mending, sessions, unreadable }, colour, width) {
  const projects = new Set(sessions.map(({ projectHash }) => projectHash)).size
  const digits = String(positions?.size ?? 0).length
  /** @type {(filePath: string) => string} */
  const placed = (filePath) => String(positions?.get(filePath) ?? '–').padStart(digits)
  const shown = {
    hasProjects: projects > 1,
    indent: ' '.repeat(digits + 2),
    room: Math.max(20, width - digits - 12),
    colour,
  }
  const sections = sessions.map((session) => sessionRows(session, placed(session.filePath), shown))
  return page(
    'Sessions',
    printable(directory, 1000),
    [
      ...sections,
      unreadable.flatMap(({ filePath, reason }) => [
        unreadableRow(placed(filePath), filePath, reason, colour, width),
        ...(mending.get(filePath) ? [`${shown.indent}${colour.green('→')} ${mending.get(filePath)}`] : []),
      ]),
      foot(sessions, projects, project, colour),
    ],
    colour,
  )
}

/** @type {(session: Detailed, position: string, shown: { hasProjects: boolean, indent: string, room: number, colour: Colours }) => string[]} */
function sessionRows(session, position, { hasProjects, indent, room, colour }) {
  const { sessionId, projectHash, inUse, sequenceCorrupt } = session
  const under = [
    aboutFile(session, colour),
    ...(hasProjects ? [labelled('Project', printable(projectHash, 100), colour)] : []),
    ...texts(session, room, colour).map(([label, text]) => labelled(label, text, colour)),
    ...(sequenceCorrupt ? [`${colour.yellow('!')} seq does not always ascend; inspect says what that means`] : []),
  ]
  const head = `${colour.bold(position)}  ${colour.cyan(printable(sessionId, 100))}${inUse ? `  ${colour.yellow('in use')}` : ''}`
  return [head, ...under.map((text) => `${indent}${text}`)]
}

/** @type {(session: Detailed, colour: Colours) => string} */
function aboutFile({ lastModified, fileSize: size, archivedBytes, metadata, checkpoints }, colour) {
  const live = checkpoints.filter(({ deleted }) => !deleted).length
  const sizes = archivedBytes === undefined ? fileSize(size) : `${fileSize(size)}, archived ${fileSize(archivedBytes)}`
  const parts = [
    moment(lastModified) ?? 'no time',
    sizes,
    model(metadata),
    ...(live > 0 ? [plural(live, 'checkpoint')] : []),
  ]
  return parts.join(colour.dim(' · '))
}

/** Name, title and first message, if present. @type {(session: Detailed, room: number, colour: Colours) => [string, string][]} */
function texts({ name, title, firstUserMessage, hasContent }, room, colour) {
  const first =
    firstUserMessage === null
      ? colour.dim(hasContent ? 'nothing by the user' : 'nothing yet')
      : printable(firstUserMessage, room)
  return /** @type {[string, string][]} */ (
    [
      ['Name', typeof name === 'string' ? printable(name, room) : undefined],
      [
        'Title',
        title === null ? colour.dim('explicitly none') : title === undefined ? undefined : printable(title, room),
      ],
      ['Begins', first],
    ].filter(([, text]) => text !== undefined)
  )
}

/** @type {(label: string, text: string, colour: Colours) => string} */
const labelled = (label, text, colour) => `${colour.dim(label.padEnd(7))} ${text}`

/** @type {(position: string, filePath: string, reason: string, colour: Colours, width: number) => string} */
function unreadableRow(position, filePath, reason, colour, width) {
  return `${colour.bold(position)}  ${colour.red('✗')} ${printable(path.basename(filePath), 300)}  ${printable(reason, Math.max(200, width * 3))}`
}

/** @type {(sessions: Detailed[], projects: number, project: string | undefined, colour: Colours) => string[]} */
function foot(sessions, projects, project, colour) {
  const bytes = sessions.reduce((sum, { fileSize: size }) => sum + size, 0)
  const rows = [colour.dim(`${plural(sessions.length, 'session')}, ${fileSize(bytes)}`)]
  if (project === undefined && projects > 1)
    rows.push(colour.dim(`of ${plural(projects, 'project')}; --project <hash> counts those of one`))
  return rows
}

module.exports = { listingPage }
