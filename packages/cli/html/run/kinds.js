'use strict'

/** The kinds of events. Their numbers are those of the page. Where an event is added, the compiler compares them with the library's. */
const KINDS = /** @type {const} */ ([
  'RunCreated',
  'RunStarted',
  'RunCompleted',
  'RunFailed',
  'NodeScheduled',
  'NodeStarted',
  'NodeCompleted',
  'NodeFailed',
  'NodeSkipped',
  'ToolInvoked',
  'ToolCompleted',
  'ToolFailed',
  'ToolTimedOut',
  'CapabilityCheck',
  'PolicyDecision',
  'TaskAssigned',
  'TaskAccepted',
  'TaskRejected',
  'SnapshotCreated',
  'SnapshotRestored',
  'BlobStored',
  'Heartbeat',
  'Error',
])

/** The kinds of failures. A check that was denied is one too. @type {Set<string>} */
const FAILURES = new Set(['RunFailed', 'NodeFailed', 'ToolFailed', 'ToolTimedOut', 'TaskRejected', 'Error'])

module.exports = { KINDS, FAILURES }
