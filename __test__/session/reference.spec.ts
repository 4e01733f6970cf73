// References by which users denote a session or a checkpoint, and the names that these may have.

import { fc, test } from '../support/property'
import { describe, expect } from 'vitest'
import { type NamedTarget, checkSessionName, resolveContinueRef, resolveSessionRef } from '../../index.js'

const sessionsOf = (...ids: string[]) => ids.map((sessionId) => ({ sessionId }))
const session = (sessionId: string, name?: string | null): NamedTarget => ({
  kind: 'session',
  session: { sessionId, name },
})
const checkpoint = (checkpointId: string, checkpointName: string): NamedTarget => ({
  kind: 'checkpoint',
  checkpointId,
  checkpointName,
})

describe('resolveSessionRef', () => {
  const list = sessionsOf('abc-1', 'abd-2', '7', '007-x', 'Abc')

  test('prefers an id to a position', () => {
    expect(resolveSessionRef('7', list)).toEqual({ session: list[2] })
    expect(resolveSessionRef('abc-1', list)).toEqual({ session: list[0] })
    expect((resolveSessionRef('abc-1', list) as { session: unknown }).session).toBe(list[0])
  })

  test('accepts a position, counted from 1, which is never taken for the beginning of an id', () => {
    expect(resolveSessionRef('1', list)).toEqual({ session: list[0] })
    expect(resolveSessionRef('05', list)).toEqual({ session: list[4] })
    for (const [ref, shown] of [
      ['0', '0'],
      ['6', '6'],
      ['007', '7'],
      ['00', '0'],
      ['99999999999999999999999', '1e+23'],
      ['9'.repeat(400), 'Infinity'],
    ]) {
      expect(resolveSessionRef(ref!, list)).toEqual({
        error: `Session index ${shown} out of range (1-5)`,
        code: 'IndexOutOfRange',
      })
    }
    expect(resolveSessionRef('3', [])).toEqual({ error: 'No sessions found for this project', code: 'NoSessions' })
  })

  test('accepts the beginning of one id', () => {
    expect(resolveSessionRef('abd', list)).toEqual({ session: list[1] })
    expect(resolveSessionRef('ab', list)).toEqual({
      error: "Ambiguous session prefix 'ab' matches: abc-1, abd-2",
      code: 'Ambiguous',
    })
    expect(resolveSessionRef('', list)).toEqual({
      error: "Ambiguous session prefix '' matches: abc-1, abd-2, 7, 007-x, Abc",
      code: 'Ambiguous',
    })
    expect(resolveSessionRef('', sessionsOf('only'))).toEqual({ session: { sessionId: 'only' } })
  })

  test('finds nothing for any other text', () => {
    for (const ref of ['x', 'abc-1 ', '1.0', '-1', '+1', '1e0', '٣', 'latest', "it's"]) {
      expect(resolveSessionRef(ref, list)).toEqual({
        error: `Session not found for this project: ${ref}`,
        code: 'NotFound',
      })
    }
    expect(resolveSessionRef('', [])).toEqual({ error: 'Session not found for this project: ', code: 'NotFound' })
  })

  test.prop([fc.array(fc.uuid(), { minLength: 1, maxLength: 8 }), fc.nat()])(
    'every id is found by itself and by its position',
    (ids, at) => {
      const sessions = sessionsOf(...new Set(ids))
      const index = at % sessions.length
      expect(resolveSessionRef(sessions[index]!.sessionId, sessions)).toEqual({ session: sessions[index] })
      expect(resolveSessionRef(String(index + 1), sessions)).toEqual({ session: sessions[index] })
    },
  )
})

describe('resolveContinueRef', () => {
  const targets = [
    session('s-1', 'work'),
    session('s-2', null),
    session('s-3'),
    checkpoint('c-1', 'before'),
    checkpoint('c-2', 'work'),
    checkpoint('s-2', 'odd'),
  ]

  test('prefers the id of a checkpoint to anything else', () => {
    expect(resolveContinueRef('c-1', targets)).toEqual({ target: targets[3] })
    expect(resolveContinueRef('s-2', targets)).toEqual({ target: targets[5] })
    expect(resolveContinueRef('c', [checkpoint('c', 'a'), checkpoint('c', 'b'), session('c')])).toEqual({
      error: "Ambiguous checkpoint ID 'c'",
      code: 'Ambiguous',
    })
  })

  test('accepts a name, or the id of a session', () => {
    expect(resolveContinueRef('before', targets)).toEqual({ target: targets[3] })
    expect(resolveContinueRef('s-1', targets)).toEqual({ target: targets[0] })
    expect(resolveContinueRef('work', targets)).toEqual({
      error: "Ambiguous continue target name 'work'",
      code: 'Ambiguous',
    })
    expect(resolveContinueRef('x', [session('x', 'x')])).toEqual({ target: session('x', 'x') })
    expect(resolveContinueRef('null', targets)).toEqual({
      error: 'Session not found for this project: null',
      code: 'NotFound',
    })
  })

  test('latest is the first session, unless something has that name', () => {
    expect(resolveContinueRef('latest', [...targets].reverse())).toEqual({ target: targets[2] })
    expect(resolveContinueRef('latest', [...targets, checkpoint('c-9', 'latest')])).toEqual({
      target: checkpoint('c-9', 'latest'),
    })
    expect(resolveContinueRef('latest', [checkpoint('c', 'n')])).toEqual({
      error: 'Session not found for this project: latest',
      code: 'NotFound',
    })
  })

  test('otherwise resolves to a session: checkpoints have no position', () => {
    expect(resolveContinueRef('3', [targets[3]!, ...targets])).toEqual({ target: targets[2] })
    expect(resolveContinueRef('4', targets)).toEqual({
      error: 'Session index 4 out of range (1-3)',
      code: 'IndexOutOfRange',
    })
    expect(resolveContinueRef('1', [targets[3]!])).toEqual({
      error: 'No sessions found for this project',
      code: 'NoSessions',
    })
    expect(resolveContinueRef('s-', targets)).toEqual({
      error: "Ambiguous session prefix 's-' matches: s-1, s-2, s-3",
      code: 'Ambiguous',
    })
  })

  test.prop([fc.uniqueArray(fc.uuid(), { minLength: 1, maxLength: 8 }), fc.func(fc.boolean()), fc.nat()])(
    'any id is found',
    (ids, isSession, at) => {
      const all = ids.map((id) => (isSession(id) ? session(id, `name of ${id}`) : checkpoint(id, `name of ${id}`)))
      const index = at % ids.length
      for (const ref of [ids[index]!, `name of ${ids[index]}`])
        expect(resolveContinueRef(ref, all)).toEqual({ target: all[index] })
    },
  )
})

describe('checkSessionName', () => {
  test('trims a name, and refuses one that is empty or has another meaning as a reference', () => {
    expect(checkSessionName(' \u3000a name\n')).toBe('a name')
    for (const name of ['Latest', 'latest!', '1.0', '-1', '٣', 'v2']) expect(checkSessionName(name)).toBe(name)
    for (const name of ['', ' ', '\ufeff\u2028'])
      expect(() => checkSessionName(name)).toThrow(new Error('Name must not be empty'))
    for (const name of ['latest', '0', '42', '007'])
      expect(() => checkSessionName(` ${name} `)).toThrow(new Error(`Name '${name}' is reserved`))
  })
})

test.prop([fc.anything().filter((value) => typeof value !== 'string')])(
  'a reference or name that is not a string throws',
  (value) => {
    expect(() => resolveSessionRef(value as string, [])).toThrow(TypeError)
    expect(() => resolveContinueRef(value as string, [])).toThrow(TypeError)
    expect(() => checkSessionName(value as string)).toThrow(TypeError)
    if (!Array.isArray(value)) {
      expect(() => resolveSessionRef('x', value as never)).toThrow(/sessions/)
      expect(() => resolveContinueRef('x', value as never)).toThrow(/targets/)
    }
  },
)
