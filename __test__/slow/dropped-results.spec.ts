// Results that are dropped do not pile up: the engine knows how much memory their texts take.

import { beforeAll, describe, expect, test } from 'vitest'
import { childReport } from '../support/processes.js'
import { content, sessionOf, writeSession } from '../support/session-file.js'

/** A session of a few large items, so that hardly any of its memory is in the engine's own heap. */
const ITEM = 60_000
const ITEMS = 800
const TIMES = 30
const MIB = 1024 * 1024

/** What may be alive beyond what plain JavaScript needs, in MiB. Without collections it would be all that was read: over a gigabyte. */
const MORE_THAN_PLAIN = 320

describe('results that are dropped', () => {
  let path: string
  let plain: number

  const peakOf = async (how: string, times = TIMES): Promise<number> =>
    (
      await childReport<{ peak: number }>('child-dropped-results.mjs', [path, String(times), how], {
        timeoutMs: 110_000,
      })
    ).peak

  beforeAll(async () => {
    const text = 'words of a tool '.repeat(ITEM / 16)
    path = writeSession(sessionOf(Array.from({ length: ITEMS }, (_, at) => content(`${at} ${text}`, 'tool'))))
    plain = await peakOf('readline', 5)
  })

  test('all together they are much larger than what may be alive', () => {
    expect((ITEM * ITEMS * TIMES) / MIB).toBeGreaterThan(1.5 * (plain + MORE_THAN_PLAIN))
  })

  test.each([
    ['of replays', 'replay'],
    ['of replays in a worker', 'worker'],
    ['of iterations over an opened session', 'items'],
  ])('%s are collected while others are made', async (_, how) => {
    expect(await peakOf(how)).toBeLessThan(plain + MORE_THAN_PLAIN)
  })
})
