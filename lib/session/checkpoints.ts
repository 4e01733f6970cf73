// The fold of events about checkpoints, for records in memory. `crates/core/src/session/fold/checkpoint.rs` does the same for a replay.

import { expect } from '../arguments.js'
import { hasOwn } from '../builtins.js'
import type { SessionRecordLine } from './records.js'
// Only for links in the comments.
import type { ReplayOptions } from './replay.js'

/** The state of a checkpoint after all events about it. */
export interface Checkpoint {
  readonly checkpointId: string
  /** The most recent name, as recorded. */
  readonly name: string
  /** `seq` of the `checkpoint_created`. Pass it as {@link ReplayOptions.throughSeq} to replay the session up to the checkpoint. */
  readonly sequence: number
  readonly deleted: boolean
  /** `ts` of the `checkpoint_created`; `''` if that is not a string. */
  readonly createdAt: string
}

/** A checkpoint whose last state is not known yet. */
type Fold = { -readonly [Key in keyof Checkpoint]: Checkpoint[Key] }

/** A valid event about a checkpoint. `name` is checked unless the event is a deletion. */
interface CheckpointEvent {
  type: 'checkpoint_created' | 'checkpoint_renamed' | 'checkpoint_deleted'
  seq: number
  ts: unknown
  checkpointId: string
  name: string
}

/**
 * Computes the checkpoints that a list of records leaves, deleted ones included, in ascending order of `sequence`.
 *
 * For each id, only the first `checkpoint_created` counts. A deleted checkpoint is never restored by a later record. Records that are not valid
 * checkpoint events are ignored (replay rules 17 and 19).
 *
 * @param events - Records in the order of their file.
 * @returns The same as `checkpoints` of a replay of these records.
 * @throws TypeError - If `events` is not an array.
 *
 * @example
 * ```ts
 * import { foldCheckpoints } from 'session-tape';
 *
 * const ts = '2026-02-11T16:00:00.000Z';
 * const checkpoints = foldCheckpoints([
 *   { v: 1, seq: 7, ts, type: 'checkpoint_created', payload: { checkpointId: 'c1', name: 'before the refactoring' } },
 *   { v: 1, seq: 9, ts, type: 'checkpoint_renamed', payload: { checkpointId: 'c1', name: 'start' } },
 * ]);
 * console.log(checkpoints[0]!.name, checkpoints[0]!.sequence); // start 7
 * ```
 */
export function foldCheckpoints(events: readonly SessionRecordLine[]): Checkpoint[] {
  expect(Array.isArray(events), 'events', 'an array', events)
  const checkpoints: Fold[] = []
  const byId = new Map<string, Fold>()
  for (let index = 0; index < events.length; index++) {
    const event = eventOf(events[index])
    if (event !== undefined) apply(event, checkpoints, byId)
  }
  return checkpoints.sort((a, b) => a.sequence - b.sequence)
}

function apply(
  { type, seq, ts, checkpointId, name }: CheckpointEvent,
  checkpoints: Fold[],
  byId: Map<string, Fold>,
): void {
  const known = byId.get(checkpointId)
  if (type === 'checkpoint_created') {
    if (known !== undefined) return
    const checkpoint: Fold = {
      checkpointId,
      name,
      sequence: seq,
      deleted: false,
      createdAt: typeof ts === 'string' ? ts : '',
    }
    byId.set(checkpointId, checkpoint)
    checkpoints.push(checkpoint)
  } else if (known === undefined) {
    return
  } else if (type === 'checkpoint_renamed') {
    known.name = name
  } else {
    known.deleted = true
  }
}

/** Returns the event about a checkpoint that a record contains, or `undefined` if it is not a valid one. */
function eventOf(line: unknown): CheckpointEvent | undefined {
  if (typeof line !== 'object' || line === null) return undefined
  const { type, seq, ts, payload } = line as Partial<Record<keyof SessionRecordLine, unknown>>
  const isAboutOne = type === 'checkpoint_created' || type === 'checkpoint_renamed' || type === 'checkpoint_deleted'
  if (!isAboutOne || typeof seq !== 'number' || !Number.isSafeInteger(seq) || seq < 0) return undefined
  if (typeof payload !== 'object' || payload === null || Array.isArray(payload)) return undefined
  const checkpointId = ownMember(payload, 'checkpointId')
  if (typeof checkpointId !== 'string' || checkpointId === '') return undefined
  const name = ownMember(payload, 'name')
  const isUnnamed = typeof name !== 'string' || name.trim() === ''
  if (type !== 'checkpoint_deleted' && isUnnamed) return undefined
  return { type, seq, ts, checkpointId, name: name as string }
}

/** Returns a member of a payload. Inherited members do not count, because they were not recorded. */
function ownMember(payload: object, name: 'checkpointId' | 'name'): unknown {
  return hasOwn(payload, name) ? (payload as Record<string, unknown>)[name] : undefined
}
