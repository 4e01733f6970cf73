// Items that a replay lays out in advance and JavaScript reads in place: sessions of many MiB, in which later records remove such items.

import { Worker } from 'node:worker_threads'
import { fileURLToPath } from 'node:url'
import { describe, expect } from 'vitest'
import { replayBytes } from '../support/plain-engine.mjs'
import { childReport, isLinux } from '../support/processes.js'
import { fc, test } from '../support/property'
import { expectSame, expectSameReplay } from '../support/same-replay.js'
import { runs } from '../support/session-arbitraries.js'
import {
  compressed,
  content,
  replayedOf,
  replayOf,
  rewind,
  session,
  sessionOf,
  writeSession,
} from '../support/session-file.js'
import type { Event } from '../support/session-file.js'

const MIB = 1 << 20

describe('a session of many MiB', () => {
  const letters = fc.constantFrom('a', 'é', '→', '日', '😀', '\\"\n\t', 'a\u0000', 'mixed — text ')
  /** Contents of about `bytes` bytes in total, in texts of equal length. */
  const contents = fc
    .record({
      letter: letters,
      length: fc.constantFrom(3, 30, 700, 3000, 5000, 70_000),
      bytes: fc.integer({ min: 0, max: 3 * MIB }),
    })
    .map(({ letter, length, bytes }): Event[] => {
      const text = letter.repeat(Math.ceil(length / letter.length))
      return Array.from({ length: Math.ceil(bytes / Buffer.byteLength(text)) % 20_000 }, (_, n) =>
        content(`${n}${text}`, n % 2 ? 'ai' : 'human'),
      )
    })
  const removal = fc.oneof(
    fc.integer({ min: 0, max: 9 }).map((count): Event[] => [rewind(count)]),
    fc.constantFrom(500, 5000, 1e9).map((count): Event[] => [rewind(count)]),
    fc.constant([compressed('summary')]),
    fc.constant<Event[]>([]),
  )

  test.prop([fc.array(fc.tuple(contents, removal), { maxLength: 7 })], runs(12))(
    'is replayed as by the plain engine, whatever removes earlier items',
    async (parts) => {
      const bytes = Buffer.from(sessionOf(parts.flat(2) as Event[]))
      expectSameReplay(await replayOf(bytes), replayBytes(bytes))
    },
    120_000,
  )
})

describe('objects of one shape', () => {
  const name = fc.constantFrom(
    'speaker',
    'blocks',
    'type',
    'text',
    'id',
    'name',
    'type,text',
    'speaker,blocks',
    'é',
    '',
    '__proto__',
    'toString',
  )
  const object = fc.array(fc.tuple(name, fc.constantFrom('1', '"a"', 'null', '{"type":1,"text":2}', '[{"text":1}]')), {
    maxLength: 5,
  })
  const json = object.map((members) => `{${members.map(([key, value]) => `${JSON.stringify(key)}:${value}`).join()}}`)

  test.prop([fc.array(json, { minLength: 1, maxLength: 40 })], runs(100))(
    'are the same as from JSON.parse',
    async (objects) => {
      const line = (value: string) =>
        `{"seq":2,"type":"content","payload":{"content":{"speaker":"ai","value":${value}}}}`
      const { history } = await replayedOf<{ value: unknown }>(session(...objects.map(line)))
      expectSame(
        history.map(({ value }) => value),
        objects.map((text) => JSON.parse(text) as unknown),
      )
    },
  )
})

describe('memory that JavaScript reads in place', () => {
  const megabytes = (count: number) =>
    Array.from({ length: count * 1024 }, (_, n) => content(`${n} ${'text — '.repeat(100)}`))

  test.skipIf(!isLinux)('is given back except for what is kept', async () => {
    const path = writeSession(sessionOf(megabytes(40)))
    const { all, few, none } = await keptTexts(path)
    expect(all).toBeGreaterThan(30 * MIB)
    expect(few).toBeLessThan(all / 2)
    expect(none).toBeLessThan(all / 3)
  })

  interface Kept {
    isExact: boolean
    all: number
    few: number
    none: number
  }

  /** In a few attempts, huge pages are usually fast for once: those of the attempt before are at hand. */
  async function keptTexts(path: string, attempts = 5): Promise<Kept> {
    const kept = await childReport<Kept>('child-kept-texts.mjs', [path])
    return kept.isExact || attempts === 1 ? kept : keptTexts(path, attempts - 1)
  }

  test('outlives the thread that replays, and ends with the thread that it was made for', async () => {
    const path = writeSession(sessionOf(megabytes(8)))
    const library = fileURLToPath(new URL('../../index.js', import.meta.url))
    const code = `const { parentPort } = require('node:worker_threads')
      require(${JSON.stringify(library)}).replaySession(${JSON.stringify(path)}).then(({ history }) => parentPort.postMessage(history.length))`
    const endings = Array.from({ length: 12 }, (_, n) => ended(code, n < 6 ? n * 15 : undefined))
    for (const found of await Promise.all(endings)) expect([undefined, 8 * 1024]).toContain(found)
    expect(await ended(code)).toBe(8 * 1024)
  })

  /** The message that a worker posts; undefined if the worker is terminated before that, after `terminateAfter` milliseconds. */
  function ended(code: string, terminateAfter?: number): Promise<number | undefined> {
    return new Promise((resolve, reject) => {
      const worker = new Worker(code, { eval: true })
      let found: number | undefined
      worker.on('message', (posted: number) => (found = posted))
      worker.on('error', reject)
      worker.on('exit', () => resolve(found))
      if (terminateAfter !== undefined) setTimeout(() => void worker.terminate(), terminateAfter)
    })
  }
})
