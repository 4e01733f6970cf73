// What holds for any session: laws of the replay, stated without a second engine wherever that is possible.

import { describe, expect } from 'vitest'
import { fc, test } from '../support/property'
import { replaySession } from '../../index.js'
import { PROJECT_HASH, envelope, file, replayOf, replayedOf, session, writeSession } from '../support/session-file.js'
import type { Event } from '../support/session-file.js'
import { KNOWN_TYPES, anyEvents, anyItem, runs } from '../support/session-arbitraries.js'
import { expectSameReplay } from '../support/same-replay.js'
import { replayBytes } from '../support/plain-engine.mjs'

describe('warnings and counts', () => {
  test.prop([anyEvents, anyItem, fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })], runs(150))(
    'a torn tail, cut at any byte, changes nothing: neither counts nor warnings',
    async (events, last, share) => {
      const whole = Buffer.from(session(...events))
      const record = Buffer.from(envelope(events.length + 2, ['content', { content: last }]))
      const torn = record.subarray(0, Math.floor(share * record.length))
      expectSameReplay(await replayOf(Buffer.concat([whole, torn])), await replayOf(whole))
    },
  )

  test.prop(
    [
      anyEvents,
      fc.array(fc.tuple(fc.nat(), fc.constantFrom('', ' \t', '\r', '\ufeff', '\u2028', 'null', ' null ')), {
        maxLength: 6,
      }),
    ],
    runs(80),
  )('blank lines and null change line numbers and nothing else', async (events, blanks) => {
    const lines: (Event | string)[] = [...events]
    for (const [at, blank] of blanks) lines.splice(at % (lines.length + 1), 0, blank)
    const numberless = (result: Awaited<ReturnType<typeof replayedOf>>) => ({
      ...result,
      warnings: result.warnings.map((text) => text.replace(/^Line \d+|line \d+/, 'line')),
    })
    expectSameReplay(numberless(await replayedOf(session(...lines))), numberless(await replayedOf(session(...events))))
  })

  const knownType = fc.constantFrom(...KNOWN_TYPES)
  test.prop(
    [fc.array(fc.tuple(knownType, fc.anything({ withBigInt: false }).filter(isWritable)), { maxLength: 20 })],
    runs(150),
  )('random payloads for known types replay as in the plain engine, even on line 1', async (events) => {
    const text = session(...events)
    expectSameReplay(await replayOf(text), replayBytes(Buffer.from(text)))
    const headless = file(...events)
    expectSameReplay(await replayOf(headless), replayBytes(Buffer.from(headless)))
  })
})

describe('the replay as a function', () => {
  test.prop([anyEvents], runs(60))(
    'replayed twice, even at the same time: the same result, in separate objects',
    async (events) => {
      const filePath = writeSession(session(...events))
      const [one, two] = await Promise.all([replaySession(filePath), replaySession(filePath)])
      expectSameReplay(one, two)
      if (one.ok && two.ok) expect(one.history.every((entry, at) => entry !== two.history[at])).toBe(true)
      expectSameReplay(await replaySession(filePath), one)
    },
  )

  test.prop([anyEvents, fc.constantFrom('\r\n', ' \n', '\t\r\n')], runs(60))(
    'line ends and white space around records have no effect',
    async (events, end) => {
      const text = session(...events)
      expectSameReplay(await replayOf(text.replaceAll('\n', end)), await replayOf(text))
    },
  )

  test.prop([anyEvents], runs(60))('a byte order mark and a missing last newline have no effect', async (events) => {
    const text = session(...events)
    expectSameReplay(await replayOf(`\ufeff${text.slice(0, -1)}`), await replayOf(text))
  })

  const throughSeq = fc.oneof(fc.constant(undefined), fc.integer({ min: 0, max: 30 }), fc.double({ noNaN: true }))
  test.prop([anyEvents, fc.record({ auditTrail: fc.boolean(), strict: fc.boolean(), throughSeq })], runs(500))(
    'any session: the same as in the plain engine',
    async (events, options) => {
      const text = session(...events)
      expectSameReplay(
        await replayOf(text, PROJECT_HASH, options),
        replayBytes(Buffer.from(text), PROJECT_HASH, options),
      )
    },
  )
})

function isWritable(value: unknown): boolean {
  try {
    JSON.stringify(value)
    return true
  } catch {
    return false
  }
}
