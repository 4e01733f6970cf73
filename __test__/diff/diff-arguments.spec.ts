// An argument of the wrong type throws synchronously; a faulty recording rejects.

import { describe, expect, test } from 'vitest'
import * as tape from '../../index.js'
import { completedRun, freshPath } from '../support/run-directory.js'

const { diff, diffToText, traceAncestors } = tape as unknown as Record<string, (...args: unknown[]) => any>
const thrown = (call: () => unknown) => {
  try {
    call()
  } catch (error) {
    return error
  }
  throw new Error('nothing was thrown')
}

describe('arguments', () => {
  test.each([
    ['left', () => diff!(1, 'r')],
    ['right', () => diff!('l')],
    ['options', () => diff!('l', 'r', [])],
    ['options.full', () => diff!('l', 'r', { full: 1 })],
    ['options.heartbeats', () => diff!('l', 'r', { heartbeats: 'yes' })],
    ['options.ignore', () => diff!('l', 'r', { ignore: '/a' })],
    ['options.ignore[1]', () => diff!('l', 'r', { ignore: ['/a', 'a'] })],
    ['options.ignore[0]', () => diff!('l', 'r', { ignore: ['/~2'] })],
    ['options.signal', () => diff!('l', 'r', { signal: {} })],
    ['options.onProgress', () => diff!('l', 'r', { onProgress: 1 })],
    ['path', () => traceAncestors!(null, 'evt_1')],
    ['eventId', () => traceAncestors!('p', 1)],
    ['options.signal', () => traceAncestors!('p', 'evt_1', { signal: 1 })],
    ['diff', () => diffToText!(undefined)],
    ['options.color', () => diffToText!(null, { color: 1 })],
    ['options.details', () => diffToText!(null, { details: 1 })],
  ])('%s is checked', (name, call) => {
    const error = thrown(call)
    expect(error).toBeInstanceOf(TypeError)
    expect(error).toMatchObject({ code: 'ERR_INVALID_ARG_TYPE', message: expect.stringContaining(`${name} must be`) })
  })

  test('no divergence is rendered as text too', () => {
    expect(diffToText!(null)).toBe('No divergence')
  })

  test('a signal stops a comparison, before it begins and while it runs', async () => {
    const path = completedRun().write(freshPath())
    await expect(diff!(path, path, { signal: AbortSignal.abort('early') })).rejects.toBe('early')
    await expect(traceAncestors!(path, 'evt_1', { signal: AbortSignal.abort('early') })).rejects.toBe('early')
    const controller = new AbortController()
    const found = diff!(path, path, { signal: controller.signal, full: true })
    controller.abort('late')
    await expect(found).rejects.toBe('late')
  })

  test('a path with a NUL rejects, and does not crash', async () => {
    await expect(diff!('a\0b', 'c')).rejects.toBeInstanceOf(Error)
  })
})
