// Operations of a recorder that resolve when their record is in the file (`docs/session-format.md`, section on durable operations). They use only
// the recorder's public methods, so that methods overridden by a subclass or replaced by a caller take effect.

import crypto = require('node:crypto')

const { randomUUID } = crypto

/** The methods of a recorder that are used. */
interface Recorder {
  isActive(): boolean
  getFilePath(): string | null
  flush(): Promise<void>
  enqueue(type: string, payload: unknown): { seq: number } | null
}

/** Appends a checkpoint of the current history. Does not check whether the name is in use. */
export async function createCheckpoint(
  recorder: Recorder,
  name: string,
): Promise<{ checkpointId: string; name: string; sequence: number }> {
  const prefix = 'Cannot create checkpoint: '
  expectActive(recorder, prefix)
  const filePath = recorder.getFilePath()
  if (filePath === null) throw new Error(`${prefix}conversation has no content yet`)
  const trimmed = filledName(name, prefix)
  await flushed(recorder, prefix)
  await expectHistory(filePath, prefix)
  const checkpointId = randomUUID()
  const sequence = await appended(recorder, prefix, 'checkpoint_created', { checkpointId, name: trimmed })
  return { checkpointId, name: trimmed, sequence }
}

/** Appends a new name for a checkpoint. */
export async function renameCheckpoint(recorder: Recorder, checkpointId: string, name: string): Promise<void> {
  const prefix = 'Cannot rename checkpoint: '
  expectFile(recorder, prefix)
  await appended(recorder, prefix, 'checkpoint_renamed', { checkpointId, name: filledName(name, prefix) })
}

/** Appends the deletion of a checkpoint. */
export async function deleteCheckpoint(recorder: Recorder, checkpointId: string): Promise<void> {
  const prefix = 'Cannot delete checkpoint: '
  expectFile(recorder, prefix)
  await appended(recorder, prefix, 'checkpoint_deleted', { checkpointId })
}

/** Appends the session's name, or its removal if `name` is `null`. */
export async function setSessionName(recorder: Recorder, name: string | null): Promise<void> {
  const prefix = 'Cannot set session name: '
  expectActive(recorder, prefix)
  await appended(recorder, prefix, 'session_named', { name: name === null ? null : filledName(name, prefix) })
}

function expectActive(recorder: Recorder, prefix: string): void {
  if (!recorder.isActive()) throw new Error(`${prefix}recording is not active`)
}

function expectFile(recorder: Recorder, prefix: string): void {
  expectActive(recorder, prefix)
  if (recorder.getFilePath() === null) throw new Error(`${prefix}recording is not materialized`)
}

function filledName(name: string, prefix: string): string {
  const trimmed = name.trim()
  if (trimmed === '') throw new Error(`${prefix}name must not be empty`)
  return trimmed
}

/** Throws unless the file replays strictly, to a history that is not empty. Builds no items. */
async function expectHistory(filePath: string, prefix: string): Promise<void> {
  const { openSession } = require('./open.js') as typeof import('./open.js')
  const opened = await openSession(filePath, undefined, { strict: true })
  if (!opened.ok) throw new Error(`${prefix}${opened.error}`)
  const { sequenceCorrupt, historyLength } = opened.session
  opened.session.close()
  if (sequenceCorrupt) throw new Error(`${prefix}recording has non-monotonic sequences`)
  if (historyLength === 0) throw new Error(`${prefix}conversation has no content yet`)
}

/** Appends a record, waits until it is in the file, and returns its `seq`. */
async function appended(recorder: Recorder, prefix: string, type: string, payload: object): Promise<number> {
  const record = recorder.enqueue(type, payload)
  await flushed(recorder, prefix)
  if (record === null) throw new Error(`${prefix}recording failed during flush`)
  return record.seq
}

async function flushed(recorder: Recorder, prefix: string): Promise<void> {
  try {
    await recorder.flush()
  } catch (cause) {
    throw new Error(`${prefix}recording failed during flush`, { cause })
  }
  if (!recorder.isActive()) throw new Error(`${prefix}recording failed during flush`)
}
