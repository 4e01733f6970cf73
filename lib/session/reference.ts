// References: what a user types to denote a session or a checkpoint. That is an id, a position in the list, the beginning of an id, or a name.

import path = require('node:path')
import { check, checkEach, expect } from '../arguments.js'
import { hasOwn } from '../builtins.js'
import type { ReferenceFailure, SessionFailureCode } from './failure.js'
import type { SkippedSession } from './summary.js'
// Only for links in the comments.
import type { listContinueTargets } from './describe.js'

/** The fields of a target that {@link resolveContinueRef} reads. */
export type NamedTarget =
  | { kind: 'session'; session: { sessionId: string; name?: string | null | undefined } }
  | { kind: 'checkpoint'; checkpointId: string; checkpointName: string }

const ONLY_DIGITS = /^[0-9]+$/

/**
 * Finds the session that a reference denotes: by its id, by its position in the list (counted from 1), or by the beginning of its id, in this
 * order. A reference of digits only is never the beginning of an id; an empty one is the beginning of every id.
 *
 * @param unreadable - Sessions of the same listing that can't be read. If the reference fits no session, but the id or the file name of one of
 * these, the failure says so: `Session X can't be read: REASON`, with the code `ReplayFailed`.
 * @throws TypeError - If an argument is of the wrong type.
 */
export function resolveSessionRef<S extends { sessionId: string }>(
  ref: string,
  sessions: readonly S[],
  unreadable: readonly UnreadableSession[] = [],
): { session: S } | ReferenceFailure {
  check.string(ref, 'ref')
  checkSessions(sessions)
  checkUnreadable(unreadable, 'unreadable')
  return readable(ref, findSession(ref, sessions), unreadable)
}

/** The fields of a session that can't be read which references are compared with. */
export interface UnreadableSession extends Pick<SkippedSession, 'filePath' | 'reason'> {
  sessionId?: string | null | undefined
}

/** What was found; instead of nothing, the reason why the session that the reference fits can't be read. @internal */
export function readable<F extends object>(
  ref: string,
  found: F | ReferenceFailure,
  unreadable: readonly UnreadableSession[],
): F | ReferenceFailure {
  if (!hasOwn(found, 'code') || (found as ReferenceFailure).code !== 'NotFound') return found
  const fitting = unreadable.find((one) => fits(ref, one))
  return fitting === undefined ? found : failure(`Session ${ref} can't be read: ${fitting.reason}`, 'ReplayFailed')
}

/** The id part of the name of a file that a recorder has created. */
const NAMED = /^session-[+-]?\d{4,6}-\d\d-\d\dT\d\d-\d\d(?:-\d\d)?(?:-\d+)?-(.+)\.jsonl$/

/** The lengths to which ids are cut in the names of files. */
const PREFIX_LENGTHS = [8, 12]

/** Whether a reference is an id, or the beginning of one, or a name, of a file that can't be read. Digits are never the beginning of an id. */
function fits(ref: string, { filePath, sessionId }: UnreadableSession): boolean {
  if (ref === '' || isFileName(ref, filePath)) return ref !== ''
  const id = sessionId ?? NAMED.exec(path.basename(filePath))?.[1]
  if (id === undefined) return false
  if (id === ref || (!ONLY_DIGITS.test(ref) && id.startsWith(ref))) return true
  return (sessionId ?? null) === null && PREFIX_LENGTHS.includes(id.length) && ref.startsWith(id)
}

function isFileName(ref: string, filePath: string): boolean {
  const name = path.basename(filePath)
  return ref === name || `${ref}.jsonl` === name || ref === filePath
}

/** The first matching rule decides: the id, the position (counted from 1), the beginning of the id. */
function findSession<S extends { sessionId: string }>(
  ref: string,
  sessions: readonly S[],
): { session: S } | ReferenceFailure {
  const ids = matching(sessions, (session) => session.sessionId === ref)
  if (ids.length > 0) return { session: ids[0]! }
  if (ONLY_DIGITS.test(ref)) return sessionAt(Number(ref), sessions)
  const prefixed = matching(sessions, (session) => session.sessionId.startsWith(ref))
  if (prefixed.length === 1) return { session: prefixed[0]! }
  if (prefixed.length === 0) return failure(`Session not found for this project: ${ref}`, 'NotFound')
  const shown = prefixed.map((session) => session.sessionId).join(', ')
  return failure(`Ambiguous session prefix '${ref}' matches: ${shown}`, 'Ambiguous')
}

function sessionAt<S>(position: number, sessions: readonly S[]): { session: S } | ReferenceFailure {
  if (sessions.length === 0) return failure('No sessions found for this project', 'NoSessions')
  if (position >= 1 && position <= sessions.length) return { session: sessions[position - 1]! }
  return failure(`Session index ${position} out of range (1-${sessions.length})`, 'IndexOutOfRange')
}

/**
 * Finds the target that a reference denotes: the id of a checkpoint; the name of a session or checkpoint, or the id of a session; `latest`, the
 * first session; otherwise the session that {@link resolveSessionRef} finds.
 *
 * @param targets - Sessions and checkpoints, the sessions in the order of a list.
 * @param unreadable - As for {@link resolveSessionRef}: `unreadable` of {@link listContinueTargets}.
 * @throws TypeError - If an argument is of the wrong type.
 *
 * @example
 * ```ts
 * import { resolveContinueRef } from 'session-tape';
 *
 * const targets = [
 *   { kind: 'session' as const, session: { sessionId: 'a1b2', name: 'refactoring' } },
 *   { kind: 'checkpoint' as const, checkpointId: 'c-1', checkpointName: 'before the merge' },
 * ];
 * const found = resolveContinueRef('before the merge', targets);
 * console.log('target' in found ? found.target.kind : found.error); // checkpoint
 * ```
 */
export function resolveContinueRef<T extends NamedTarget>(
  ref: string,
  targets: readonly T[],
  unreadable: readonly UnreadableSession[] = [],
): { target: T } | ReferenceFailure {
  check.string(ref, 'ref')
  checkTargets(targets)
  checkUnreadable(unreadable, 'unreadable')
  return readable(ref, findTarget(ref, targets), unreadable)
}

function findTarget<T extends NamedTarget>(ref: string, targets: readonly T[]): { target: T } | ReferenceFailure {
  const ids = matching(targets, (target) => target.kind === 'checkpoint' && target.checkpointId === ref)
  if (ids.length > 0) return theOne(ids, `Ambiguous checkpoint ID '${ref}'`)
  const named = matching(targets, (target) => isNamed(target, ref))
  if (named.length > 0) return theOne(named, `Ambiguous continue target name '${ref}'`)
  const ofSessions = matching(targets, (target) => target.kind === 'session')
  if (ref === 'latest' && ofSessions.length > 0) return { target: ofSessions[0]! }
  const sessions = ofSessions.map((target) => (target as NamedTarget & { kind: 'session' }).session)
  const found = findSession(ref, sessions)
  return !hasSession(found) ? found : { target: ofSessions[sessions.indexOf(found.session)]! }
}

/** Whether a session was found. @internal */
export function hasSession<S>(found: { session: S } | ReferenceFailure): found is { session: S } {
  return hasOwn(found, 'session')
}

function isNamed(target: NamedTarget, ref: string): boolean {
  if (target.kind === 'checkpoint') return target.checkpointName === ref
  return target.session.name === ref || target.session.sessionId === ref
}

function theOne<T>(targets: T[], ambiguous: string): { target: T } | ReferenceFailure {
  return targets.length === 1 ? { target: targets[0]! } : failure(ambiguous, 'Ambiguous')
}

/**
 * Checks a name for a session or checkpoint and removes surrounding white space.
 *
 * @returns The trimmed name.
 * @throws Error - `Name must not be empty`; `Name 'x' is reserved` for `latest` and for names of digits only, which mean something else as
 * references.
 * @throws TypeError - If `name` is not a string.
 */
export function checkSessionName(name: string): string {
  check.string(name, 'name')
  const trimmed = name.trim()
  if (trimmed === '') throw new Error('Name must not be empty')
  if (trimmed === 'latest' || ONLY_DIGITS.test(trimmed)) throw new Error(`Name '${trimmed}' is reserved`)
  return trimmed
}

function matching<T>(list: readonly T[], holds: (element: T) => boolean): T[] {
  const matches: T[] = []
  for (let index = 0; index < list.length; index++) if (holds(list[index]!)) matches.push(list[index]!)
  return matches
}

function failure(error: string, code: SessionFailureCode): ReferenceFailure {
  return { error, code }
}

function checkSessions(sessions: readonly { sessionId: string }[]): void {
  expect(Array.isArray(sessions), 'sessions', 'an array', sessions)
  checkEach(sessions, 'sessions', checkSession)
}

function checkUnreadable(unreadable: readonly UnreadableSession[], name: string): void {
  expect(Array.isArray(unreadable), name, 'an array', unreadable)
  checkEach(unreadable, name, (one, place) => {
    check.object(one, place)
    check.string(one.filePath, `${place}.filePath`)
    if (one.sessionId !== undefined) check.stringOrNull(one.sessionId, `${place}.sessionId`)
    check.string(one.reason, `${place}.reason`)
  })
}

function checkSession(session: { sessionId: string }, name: string): void {
  check.object(session, name)
  check.string(session.sessionId, `${name}.sessionId`)
}

function checkTargets(targets: readonly NamedTarget[]): void {
  expect(Array.isArray(targets), 'targets', 'an array', targets)
  checkEach(targets, 'targets', (target, name) => {
    check.object(target, name)
    check.oneOf(target.kind, `${name}.kind`, ['session', 'checkpoint'])
    if (target.kind === 'session') checkSession(target.session, `${name}.session`)
  })
}
