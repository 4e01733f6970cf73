// Recordings of a real coding agent, if they are available: next to the project, not in it.

import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect } from 'vitest'
import { fc, test } from '../support/property'
import { readSessionHeader, replaySession } from '../../index.js'
import { replayOf } from '../support/session-file.js'
import { runs } from '../support/session-arbitraries.js'
import { damaged } from '../support/json-arbitraries.js'
import { expectSame, expectSameReplay } from '../support/same-replay.js'
import { headerOfBytes, replayBytes } from '../support/plain-engine.mjs'

const RECORDINGS = fileURLToPath(new URL('../../../shared/data/sessions', import.meta.url))
const absent = !existsSync(RECORDINGS)
const names = absent ? [] : readdirSync(RECORDINGS).filter((name) => name.endsWith('.jsonl'))
const bytesOf = (name: string) => readFileSync(join(RECORDINGS, name))
const recording = names.length > 0 ? fc.constantFrom(...names).map(bytesOf) : fc.constant(Buffer.alloc(0))

test('recordings are available', ({ skip }) => {
  skip(absent, 'the folder ../shared/data/sessions is absent: nothing real to replay')
  expect(names.length).toBeGreaterThan(0)
})

describe.skipIf(absent)('real recordings', () => {
  test.each(names)('%s replays as in the plain engine, without a warning', async (name) => {
    const filePath = join(RECORDINGS, name)
    const result = await replaySession(filePath)
    expectSameReplay(result, replayBytes(bytesOf(name)))
    expect(result).toMatchObject({ ok: true, warnings: [] })
    expectSame(await readSessionHeader(filePath), headerOfBytes(bytesOf(name)))
  })

  test.prop([recording, fc.double({ min: 0, max: 1, noNaN: true })], runs(60))(
    'cut at any byte',
    async (bytes, share) => {
      const cut = bytes.subarray(0, Math.floor(share * bytes.length))
      const result = await replayOf(cut)
      expectSameReplay(result, replayBytes(cut))
      expect(result.warnings).toStrictEqual([])
    },
  )

  test.prop([damaged(recording, 12)], runs(60))('damaged anywhere', async (bytes) => {
    expectSameReplay(await replayOf(bytes), replayBytes(bytes))
  })

  test.prop([fc.array(recording, { minLength: 2, maxLength: 5 })], runs(20))(
    'written one after the other into one file',
    async (files) => {
      const bytes = Buffer.concat(files)
      expectSameReplay(await replayOf(bytes), replayBytes(bytes))
    },
  )
})
