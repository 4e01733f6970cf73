/** The path of the lock that the name of a session file denotes. */
import { join, sep } from 'node:path'
import { describe, expect } from 'vitest'
import { sessionLockPath, sessionLockPathOf } from '../../index.js'
import { fc, test } from '../support/property'

const safeId = fc.stringMatching(/^[A-Za-z0-9_-]{1,60}$/)

describe('the lock path of a file', () => {
  test.prop([safeId], { numRuns: 100 })('is that of the id in its name, in its directory', (id) => {
    for (const directory of ['/chats', '/a/../chats', 'chats', `.${sep}chats`, '.']) {
      expect(sessionLockPathOf(`${directory}${sep}session-${id}.jsonl`)).toBe(sessionLockPath(directory, id))
    }
    expect(sessionLockPathOf(`session-${id}.jsonl`)).toBe(`${id}.lock`)
  })

  test('is that of all between the prefix and the extension', () => {
    const path = join('/c', 'session-2026-02-11T16-00-f3a91c22.jsonl')
    expect(sessionLockPathOf(path)).toBe(join('/c', '2026-02-11T16-00-f3a91c22.lock'))
    expect(sessionLockPathOf('session-session-a.jsonl')).toBe('session-a.lock')
  })

  test('is refused for another name, with the path', () => {
    const others = [
      's1.jsonl',
      'session-.jsonl',
      'session-s1.json',
      'session-s1.jsonl.gz',
      'Session-s1.jsonl',
      'xsession-s1.jsonl',
      'session-s1',
      '/',
      join('/session-s1.jsonl', 'x'),
    ]
    for (const path of [...others, ...others.map((name) => join('/chats', name))]) {
      expect(() => sessionLockPathOf(path)).toThrow(new Error(`Cannot extract session ID from path: ${path}`))
    }
  })

  test('is refused for an unsafe id', () => {
    for (const id of ['a.b', 'a b', 'é', '..', 'a\nb', 'x'.repeat(257)]) {
      expect(() => sessionLockPathOf(join('/c', `session-${id}.jsonl`))).toThrow(
        new Error(`Unsafe session ID rejected: "${id}"`),
      )
    }
  })
})
