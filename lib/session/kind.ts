// Kinds of sessions: the user's own, and those of sub-agents, which are left out unless they are asked for.

import { checkEach, check, expect } from '../arguments.js'
import { hasOwn } from '../builtins.js'
import type { SessionKind } from './records.js'
import type { SessionSummary } from './summary.js'

export const KINDS: readonly SessionKind[] = ['main', 'subagent']

const MAIN: readonly SessionKind[] = ['main']

/** Checks the kinds that a caller asks for. */
export function checkKinds(kinds: readonly SessionKind[] | undefined, name: string): void {
  if (kinds === undefined) return
  expect(Array.isArray(kinds), name, 'an array', kinds)
  checkEach(kinds, name, (kind, place) => check.oneOf(kind, place, KINDS))
}

/** A copy of the kinds that are asked for, because the caller may change them. */
export function kindsOf(kinds: readonly SessionKind[] | undefined): readonly SessionKind[] {
  return kinds === undefined ? MAIN : kinds.slice()
}

/** The sessions of these kinds. */
export function ofKinds(sessions: SessionSummary[], kinds: readonly SessionKind[]): SessionSummary[] {
  return sessions.filter((session) => kinds.includes(kindOf(session)))
}

function kindOf(session: SessionSummary): SessionKind {
  return hasOwn(session, 'kind') && session.kind === 'subagent' ? 'subagent' : 'main'
}

/** Whether a session is that of a sub-agent of another one. */
export function isSubagentOf(session: SessionSummary, parent: string): boolean {
  return kindOf(session) === 'subagent' && hasOwn(session, 'parentSessionId') && session.parentSessionId === parent
}
