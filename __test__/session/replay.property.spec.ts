// What holds for any session: laws of the replay, stated without a second engine wherever that is possible.

import { describe, expect } from 'vitest'
import { fc, test } from '../support/property'
import { replaySession } from '../../index.js'
import type { IContent } from '../../index.js'
import {
  PROJECT_HASH,
  START_METADATA,
  compressed,
  content,
  envelope,
  file,
  replayOf,
  replayedOf,
  rewind,
  session,
  textsOf,
  writeSession,
  written,
} from '../support/session-file.js'
import type { Event } from '../support/session-file.js'
import {
  KNOWN_TYPES,
  anyEvent,
  anyEvents,
  anyItem,
  anyString,
  compressedEvent,
  contentEvent,
  malformedEvent,
  rewindEvent,
  runs,
  unknownEvent,
} from '../support/session-arbitraries.js'
import { expectSame, expectSameReplay } from '../support/same-replay.js'
import { replayBytes } from '../support/plain-engine.mjs'

const texts = fc.array(anyString, { maxLength: 20 })
const contentsOf = (list: readonly string[]) => list.map((text) => content(text))
const malformedWarning =
  /^Line \d+: malformed [a-z_]+(?: title| event(?: \(missing (?:checkpointId|name)\))?)?, skipping$/

describe('history', () => {
  test.prop([texts], runs(100))('n contents give n items, in order', async (list) => {
    const { history } = await replayedOf(session(...contentsOf(list)))
    expect(textsOf(history)).toStrictEqual(list)
  })

  test.prop([texts, anyString, texts], runs(100))(
    'a compression leaves its summary and the contents after it',
    async (before, summary, after) => {
      const { history } = await replayedOf(
        session(...contentsOf(before), compressed(summary, before.length), ...contentsOf(after)),
      )
      expect(textsOf(history)).toStrictEqual([summary, ...after])
    },
  )

  test.prop([fc.array(texts, { minLength: 1, maxLength: 5 }), texts], runs(60))(
    'the last of any number of compressions counts',
    async (parts, after) => {
      const events = parts.flatMap((part, at) => [...contentsOf(part), compressed(`summary ${at}`)])
      const { history } = await replayedOf(session(...events, ...contentsOf(after)))
      expect(textsOf(history)).toStrictEqual([`summary ${parts.length - 1}`, ...after])
    },
  )

  test.prop([texts, fc.nat({ max: 30 })], runs(100))(
    'rewind(n) on m items leaves max(0, m − n), the first ones',
    async (list, count) => {
      const { history } = await replayedOf(session(...contentsOf(list), rewind(count)))
      expect(textsOf(history)).toStrictEqual(list.slice(0, Math.max(0, list.length - count)))
    },
  )

  test.prop([texts, fc.double({ min: 0, max: 25, noNaN: true })], runs(60))(
    'a rewind by a fraction rounds up',
    async (list, count) => {
      const { history } = await replayedOf(session(...contentsOf(list), rewind(count)))
      expect(history).toHaveLength(Math.max(0, list.length - Math.ceil(count)))
    },
  )

  test.prop([texts, fc.nat({ max: 5 }), fc.nat({ max: 5 })], runs(60))(
    'two rewinds are the same as one of their sum',
    async (list, first, second) => {
      const apart = await replayedOf(session(...contentsOf(list), rewind(first), rewind(second)))
      const together = await replayedOf(session(...contentsOf(list), rewind(first + second)))
      expectSame(apart.history, together.history)
    },
  )

  test.prop([anyEvents, anyEvents, anyItem], runs(60))(
    'events before a compression do not affect the history',
    async (before, after, summary) => {
      const compression: Event = ['compressed', { summary, itemsCompressed: 1 }]
      const long = await replayedOf(session(...before, compression, ...after))
      const short = await replayedOf(session(compression, ...after))
      expectSame(long.history, short.history)
    },
  )

  test.prop([fc.array(anyItem, { maxLength: 5 })], runs(200))(
    'any item is replayed deep-equal, including key order',
    async (items) => {
      const { history, warnings } = await replayedOf(
        session(...items.map((entry): Event => ['content', { content: entry }])),
      )
      expectSame(history, written(items))
      expect(warnings).toStrictEqual([])
    },
  )

  const operation = fc.oneof(
    { weight: 4, arbitrary: contentEvent },
    { weight: 1, arbitrary: compressedEvent },
    { weight: 2, arbitrary: rewindEvent },
  )
  test.prop([fc.array(operation, { maxLength: 40 })], runs(150))(
    'any interleaving of content, compressed and rewind has the same effect as on a list',
    async (events) => {
      let model: unknown[] = []
      for (const [type, payload] of written(events) as [
        string,
        { content: unknown; summary: unknown; itemsRemoved: number },
      ][]) {
        if (type === 'content') model.push(payload.content)
        else if (type === 'compressed') model = [payload.summary]
        else model = model.slice(0, Math.max(0, model.length - Math.ceil(payload.itemsRemoved)))
      }
      const result = await replayedOf(session(...events))
      expectSame(result.history, model)
      expect(result.warnings).toStrictEqual([])
    },
  )

  test.prop([anyEvents], runs(100))('every item of any history has a speaker', async (events) => {
    const { history } = await replayedOf<IContent>(session(...events))
    expect(history.every(({ speaker }) => typeof speaker === 'string' && speaker.length > 0)).toBe(true)
  })
})

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

  test.prop(
    [anyEvents, fc.nat(), fc.constantFrom('{', 'corrupt', '{"v":1,"seq":3,"type":"cont', '\u0000', '"\\u12"')],
    runs(80),
  )(
    'a corrupt line anywhere but at the end is reported with its number and affects nothing else',
    async (events, at, corrupt) => {
      const lines: (Event | string)[] = [...events, content('end')]
      const place = at % (events.length + 1)
      lines.splice(place, 0, corrupt)
      const found = await replayedOf(session(...lines))
      expect(found.warnings).toContain(`Line ${place + 2}: failed to parse JSON`)
      expectSame(found.history, (await replayedOf(session(...events, content('end')))).history)
      expect(found.eventCount).toBe(events.length + 2)
    },
  )

  test.prop([fc.array(malformedEvent, { minLength: 1, maxLength: 20 })], runs(150))(
    'payloads that do not fit: each is reported, none has an effect',
    async (events) => {
      const result = await replayedOf(session(content('a'), ...events, content('b')))
      expect(textsOf(result.history)).toStrictEqual(['a', 'b'])
      expect(result.metadata).toStrictEqual(START_METADATA)
      expect(result.sessionEvents).toStrictEqual([])
      expect(result.warnings.slice(0, events.length).every((text) => malformedWarning.test(text))).toBe(true)
      expect(result.warnings[events.length]).toBe(`Replay: ${events.length} malformed events skipped`)
    },
  )

  test.prop([fc.array(unknownEvent, { minLength: 1, maxLength: 20 })], runs(80))(
    'unknown types: each is named, none has an effect or is malformed',
    async (events) => {
      const result = await replayedOf(session(content('a'), ...events, content('b')))
      expect(textsOf(result.history)).toStrictEqual(['a', 'b'])
      expect(result.warnings).toStrictEqual(
        events.map(([type], at) => `Line ${at + 3}: unknown event type '${type}', skipping`),
      )
    },
  )

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

  test.prop(
    [
      fc.oneof(
        anyEvents.map((events) => session(...events)),
        anyEvents.map((events) => file(...events)),
        anyString,
      ),
    ],
    runs(100),
  )('warnings is always an array of strings', async (text) => {
    const { warnings } = await replayOf(text)
    expect(Array.isArray(warnings) && warnings.every((warning) => typeof warning === 'string')).toBe(true)
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

  test.prop([anyEvents, fc.boolean(), fc.boolean()], runs(300))(
    'any session: the same as in the plain engine',
    async (events, auditTrail, strict) => {
      const text = session(...events)
      expectSameReplay(
        await replayOf(text, PROJECT_HASH, { auditTrail, strict }),
        replayBytes(Buffer.from(text), PROJECT_HASH, { auditTrail, strict }),
      )
    },
  )

  test.prop([fc.array(anyEvent, { maxLength: 8 })], runs(60))(
    'without its session_start no session replays',
    async (events) => {
      const result = await replayOf(file(...events.filter(([type]) => type !== 'session_start'), content('a')))
      expect(result).toMatchObject({ ok: false, error: 'Missing or corrupt session_start event' })
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
