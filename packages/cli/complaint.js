'use strict'

/** The exit codes, which are stable. After a signal the exit code is 128 plus its number. */
const EXIT = { fine: 0, damaged: 1, couldNot: 2 }

/** An error for the user, printed without a stack. `fields` are added to errors that are printed as JSON. */
class Complaint extends Error {
  /**
   * @param {string} code
   * @param {string} message
   * @param {{ exitCode?: number, [field: string]: unknown }} [more]
   */
  constructor(code, message, { exitCode = EXIT.couldNot, ...fields } = {}) {
    super(message)
    this.code = code
    this.exitCode = exitCode
    this.fields = fields
  }
}

/** An error in the arguments. */
function usage(message) {
  return new Complaint('Usage', message)
}

/** The error codes that mean damage. All others mean that the recording could not be read. */
const DAMAGE = new Set([
  'NotAJsonLine', 'NotCanonical', 'UnknownKind', 'MissingField', 'InvalidField', 'TooLarge', 'TimeGap', 'ParentMissing', 'AfterEnd',
  'IllegalTransition', 'ChainBroken', 'StateMismatch', 'ScheduleMismatch', 'WorkflowInvalid', 'DagMismatch', 'SnapshotInvalid',
  'BlobMissing', 'BlobCorrupt', 'OutputMismatch', 'EmptyLog', 'EmptyFile', 'MissingStart', 'InvalidStart',
  'LogInvalid', 'SourceInvalid',
])

/**
 * Whether an error of the library means damage.
 *
 * @param {{ code?: string, problems?: unknown }} error
 */
function meansDamage({ code, problems }) {
  return (code !== undefined && DAMAGE.has(code)) || (Array.isArray(problems) && problems.length > 0 && code !== 'NotABundle')
}

/** Converts an error of the library. */
function complaintOf(error) {
  if (error instanceof Complaint) return error
  const { code = 'Unexpected', path, problems, time, eventId } = error
  const exitCode = meansDamage(error) ? EXIT.damaged : EXIT.couldNot
  return new Complaint(String(code), String(error.message), { exitCode, path, problems, time, eventId })
}

module.exports = { Complaint, EXIT, complaintOf, meansDamage, usage }
