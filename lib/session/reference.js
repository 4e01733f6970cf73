'use strict'

// References: what a user types to denote a session or a checkpoint. That is an id, a position in the list, the beginning of an id, or a name.

const { check, checkEach, expect } = require('../arguments.js')
const { append, hasOwn } = require('../builtins.js')

const ONLY_DIGITS = /^[0-9]+$/

/** Finds the session that a reference denotes. The first matching rule decides: its id, its position (counted from 1), the beginning of its id. */
function resolveSessionRef(ref, sessions) {
  check.string(ref, 'ref')
  checkSessions(sessions)
  return findSession(ref, sessions)
}

function findSession(ref, sessions) {
  const ids = matching(sessions, (session) => session.sessionId === ref)
  if (ids.length > 0) return { session: ids[0] }
  if (ONLY_DIGITS.test(ref)) return sessionAt(Number(ref), sessions)
  const prefixed = matching(sessions, (session) => session.sessionId.startsWith(ref))
  if (prefixed.length === 1) return { session: prefixed[0] }
  if (prefixed.length === 0) return failure(`Session not found for this project: ${ref}`, 'NotFound')
  const shown = prefixed.map((session) => session.sessionId).join(', ')
  return failure(`Ambiguous session prefix '${ref}' matches: ${shown}`, 'Ambiguous')
}

function sessionAt(position, sessions) {
  if (sessions.length === 0) return failure('No sessions found for this project', 'NoSessions')
  if (position >= 1 && position <= sessions.length) return { session: sessions[position - 1] }
  return failure(`Session index ${position} out of range (1-${sessions.length})`, 'IndexOutOfRange')
}

/**
 * Finds the target that a reference denotes. The first matching rule decides: the id of a checkpoint; the name of a session or checkpoint, or a
 * session id; `latest`; otherwise the rules of `resolveSessionRef`.
 */
function resolveContinueRef(ref, targets) {
  check.string(ref, 'ref')
  checkTargets(targets)
  const ids = matching(targets, (target) => target.kind === 'checkpoint' && target.checkpointId === ref)
  if (ids.length > 0) return theOne(ids, `Ambiguous checkpoint ID '${ref}'`)
  const named = matching(targets, (target) => isNamed(target, ref))
  if (named.length > 0) return theOne(named, `Ambiguous continue target name '${ref}'`)
  const ofSessions = matching(targets, (target) => target.kind === 'session')
  if (ref === 'latest' && ofSessions.length > 0) return { target: ofSessions[0] }
  const sessions = ofSessions.map((target) => target.session)
  const found = findSession(ref, sessions)
  return !hasOwn(found, 'session') ? found : { target: ofSessions[sessions.indexOf(found.session)] }
}

function isNamed(target, ref) {
  if (target.kind === 'checkpoint') return target.checkpointName === ref
  return target.session.name === ref || target.session.sessionId === ref
}

function theOne(targets, ambiguous) {
  return targets.length === 1 ? { target: targets[0] } : failure(ambiguous, 'Ambiguous')
}

/** Checks a name for a session or checkpoint and trims it. Names that a reference could not denote are refused. */
function checkSessionName(name) {
  check.string(name, 'name')
  const trimmed = name.trim()
  if (trimmed === '') throw new Error('Name must not be empty')
  if (trimmed === 'latest' || ONLY_DIGITS.test(trimmed)) throw new Error(`Name '${trimmed}' is reserved`)
  return trimmed
}

function matching(list, holds) {
  const matches = []
  for (let index = 0; index < list.length; index++) if (holds(list[index])) append(matches, list[index])
  return matches
}

function failure(error, code) {
  return { error, code }
}

function checkSessions(sessions) {
  expect(Array.isArray(sessions), 'sessions', 'an array', sessions)
  checkEach(sessions, 'sessions', checkSession)
}

function checkSession(session, name) {
  check.object(session, name)
  check.string(session.sessionId, `${name}.sessionId`)
}

function checkTargets(targets) {
  expect(Array.isArray(targets), 'targets', 'an array', targets)
  checkEach(targets, 'targets', (target, name) => {
    check.object(target, name)
    check.oneOf(target.kind, `${name}.kind`, ['session', 'checkpoint'])
    if (target.kind === 'session') checkSession(target.session, `${name}.session`)
  })
}

module.exports = { resolveSessionRef, resolveContinueRef, checkSessionName }
