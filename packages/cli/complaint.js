'use strict'

/** @import { BundleProblem } from 'session-tape' */

/** The exit codes, which are stable. After a signal the exit code is 128 plus its number. */
const EXIT = { fine: 0, damaged: 1, couldNot: 2 }

/** An error for the user, printed without a stack. `fields` are added to errors that are printed as JSON. */
class Complaint extends Error {
  /**
   * @param {string | undefined} code
   * @param {string} message
   * @param {{ exitCode?: number, problems?: BundleProblem[], [field: string]: unknown }} [more]
   */
  constructor(code = 'Unexpected', message, { exitCode = EXIT.couldNot, ...fields } = {}) {
    super(message)
    this.code = code
    this.exitCode = exitCode
    this.fields = fields
  }
}

/** An error in the arguments. @param {string} message */
function usage(message) {
  return new Complaint('Usage', message)
}

/** The error codes that mean damage. All others mean that the recording could not be read. */
const DAMAGE = new Set([
  'NotAJsonLine',
  'NotCanonical',
  'UnknownKind',
  'MissingField',
  'InvalidField',
  'TooLarge',
  'TimeGap',
  'ParentMissing',
  'AfterEnd',
  'IllegalTransition',
  'ChainBroken',
  'StateMismatch',
  'ScheduleMismatch',
  'WorkflowInvalid',
  'DagMismatch',
  'SnapshotInvalid',
  'BlobMissing',
  'BlobCorrupt',
  'OutputMismatch',
  'EmptyLog',
  'EmptyFile',
  'MissingStart',
  'InvalidStart',
  'LogInvalid',
  'SourceInvalid',
])

/**
 * Whether an error of the library means damage.
 *
 * @param {{ code?: string, problems?: BundleProblem[] }} error
 */
function meansDamage({ code, problems }) {
  return (
    (code !== undefined && DAMAGE.has(code)) ||
    (Array.isArray(problems) && problems.length > 0 && code !== 'NotABundle')
  )
}

/**
 * What errors of this program, of the library and of Node may have.
 *
 * @typedef {Error & { code?: string, path?: string, problems?: BundleProblem[], time?: number, eventId?: string, exitCode?: number }} Failure
 */

/** What was caught, as an error. @type {(caught: unknown) => Failure} */
const failureOf = (caught) => (caught instanceof Error ? caught : new Error(String(caught)))

/** Converts an error of the library. @param {unknown} error */
function complaintOf(error) {
  if (error instanceof Complaint) return error
  const failure = failureOf(error)
  const { code = 'Unexpected', message, path, problems, time, eventId } = failure
  const exitCode = meansDamage(failure) ? EXIT.damaged : EXIT.couldNot
  return new Complaint(String(code), message, { exitCode, path, problems, time, eventId })
}

module.exports = { Complaint, EXIT, complaintOf, failureOf, meansDamage, usage }
