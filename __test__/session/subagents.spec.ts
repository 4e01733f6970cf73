/** Sessions of sub-agents: in no list and behind no reference unless asked for, deleted with their parents. And sessions that can't be read, as data. */
import { readdirSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fc, test } from '../support/property'
import { describe, expect } from 'vitest'
import {
  CONTINUE_LATEST,
  acquireSessionLock,
  createCheckpoint,
  deleteSession,
  describeSessions,
  listContinueTargets,
  listSessions,
  resolveContinueRef,
  resolveSessionRef,
  resumeSession,
} from '../../index.js'
import type { SessionKind } from '../../index.js'
import { PROJECT_HASH, content, session } from '../support/session-file.js'
import { requestOf } from '../support/resuming'
import { checkpoint, expectNoLock, projectOf, sessionWith } from '../support/project-files.js'

const BOTH: SessionKind[] = ['main', 'subagent']

const textOf = (sessionId: string, more: Record<string, unknown> = {}): string => {
  const [first, ...rest] = session(content('hello')).split('\n')
  const header = JSON.parse(first!) as { payload: object }
  return [JSON.stringify({ ...header, payload: { ...header.payload, sessionId, ...more } }), ...rest].join('\n')
}
const subagent = (sessionId: string, parentSessionId?: string): string =>
  textOf(sessionId, { kind: 'subagent', ...(parentSessionId !== undefined && { parentSessionId }) })

async function resumedId(chatsDir: string, continueRef: string, kinds?: SessionKind[]): Promise<string> {
  const resumed = await resumeSession(requestOf(chatsDir, continueRef, { kinds }))
  if (!resumed.ok) return `${resumed.code}: ${resumed.error}`
  await resumed.recording.dispose()
  return resumed.metadata.sessionId
}

describe('a session of a sub-agent', () => {
  const project = () =>
    projectOf({
      'session-1.jsonl': textOf('main-1'),
      'session-2.jsonl': subagent('agent-2', 'main-1'),
      'session-3.jsonl': textOf('main-3', { kind: 'main' }),
    })

  test('is in no listing, unless its kind is asked for', async () => {
    const chatsDir = project()
    for (const [kinds, expected] of [
      [undefined, ['main-1', 'main-3']],
      [BOTH, ['agent-2', 'main-1', 'main-3']],
      [['subagent'], ['agent-2']],
      [[], []],
    ] as [SessionKind[] | undefined, string[]][]) {
      const { targets } = await listContinueTargets(chatsDir, PROJECT_HASH, { kinds })
      const ids = [
        (await listSessions(chatsDir, { kinds })).sessions.map(({ sessionId }) => sessionId),
        (await describeSessions(chatsDir, { kinds })).sessions.map(({ sessionId }) => sessionId),
        targets.map((target) => target.kind === 'session' && target.session.sessionId),
      ]
      for (const found of ids) expect(found.sort()).toEqual(expected)
    }
  })

  test('says so in its summary, and other sessions say nothing that their headers do not', async () => {
    const { sessions } = await listSessions(project(), { kinds: BOTH })
    const of = (id: string) => sessions.find(({ sessionId }) => sessionId === id)!
    expect(of('agent-2')).toMatchObject({ kind: 'subagent', parentSessionId: 'main-1' })
    expect(Object.keys(of('main-1')).filter((key) => key === 'kind' || key === 'parentSessionId')).toEqual([])
    expect(of('main-3').kind).toBe('main')
  })

  test('is resumed by its whole id only, unless its kind is asked for', async () => {
    const chatsDir = projectOf({ 'session-1.jsonl': subagent('agent-one', 'gone') })
    expect(await resumedId(chatsDir, CONTINUE_LATEST)).toBe('NoSessions: No sessions found for this project')
    expect(await resumedId(chatsDir, '1')).toBe('NoSessions: No sessions found for this project')
    expect(await resumedId(chatsDir, 'agent')).toBe('NoSessions: No sessions found for this project')
    expect(await resumedId(chatsDir, 'agent-one')).toBe('agent-one')
    for (const ref of [CONTINUE_LATEST, '1', 'agent', 'agent-one'])
      expect(await resumedId(chatsDir, ref, BOTH)).toBe('agent-one')
  })

  test('takes no position and no prefix beside main sessions', async () => {
    const chatsDir = project()
    expect(await resumedId(chatsDir, '3')).toBe('IndexOutOfRange: Session index 3 out of range (1-2)')
    expect(await resumedId(chatsDir, 'agent')).toBe('NotFound: Session not found for this project: agent')
    expect(await resumedId(chatsDir, 'agent-2')).toBe('agent-2')
    expect(await deleteSession('agent', chatsDir, PROJECT_HASH)).toMatchObject({ ok: false, code: 'NotFound' })
    expect(await deleteSession('agent', chatsDir, PROJECT_HASH, { kinds: BOTH })).toEqual({
      ok: true,
      deletedSessionId: 'agent-2',
    })
  })

  test('of a kind that does not exist cannot be asked for', async () => {
    const wrong = { kinds: ['main', 'other'] as SessionKind[] }
    expect(() => listSessions('x', wrong)).toThrow(/options\.kinds\[1\] must be one of/)
    expect(() => describeSessions('x', wrong)).toThrow(/options\.kinds\[1\]/)
    expect(() => listContinueTargets('x', 'h', wrong)).toThrow(/options\.kinds\[1\]/)
    expect(() => deleteSession('r', 'x', 'h', wrong)).toThrow(/options\.kinds\[1\]/)
    expect(() => resumeSession(requestOf('x', 'r', wrong))).toThrow(/request\.kinds\[1\]/)
  })
})

describe('the deletion of a parent', () => {
  test('deletes its sub-agents and theirs, and no others', async () => {
    const chatsDir = projectOf({
      'session-1.jsonl': textOf('parent'),
      'session-2.jsonl': subagent('child', 'parent'),
      'session-3.jsonl': subagent('grandchild', 'child'),
      'session-4.jsonl': subagent('other', 'another'),
      'session-5.jsonl': textOf('no-agent', { parentSessionId: 'parent' }),
      'session-6.jsonl': subagent('circle', 'circle'),
    })
    expect(await deleteSession('parent', chatsDir, PROJECT_HASH)).toEqual({ ok: true, deletedSessionId: 'parent' })
    expect(readdirSync(chatsDir).sort()).toEqual(['session-4.jsonl', 'session-5.jsonl', 'session-6.jsonl'])
    expect(await deleteSession('circle', chatsDir, PROJECT_HASH, { exact: true })).toEqual({
      ok: true,
      deletedSessionId: 'circle',
    })
    await expectNoLock(chatsDir, 'parent', 'child', 'grandchild', 'circle')
  })

  test('leaves and reports those that are in use or can not be deleted', async () => {
    const chatsDir = projectOf({
      'session-1.jsonl': textOf('parent'),
      'session-2.jsonl': subagent('used', 'parent'),
      'session-3.jsonl': subagent('kept', 'parent'),
      'session-4.jsonl': subagent('gone', 'parent'),
    })
    const { checkpointId } = await createCheckpoint(
      { filePath: join(chatsDir, 'session-3.jsonl'), chatsDir, sessionId: 'kept' },
      PROJECT_HASH,
      'live',
    )
    const lock = await acquireSessionLock(chatsDir, 'used')
    expect(await deleteSession('parent', chatsDir, PROJECT_HASH)).toEqual({
      ok: true,
      deletedSessionId: 'parent',
      warnings: expect.arrayContaining([
        'Session used of a sub-agent was not deleted: Cannot delete: session is in use by another process',
        `Session kept of a sub-agent was not deleted: Cannot delete session: live checkpoints block deletion: live (${checkpointId})`,
      ]),
    })
    await lock.release()
    expect(readdirSync(chatsDir).sort()).toEqual(['session-2.jsonl', 'session-3.jsonl'])
  })

  test('that does not take place deletes no sub-agent', async () => {
    const chatsDir = projectOf({
      'session-1.jsonl': sessionWith('parent', content('x'), checkpoint('c', 'live')),
      'session-2.jsonl': subagent('child', 'parent'),
    })
    expect(await deleteSession('parent', chatsDir, PROJECT_HASH)).toMatchObject({ ok: false, code: 'CheckpointsBlock' })
    expect(readdirSync(chatsDir).sort()).toEqual(['session-1.jsonl', 'session-2.jsonl'])
  })

  test.prop([fc.array(fc.nat({ max: 9 }), { minLength: 10, maxLength: 10 }), fc.nat({ max: 9 })], { numRuns: 25 })(
    'in any forest deletes exactly the descendants',
    async (parents, root) => {
      const chatsDir = projectOf(
        Object.fromEntries(
          parents.map((parent, index) => [`session-${index}.jsonl`, subagent(`s-${index}`, `s-${parent}`)]),
        ),
      )
      const gone = new Set([root])
      for (let round = 0; round < 10; round++) parents.forEach((parent, index) => gone.has(parent) && gone.add(index))
      expect(await deleteSession(`s-${root}`, chatsDir, PROJECT_HASH, { exact: true })).toEqual({
        ok: true,
        deletedSessionId: `s-${root}`,
      })
      expect(readdirSync(chatsDir).sort()).toEqual(
        parents
          .map((_, index) => index)
          .filter((index) => !gone.has(index))
          .map((index) => `session-${index}.jsonl`),
      )
    },
  )
})

describe('a session that can not be read', () => {
  const torn = 'session-2026-03-04T05-06-deadbeef.jsonl'
  const project = () =>
    projectOf({
      'session-1.jsonl': textOf('readable'),
      [torn]: '{"v":1,"seq":1,"ty',
      'session-2.jsonl': textOf('bad-start', { startTime: 7 }),
    })

  test('is what a reference is told that fits nothing else', async () => {
    const chatsDir = project()
    const reason = 'Missing or corrupt session_start event: first line is not valid JSON'
    for (const ref of ['deadbeef', 'deadbeef-1234-5678', 'dead', torn, basename(torn, '.jsonl')]) {
      expect(await resumedId(chatsDir, ref)).toBe(`ReplayFailed: Session ${ref} can't be read: ${reason}`)
      expect(await deleteSession(ref, chatsDir, PROJECT_HASH)).toMatchObject({
        ok: false,
        code: 'ReplayFailed',
        error: `Session ${ref} can't be read: ${reason}`,
      })
    }
    for (const ref of ['deadbeat', 'beef', 'x'])
      expect(await resumedId(chatsDir, ref)).toBe(`NotFound: Session not found for this project: ${ref}`)
    expect(await resumedId(chatsDir, 'read')).toBe('readable')
  })

  test('is found by the resolvers too, if they are given what was skipped', async () => {
    const { targets, skipped } = await listContinueTargets(project(), PROJECT_HASH)
    expect(resolveContinueRef('bad-start', targets)).toMatchObject({ code: 'NotFound' })
    const error = "Session bad-start can't be read: Invalid session_start: missing or malformed required fields"
    expect(resolveContinueRef('bad-start', targets, skipped)).toEqual({ code: 'ReplayFailed', error })
    expect(resolveSessionRef('bad-start', [], skipped)).toEqual({ code: 'ReplayFailed', error })
    expect(resolveSessionRef('1', [], skipped)).toMatchObject({ code: 'NoSessions' })
    expect(resolveSessionRef('', [], skipped)).toMatchObject({ code: 'NotFound' })
    expect(() => resolveSessionRef('x', [], [{}] as never)).toThrow(/unreadable\[0\]\.filePath must be a string/)
  })
})
