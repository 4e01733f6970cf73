// What holds for any session: laws of the replay, stated without a second engine wherever that is possible.
import { describe, expect } from 'vitest'
import { fc, test } from '../support/property'
import { replaySession, openSession, readSessionHeader } from '../../index.js'
import { PROJECT_HASH, envelope, file, replayOf, session, writeSession, type Event } from '../support/session-file'
import {
  KNOWN_TYPES,
  anyEvents,
  anyItem,
  runs,
  editEvent,
  malformedEvent,
  unknownEvent,
} from '../support/session-arbitraries'
import { expectSameReplay, expectSame } from '../support/same-replay'
import { replayBytes, headerOfBytes } from '../support/plain-engine.mjs'
import { writeFileSync, existsSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { damaged } from '../support/json-arbitraries'

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

const edits = fc.array(
  fc.oneof(
    { weight: 12, arbitrary: editEvent },
    { weight: 1, arbitrary: malformedEvent },
    { weight: 1, arbitrary: unknownEvent },
  ),
  { maxLength: 60 },
)

/** Lines whose `v` and `seq` may be those of no version and no record. */
const oddLine = fc
  .tuple(
    editEvent,
    fc.constantFrom<unknown>(1, 1, 1, 1, 1, 2, 2, 0, 3, '1', null, true, [1, [null]], {}, -0, undefined),
    fc.constantFrom<unknown>(undefined, 1, 5, -1, '7', 0.5),
  )
  .map(([[type, payload], v, seq]) => JSON.stringify({ v, ...(seq !== undefined && { seq }), type, payload }))

describe('edits of the history', () => {
  test.prop(
    [
      edits,
      fc.array(oddLine, { maxLength: 3 }),
      edits,
      fc.option(fc.nat({ max: 62 }), { nil: undefined }),
      fc.boolean(),
    ],
    runs(500),
  )(
    'replay as in the plain engine, also among lines of other versions and without numbers, and up to any number',
    async (before, odd, after, throughSeq, strict) => {
      const text = session(...before, ...odd, ...after)
      const options = { strict, throughSeq }
      expectSameReplay(
        await replayOf(text, PROJECT_HASH, options),
        replayBytes(Buffer.from(text), PROJECT_HASH, options),
      )
    },
  )

  test.prop([edits, fc.integer({ min: -12, max: 12 }), fc.integer({ min: -12, max: 12 }), fc.boolean()], runs(80))(
    'are seen by a session that is read in pages',
    async (events, from, to, strict) => {
      const text = session(...events)
      const whole = replayBytes(Buffer.from(text), undefined, { strict })
      const opened = await openSession(writeSession(text), undefined, { strict })
      if (!opened.ok || !whole.ok) throw new Error('a session replays')
      expectSame(await opened.session.items(from, to), whole.history.slice(from, to))
      expectSame(opened.session.historyLength, whole.history.length)
      expectSame(opened.session.semanticMediaPurgeFrontier, whole.semanticMediaPurgeFrontier)
      expectSame(opened.session.unknownEvents, whole.unknownEvents)
      opened.session.close()
    },
  )

  test.prop([fc.array(fc.tuple(editEvent, fc.nat()), { minLength: 1, maxLength: 30 })], runs(15))(
    'replay as in the plain engine in a file of several parts',
    async (events) => {
      // Unknown events of a megabyte, which a replay skips, drive the edits apart.
      const filler: Event = ['filler', 'x'.repeat(1 << 20)]
      const lines = events.flatMap(([event, gap]) => (gap % 3 === 0 ? [event, filler] : [event]))
      const text = session(...lines)
      const filePath = writeSession('')
      writeFileSync(filePath, text)
      expectSameReplay(
        await replaySession(filePath, undefined, { strict: true }),
        replayBytes(Buffer.from(text), undefined, { strict: true }),
      )
    },
  )
})

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
