'use strict'

// Formats what was done to keep directories within limits.

const path = require('node:path')
const { page } = require('../page.js')
const { fileSize, plural } = require('../quantities.js')
const { printable } = require('../safe-text.js')

/** @import { Kept, KeepReport } from 'session-tape' */
/** @import { Colours } from '../colours.js' */

/** How many sessions of one kind are shown of what was done. */
const MOST = 40

/** What is said of sessions that were left. */
const REASONS = {
  Young: 'younger than --min-age',
  InUse: 'in use',
  HasCheckpoints: 'has checkpoints, so it is not deleted',
  Wanted: 'wanted',
  Unreadable: 'not a session that can be read',
  Changed: 'changed in the meantime',
  Failed: 'failed',
}

/**
 * @param {KeepReport & { directories: string[], dryRun: boolean }} report
 * @param {Colours} colour
 */
function keepingPage(
  {
    directories,
    dryRun,
    archived,
    deleted,
    left,
    removed,
    removedFiles = [],
    sessions,
    bytesBefore,
    bytesAfter,
    withinLimits,
  },
  colour,
) {
  const title = dryRun ? 'Would keep' : 'Kept'
  // Who asks what would be done wants all of it.
  const most = dryRun ? Infinity : MOST
  /** @type {(one: Kept) => string} */
  const sizes = (one) => `${fileSize(one.bytes).padStart(10)} → ${fileSize(one.bytesLeft).padStart(10)}`
  return page(
    title,
    directories.map((one) => printable(one, 1000)).join(', '),
    [
      rows(archived, dryRun ? 'would be archived' : 'archived', most, (one) => sizes(one), colour),
      rows(deleted, dryRun ? 'would be deleted' : 'deleted', most, (one) => sizes(one), colour),
      rows(
        left,
        'left',
        most,
        ({ reason, message }) => `${REASONS[reason]}${message === undefined ? '' : `: ${printable(message, 200)}`}`,
        colour,
      ),
      removedRows(removed, removedFiles, dryRun, colour),
      foot({ dryRun, sessions, deleted, bytesBefore, bytesAfter, withinLimits }, colour),
    ],
    colour,
  )
}

/** @type {<T extends { filePath: string, companions?: string[] }>(list: T[], what: string, most: number, about: (one: T) => string, colour: Colours) => string[]} */
function rows(list, what, most, about, colour) {
  const shown = list
    .slice(0, most)
    .flatMap((one) => [
      `${printable(path.basename(one.filePath), 200)}  ${colour.dim(about(one))}`,
      ...(one.companions ?? []).map((file) => colour.dim(`  with ${printable(path.basename(file), 200)}`)),
    ])
  if (list.length > most) shown.push(colour.dim(`… and ${list.length - most} more`))
  return list.length === 0 ? [] : [colour.bold(`${plural(list.length, 'session')} ${what}`), ...shown]
}

/** @type {(removed: KeepReport['removed'], files: string[], dryRun: boolean, colour: Colours) => string[]} */
function removedRows({ locks, snapshots, temporaries }, files, dryRun, colour) {
  const guards = files.length - locks - snapshots - temporaries
  const parts = [
    ...(locks > 0 ? [plural(locks, 'lock')] : []),
    ...(snapshots > 0 ? [plural(snapshots, 'snapshot')] : []),
    ...(temporaries > 0 ? [plural(temporaries, 'temporary file')] : []),
    ...(guards > 0 ? [plural(guards, 'guard')] : []),
  ]
  if (parts.length === 0) return []
  return [
    colour.dim(`${dryRun ? 'left-overs to remove' : 'left-overs removed'}: ${parts.join(', ')}`),
    ...(dryRun ? files.map((file) => printable(file, 1000)) : []),
  ]
}

/** @type {(report: Omit<KeepReport, 'archived' | 'left' | 'removed'> & { dryRun: boolean }, colour: Colours) => string[]} */
function foot({ dryRun, sessions, deleted, bytesBefore, bytesAfter, withinLimits }, colour) {
  const freed = bytesBefore - bytesAfter
  const about = dryRun ? 'about ' : ''
  return [
    `${plural(sessions - deleted.length, 'session')}, ${about}${fileSize(bytesAfter)}${colour.dim(` · ${about}${fileSize(freed)} ${dryRun ? 'would be freed' : 'freed'}`)}`,
    ...(withinLimits
      ? []
      : [`${colour.yellow('!')} more than the limits allow${dryRun ? '' : '; --delete-to-fit deletes the oldest'}`]),
    ...(dryRun ? [colour.dim('nothing was changed')] : []),
  ]
}

module.exports = { keepingPage }
