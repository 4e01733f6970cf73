'use strict'

// The name, title, ancestry and checkpoints of a session as rows of a page. What a session does not have has no row.

const { row, rowsUnder } = require('../page.js')
const { count, moment } = require('../quantities.js')
const { printable } = require('../safe-text.js')

/** @import { Checkpoint, SessionForkedPayload, SessionHandle } from 'session-tape' */
/** @import { Colours } from '../colours.js' */

const MAX_CHECKPOINTS = 10
const MAX_DELETED = 3

/** The minimum width at which a checkpoint's id fits next to its name. */
const WIDE = 110

/**
 * Name, title and ancestry. `null` means that the name was removed, or that there is explicitly no title; `undefined`, that none was ever recorded.
 *
 * @type {(session: Partial<Pick<SessionHandle, 'metadata' | 'sessionName' | 'ancestry'>>, colour: Colours, width: number) => string[]}
 */
function nameRows({ metadata, sessionName, ancestry }, colour, width) {
  const longest = roomBeside(width)
  return [
    ...textRow('Name', sessionName, 'removed', longest, colour),
    ...textRow('Title', metadata?.title, 'explicitly none', longest, colour),
    ...(ancestry === undefined ? [] : ancestryRows(ancestry, longest, colour)),
  ]
}

/** @type {(label: string, text: string | null | undefined, otherwise: string, longest: number, colour: Colours) => string[]} */
function textRow(label, text, otherwise, longest, colour) {
  if (text === undefined) return []
  return [row(label, text === null ? colour.dim(otherwise) : printable(text, longest), colour)]
}

/** @type {(ancestry: SessionForkedPayload, longest: number, colour: Colours) => string[]} */
function ancestryRows({ parentSessionId, parentSequence, checkpointId, checkpointName }, longest, colour) {
  const checkpoint = `at checkpoint #${parentSequence}  ${colour.dim(printable(checkpointId, 60))}`
  return rowsUnder(
    'Forked from',
    [printable(parentSessionId, 80), checkpoint, printable(checkpointName, longest)],
    colour,
  )
}

/**
 * The newest checkpoints first, with the deleted ones separate.
 *
 * @type {(checkpoints: Checkpoint[], colour: Colours, width: number) => string[]}
 */
function checkpointRows(checkpoints, colour, width) {
  if (checkpoints.length === 0) return []
  const newest = checkpoints.toReversed()
  const [live, deleted] = [false, true].map((isDeleted) =>
    newest.filter((checkpoint) => checkpoint.deleted === isDeleted),
  )
  const digits = String(newest[0].sequence).length
  /** @type {(some: Checkpoint[], most: number) => string[]} */
  const rows = (some, most) =>
    some
      .slice(0, most)
      .flatMap((one) => rowsOf(one, digits, colour, width))
      .concat(others(some.length - most, colour))
  return [
    ...rowsUnder('Checkpoints', live.length === 0 ? [colour.dim('none')] : rows(live, MAX_CHECKPOINTS), colour),
    ...rowsUnder('  deleted', rows(deleted, MAX_DELETED), colour),
  ]
}

/**
 * One row, or two on a narrow terminal. The name comes last, because its width on the terminal is not known.
 *
 * @type {(checkpoint: Checkpoint, digits: number, colour: Colours, width: number) => string[]}
 */
function rowsOf({ checkpointId, name, sequence, createdAt }, digits, colour, width) {
  const lead = `#${String(sequence).padEnd(digits)}  ${(moment(createdAt) ?? 'no time').padEnd(23)}  `
  const id = printable(checkpointId, 60)
  /** @type {(taken: number) => string} */
  const named = (taken) => printable(name, Math.max(20, roomBeside(width) - lead.length - taken))
  if (width >= WIDE) return [`${lead}${colour.dim(id)}  ${named(id.length + 2)}`]
  return [`${lead}${named(0)}`, `${' '.repeat(digits + 3)}${colour.dim(id)}`]
}

/** @type {(n: number, colour: Colours) => string[]} */
const others = (n, colour) => (n > 0 ? [colour.dim(`… and ${count(n)} more`)] : [])

const LABEL_AND_MARGIN = 16
/** @type {(width: number) => number} */
const roomBeside = (width) => Math.max(40, width - LABEL_AND_MARGIN)

/**
 * An explanation of `sequenceCorrupt`, as rows among the warnings.
 *
 * @type {(session: { sequenceCorrupt?: boolean }, colour: Colours) => string[]}
 */
function sequenceWarning({ sequenceCorrupt }, colour) {
  if (!sequenceCorrupt) return []
  return [
    `  ${colour.yellow('!')} seq does not always ascend: two recorders wrote to the file, or it was`,
    "    edited. It can't be resumed or forked, nor get new checkpoints",
  ]
}

module.exports = { nameRows, checkpointRows, sequenceWarning }
