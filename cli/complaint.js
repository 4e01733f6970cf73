'use strict'

/** What a script can rely on. Beyond 128: the number of a signal and 128. */
const EXIT = { fine: 0, damaged: 1, couldNot: 2 }

/** An error message for the user, without a stack. `fields` are added where errors are JSON. */
class Complaint extends Error {
  constructor(code, message, { exitCode = EXIT.couldNot, ...fields } = {}) {
    super(message)
    this.code = code
    this.exitCode = exitCode
    this.fields = fields
  }
}

/** How the program was called is wrong. */
function usage(message) {
  return new Complaint('Usage', message)
}

/** Codes of errors that say that what was recorded is not as it was recorded. All others: it could not be looked at. */
const DAMAGE = new Set([
  'NotAJsonLine', 'NotCanonical', 'UnknownKind', 'MissingField', 'InvalidField', 'TooLarge', 'TimeGap', 'ParentMissing', 'AfterEnd',
  'IllegalTransition', 'ChainBroken', 'StateMismatch', 'ScheduleMismatch', 'WorkflowInvalid', 'DagMismatch', 'SnapshotInvalid',
  'BlobMissing', 'BlobCorrupt', 'OutputMismatch', 'EmptyLog', 'EmptyFile', 'MissingStart', 'InvalidStart',
  'LogInvalid', 'SourceInvalid',
])

/** Whether an error of the library tells of damage. */
function tellsOfDamage({ code, problems }) {
  return DAMAGE.has(code) || (Array.isArray(problems) && problems.length > 0 && code !== 'NotABundle')
}

/** An error of the library, as a complaint. */
function complaintOf(error) {
  if (error instanceof Complaint) return error
  const { code = 'Unexpected', path, problems, time, eventId } = error
  const exitCode = tellsOfDamage(error) ? EXIT.damaged : EXIT.couldNot
  return new Complaint(String(code), String(error.message), { exitCode, path, problems, time, eventId })
}

module.exports = { Complaint, EXIT, complaintOf, tellsOfDamage, usage }
