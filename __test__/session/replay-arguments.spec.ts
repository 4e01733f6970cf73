// Arguments of the wrong type synchronously throw a TypeError that names them.

import { describe, expect } from 'vitest'
import { fc, test } from '../support/property'
import { replaySession } from '../../index.js'
import type { ReplayOptions } from '../../index.js'
import { START_METADATA, content, file, replayOf, start } from '../support/session-file.js'
import { runs } from '../support/session-arbitraries.js'
import { eachCase } from '../support/each-case.js'

describe('arguments of the wrong type synchronously throw a TypeError that names them', () => {
  const call = replaySession as (...args: unknown[]) => Promise<unknown>
  const filePath = 'no-such-session.jsonl'

  test('filePath', () =>
    eachCase(
      [undefined, null, 7, true, {}, ['a'], Buffer.from('a'), new URL('file:///a'), Symbol('a'), () => 'a'],
      (value) => {
        expect(() => call(value)).toThrow(TypeError)
        expect(() => call(value)).toThrow(/filePath/)
      },
    ))

  test('expectedProjectHash', () =>
    eachCase([7, true, {}, ['a'], Symbol('a'), Buffer.from('a')], (value) => {
      expect(() => call(filePath, value)).toThrow(TypeError)
      expect(() => call(filePath, value)).toThrow(/expectedProjectHash/)
    }))

  test('options', () =>
    eachCase([7, true, 'auditTrail', Symbol('a')], (value) => {
      expect(() => call(filePath, undefined, value)).toThrow(TypeError)
      expect(() => call(filePath, undefined, value)).toThrow(/options/)
    }))

  test('every option', () =>
    eachCase(
      [
        ['throughSeq', '7'],
        ['throughSeq', 7n],
        ['throughSeq', {}],
        ['throughSeq', true],
        ['auditTrail', 'yes'],
        ['auditTrail', 1],
        ['strict', 1],
        ['strict', 'yes'],
        ['signal', {}],
        ['signal', 'abort'],
        ['signal', new AbortController()],
        ['onProgress', {}],
        ['onProgress', 'log'],
      ],
      ([name, value]) => {
        const options = { [name]: value }
        expect(() => call(filePath, undefined, options)).toThrow(TypeError)
        expect(() => call(filePath, undefined, options)).toThrow(new RegExp(`options\\.${name}`))
      },
    ))

  test('undefined stands for an argument or option that is left out', async () => {
    const options: ReplayOptions = {
      throughSeq: undefined,
      auditTrail: undefined,
      strict: undefined,
      signal: undefined,
      onProgress: undefined,
    }
    const text = file(start(), content('a'))
    expect(await replayOf(text, undefined, options)).toStrictEqual(await replayOf(text))
    expect((await replayOf(text, START_METADATA.projectHash, undefined)).ok).toBe(true)
  })

  test.prop(
    [fc.anything().filter((value) => !['string', 'undefined'].includes(typeof value) && value !== null)],
    runs(60),
  )('any expectedProjectHash that is not a string', (expected) => {
    expect(() => call(filePath, expected)).toThrow(TypeError)
  })

  test.prop([fc.anything().filter((value) => typeof value !== 'string')], runs(60))(
    'any filePath that is not a string',
    (value) => {
      expect(() => call(value)).toThrow(TypeError)
    },
  )

  test.prop(
    [fc.anything().filter((value) => !['number', 'undefined'].includes(typeof value) && value !== null)],
    runs(60),
  )('any throughSeq that is not a number', (throughSeq) => {
    expect(() => call(filePath, undefined, { throughSeq })).toThrow(TypeError)
  })
})
