'use strict'

// Formats the receipt of a repair as text.

const { list, page, row } = require('../page.js')
const { count, fileSize, plural } = require('../quantities.js')
const { printable } = require('../safe-text.js')

/** @import { OtherSession, RepairFragment, RepairReceipt } from 'session-tape' */
/** @import { Colours } from '../colours.js' */

const MAX_FRAGMENTS = 12
const MAX_OTHERS = 12

/**
 * @param {object} shown
 * @param {string} shown.path
 * @param {RepairReceipt} shown.receipt
 * @param {string | null} shown.kept where the damaged file is now, if it was replaced
 * @param {boolean} shown.dryRun
 * @param {Colours} colour
 * @param {number} width
 */
function repairPage({ path, receipt, kept, dryRun }, colour, width) {
  const { changed, destination, renumbered, startInvented, warnings, duplicates, versioned, others } = receipt
  const notes = [
    ...(startInvented ? ['The first line was lost: a session_start was made up'] : []),
    ...(renumbered ? ['The numbers of the records did not ascend: all have new ones'] : []),
    ...warnings,
  ]
  const title = dryRun ? 'What a repair would do' : 'A repaired session'
  return page(
    title,
    printable(path, 1000),
    [
      [
        row('Source', fileSize(receipt.source.bytes), colour),
        row('Result', result(receipt, destination, dryRun, colour), colour),
        ...(kept === null ? [] : [row('Damaged file', printable(kept, 1000), colour)]),
      ],
      changed
        ? [
            row('Records', count(receipt.records), colour),
            row(
              'Recovered',
              receipt.recovered === 0
                ? colour.dim('none that a replay does not see')
                : colour.green(plural(receipt.recovered, 'record')),
              colour,
            ),
            row(
              'Lost',
              receipt.lostBytes === 0 ? colour.green('nothing') : colour.red(fileSize(receipt.lostBytes)),
              colour,
            ),
            ...(versioned === 0 ? [] : [row('No version', `${plural(versioned, 'record')}, now version 1`, colour)]),
            ...(duplicates === 0 ? [] : [row('Duplicates', count(duplicates), colour)]),
            ...(receipt.fragments.length === 0
              ? []
              : list('Fragments', receipt.fragments.map(fragmentText), MAX_FRAGMENTS, colour)),
          ]
        : [row('Records', count(receipt.records), colour)],
      others.length === 0 ? [] : list('Not in it', others.map(otherText), MAX_OTHERS, colour),
      notes.map((text) => `${colour.yellow('!')} ${printable(text, Math.max(200, width * 3))}`),
    ],
    colour,
  )
}

/** @type {(receipt: RepairReceipt, destination: string, dryRun: boolean, colour: Colours) => string} */
function result({ changed }, destination, dryRun, colour) {
  if (dryRun) return changed ? 'not written' : colour.green('nothing is wrong')
  return `${printable(destination, 1000)}${changed ? '' : colour.dim(' (nothing was wrong)')}`
}

/** @type {(fragment: RepairFragment) => string} */
const fragmentText = ({ offset, length, reason }) =>
  `at ${count(offset)}: ${plural(length, 'byte')}, ${printable(reason, 200)}`

/** @type {(other: OtherSession) => string} */
const otherText = ({ sessionId, firstLine, lastLine }) => {
  const lines = `lines ${count(firstLine)} to ${count(lastLine)}`
  if (sessionId === null)
    return `${lines}, of a session without a session_start: --session with an id of its own repairs it`
  return `${lines}, of another session: --session ${printable(sessionId, 300)} repairs it`
}

module.exports = { repairPage }
