// The kinds of events, and the fields of their payloads.

const text = (value) => typeof value === 'string' && value !== ''
const anyText = (value) => typeof value === 'string'
const flag = (value) => typeof value === 'boolean'
const count = (value) => typeof value === 'number' && value >= 0
const number = (value) => typeof value === 'number'
const time = (value) => Number.isInteger(value) && value >= 0
const texts = (value) => Array.isArray(value) && value.every(text)
const times = (value) => Array.isArray(value) && value.every(time)
const object = (value) => typeof value === 'object' && value !== null && !Array.isArray(value)
/** Allows a field to be missing or `null`. */
const optional = (holds) =>
  Object.assign((value) => value === undefined || value === null || holds(value), { isOptional: true })

const workflow = (value) => object(value) && anyText(value.name) && anyText(value.version)
const scheduler = (value) => ['round-robin', 'least-loaded', 'external'].includes(value)
const worker = (value) => object(value) && text(value.id) && texts(value.capabilities)
const workers = (value) => Array.isArray(value) && value.every(worker)
const outputs = (value) => object(value) && Object.values(value).every(text)

/** kind → field → whether a value is valid. */
export const FIELDS = {
  RunCreated: { runId: text, workflow, dagHash: text, scheduler, capabilities: texts },
  RunStarted: { workers },
  RunCompleted: { outputs },
  RunFailed: { code: anyText, message: anyText, node: optional(text) },
  NodeScheduled: { task: text, priority: optional(number), dependsOn: times },
  NodeStarted: { task: text, worker: text, inputHash: text },
  NodeCompleted: { task: text, outputHash: text },
  NodeFailed: { task: text, code: anyText, message: anyText, willRetry: flag },
  NodeSkipped: { reason: anyText, because: optional(time) },
  ToolInvoked: { tool: text, call: text, requestHash: text, version: optional(anyText) },
  ToolCompleted: { tool: text, call: text, rawHash: text, outputHash: text, normalizer: text },
  ToolFailed: { tool: text, call: text, code: anyText, message: anyText },
  ToolTimedOut: { tool: text, call: text, limitMs: count },
  CapabilityCheck: { capability: text, subject: optional(anyText), allowed: flag },
  PolicyDecision: { decision: anyText, rule: anyText, allowed: flag },
  TaskAssigned: { task: text, worker: text, reason: optional(anyText), from: optional(text) },
  TaskAccepted: { task: text, worker: text },
  TaskRejected: { task: text, worker: text, reason: anyText },
  SnapshotCreated: { snapshot: text, stateHash: text, at: time },
  SnapshotRestored: { snapshot: text, stateHash: text, at: time },
  BlobStored: { blob: text, size: count, mediaType: optional(anyText) },
  Heartbeat: { worker: text, status: text, capabilities: optional(texts) },
  Error: { code: anyText, message: anyText, recoverable: flag },
}

export const KINDS = Object.keys(FIELDS)

/** The required fields of an event of this kind. */
export function requiredFields(kind) {
  return Object.keys(FIELDS[kind]).filter((field) => !FIELDS[kind][field].isOptional)
}

/** The first field of a payload that is missing or invalid, with an error code; `undefined` if the payload is valid. */
export function faultOf(kind, payload) {
  const field = Object.keys(FIELDS[kind]).find((name) => !FIELDS[kind][name](payload[name]))
  if (field === undefined) return undefined
  return { field, code: payload[field] === undefined ? 'MissingField' : 'InvalidField' }
}
