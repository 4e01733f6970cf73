// Files of format version 1 as earlier releases wrote them, with the replay that they must always have.
// The plain engine is checked too: it is the reference of the other tests.

import { readFileSync, readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { join } from 'node:path'
import { describe, expect } from 'vitest'
import { fc, test } from '../support/property'
import { readSessionHeader, replaySession } from '../../index.js'
import type { ReplayResult } from '../../index.js'
import { expectSame, expectSameReplay } from '../support/same-replay.js'
import { runs } from '../support/session-arbitraries.js'
import { replayOf, writeSession } from '../support/session-file.js'
import { headerOfBytes, replayBytes, replayFileWithReadline } from '../support/plain-engine.mjs'

const FIXTURES = fileURLToPath(new URL('../fixtures/session/v1', import.meta.url))
const CASES = ['new-session', 'resumed', 'with-compression', 'several-resumes', 'resume-compression-resume']

test('every fixture has its test', () => {
  expect(readdirSync(FIXTURES).sort()).toStrictEqual([...CASES].sort())
})

describe.each(CASES)('%s', (name) => {
  const filePath = join(FIXTURES, name, 'session.jsonl')
  const expected = {
    // Members that were added to results later.
    ...{ sequenceCorrupt: false, checkpoints: [] },
    ...(JSON.parse(readFileSync(join(FIXTURES, name, 'expected.json'), 'utf8')) as ReplayResult),
  } as ReplayResult

  test('replays to what was recorded, and has the header of its session', async () => {
    expectSameReplay(await replaySession(filePath), expected)
    expect(expected.ok && (await readSessionHeader(filePath))?.sessionId).toBe(
      expected.ok && expected.metadata.sessionId,
    )
  })

  test('replays to the same in the plain engine', async () => {
    expectSameReplay(replayBytes(readFileSync(filePath)), expected)
    expectSameReplay(await replayFileWithReadline(filePath), expected)
  })

  test.prop([fc.double({ min: 0, max: 1, noNaN: true })], runs(25))(
    'truncated at any byte, it replays as in the plain engine, and so does its header',
    async (share) => {
      const whole = readFileSync(filePath)
      const bytes = whole.subarray(0, Math.floor(share * whole.length))
      expectSameReplay(await replayOf(bytes), replayBytes(bytes))
      expectSame(await readSessionHeader(writeSession(bytes)), headerOfBytes(bytes))
    },
  )
})
