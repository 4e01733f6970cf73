/** Properties of the recorder together with the replay: what was recorded is replayed, however it was recorded. */
import { readFileSync, statSync, truncateSync } from 'node:fs'
import { fc, test } from '../support/property'
import { afterEach, beforeEach, describe, expect, vi } from 'vitest'
import {
  type Content,
  type Recorder,
  lineText,
  linesOf,
  newRecorder,
  pathOf,
  readSessionHeader,
  recordsOf,
  replaySession,
  said,
} from '../support/recording'
import { expectSame } from '../support/same-replay'
import { anyEvents, anyItem, anyString, filledString, runs, severity } from '../support/session-arbitraries'

type Step = (recorder: Recorder) => void
interface Session {
  history: unknown[]
  sessionEvents: { severity: string; message: string }[]
  provider: string
  model: string
  workspaceDirs: string[]
}

/** A value after a round trip through JSON. */
const asJson = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T

async function recorded(steps: Step[]): Promise<string> {
  const recorder = newRecorder()
  for (const step of steps) step(recorder)
  await recorder.dispose()
  return pathOf(recorder)
}

async function replayOf(path: string) {
  const replayed = await replaySession<any>(path, 'a3f5c1')
  if (!replayed.ok) throw new Error(replayed.error)
  return replayed
}

// ---- One event of each kind, with its effect on a session -----------------------------------------

interface Act {
  name: string
  step: Step
  apply: (session: Session) => void
}

const content = anyItem.map(
  (item): Act => ({
    name: 'content',
    step: (r) => r.recordContent(item),
    apply: (s) => void s.history.push(asJson(item)),
  }),
)
const compressed = fc.tuple(anyItem, fc.nat()).map(
  ([item, count]): Act => ({
    name: 'compressed',
    step: (r) => r.recordCompressed(item, count),
    apply: (s) => void (s.history = [asJson(item)]),
  }),
)
const rewind = fc.oneof(fc.nat({ max: 4 }), fc.double({ min: 0, max: 4, noNaN: true }), fc.constant(1e6)).map(
  (count): Act => ({
    name: `rewind ${count}`,
    step: (r) => r.recordRewind(count),
    apply: (s) => void s.history.splice(Math.max(0, s.history.length - Math.ceil(count))),
  }),
)
const providerSwitch = fc.tuple(filledString, filledString).map(
  ([provider, model]): Act => ({
    name: 'provider_switch',
    step: (r) => r.recordProviderSwitch(provider, model),
    apply: (s) => void Object.assign(s, { provider, model }),
  }),
)
const sessionEvent = fc.tuple(severity, anyString).map(
  ([level, message]): Act => ({
    name: 'session_event',
    step: (r) => r.recordSessionEvent(level as 'info', message),
    apply: (s) => void s.sessionEvents.push({ severity: level, message }),
  }),
)
const directoriesChanged = fc.array(anyString, { maxLength: 3 }).map(
  (directories): Act => ({
    name: 'directories_changed',
    step: (r) => r.recordDirectoriesChanged(directories),
    apply: (s) => void (s.workspaceDirs = directories),
  }),
)
const custom = fc.tuple(filledString, fc.jsonValue()).map(
  ([type, payload]): Act => ({
    name: 'custom',
    step: (r) => r.enqueue(`x-${type}`, payload),
    apply: () => {},
  }),
)
const act = fc.oneof(
  { weight: 5, arbitrary: content },
  compressed,
  { weight: 2, arbitrary: rewind },
  providerSwitch,
  sessionEvent,
  directoriesChanged,
  custom,
)
/** Acts with a content somewhere, so that there is a file. */
const acts = fc
  .tuple(fc.array(act, { maxLength: 12 }), content, fc.array(act, { maxLength: 12 }))
  .map(([before, one, after]) => [...before, one, ...after])

function modelled(list: Act[]): Session {
  const session: Session = {
    history: [],
    sessionEvents: [],
    provider: 'anthropic',
    model: 'model-1',
    workspaceDirs: ['/home/ada/project'],
  }
  for (const { apply } of list) apply(session)
  return session
}

async function expectModelled(path: string, list: Act[]): Promise<void> {
  const { history, metadata, sessionEvents, lastSeq, eventCount } = await replayOf(path)
  const { provider, model, workspaceDirs, ...rest } = modelled(list)
  expectSame({ history, sessionEvents }, { history: rest.history, sessionEvents: rest.sessionEvents })
  expect(metadata).toMatchObject({ provider, model, workspaceDirs })
  expect([lastSeq, eventCount]).toEqual([list.length + 1, list.length + 1])
}

describe('values', () => {
  test.prop([fc.integer({ min: 1, max: 2500 }), fc.boolean()], runs(20))(
    'any depth that JSON.stringify supports',
    async (depth, arrays) => {
      let result: unknown = 'bottom'
      for (let i = 0; i < depth; i++) result = arrays ? [result] : { in: result }
      const item = { speaker: 'tool' as const, blocks: [], result } as unknown as Content
      const { history } = await replayOf(await recorded([(r) => r.recordContent(item)]))
      expect(JSON.stringify(history[0])).toBe(JSON.stringify(item))
    },
  )

  const config = fc.record({
    sessionId: filledString,
    projectHash: filledString,
    provider: anyString,
    model: anyString,
    workspaceDirs: fc.array(anyString, { maxLength: 4 }),
  })
  test.prop([config], runs(60))('any config is the metadata and the header', async (overrides) => {
    const recorder = newRecorder(overrides)
    recorder.recordContent(said('x'))
    await recorder.dispose()
    const replayed = await replaySession(pathOf(recorder), overrides.projectHash)
    expectSame(
      replayed.ok && replayed.metadata,
      { ...overrides, startTime: recordsOf(pathOf(recorder))[0]!.payload.startTime },
      { keyOrder: false },
    )
    expect(await readSessionHeader(pathOf(recorder))).toEqual(replayed.ok && replayed.metadata)
  })

  test.prop([filledString, filledString], runs(40))(
    'a session opens with its own project hash and with no other',
    async (mine, other) => {
      const recorder = newRecorder({ projectHash: mine })
      recorder.recordContent(said('x'))
      await recorder.dispose()
      expect((await replaySession(pathOf(recorder), mine)).ok).toBe(true)
      const foreign = await replaySession(pathOf(recorder), other)
      expect(foreign).toMatchObject(
        mine === other ? { ok: true } : { ok: false, error: `Project hash mismatch: expected ${other} got ${mine}` },
      )
    },
  )
})

describe('sessions', () => {
  test.prop([acts], runs(80))('any interleaving has the same result as a model', async (list) => {
    await expectModelled(await recorded(list.map(({ step }) => step)), list)
  })

  test.prop([acts, fc.array(fc.nat(), { maxLength: 5 })], runs(60))(
    'the same however often it is interrupted and resumed, with seqs that increase by one',
    async (list, cuts) => {
      const first = list.findIndex(({ name }) => name === 'content') + 1
      const at = [...new Set(cuts.map((cut) => first + (cut % (list.length - first + 1))))].sort((a, b) => a - b)
      const path = await recorded(list.slice(0, at[0]).map(({ step }) => step))
      for (const [i, from] of at.entries()) {
        const recorder = newRecorder()
        recorder.initializeForResume(path, (await replayOf(path)).lastSeq)
        for (const { step } of list.slice(from, at[i + 1])) step(recorder)
        await recorder.dispose()
      }
      await expectModelled(path, list)
      const records = recordsOf(path)
      expect(records.map((record) => record.seq)).toEqual(records.map((_, i) => i + 1))
      expect(records.filter((record) => record.type === 'session_start')).toHaveLength(1)
    },
  )

  test.prop([anyEvents], runs(60))(
    'whatever is enqueued, known, unknown or malformed, is one record in its place',
    async (events) => {
      const recorder = newRecorder()
      recorder.recordContent(said('x'))
      for (const [type, payload] of events) recorder.enqueue(type === '' ? 'empty' : type, payload)
      await recorder.dispose()
      const lines = linesOf(pathOf(recorder)).slice(2)
      expect(lines).toHaveLength(events.length)
      for (const [i, [type, payload]] of events.entries()) {
        expect(`${lines[i]}\n`).toBe(lineText(i + 3, JSON.parse(lines[i]!).ts, type === '' ? 'empty' : type, payload))
      }
      expect(await replayOf(pathOf(recorder))).toMatchObject({
        eventCount: events.length + 2,
        lastSeq: events.length + 2,
      })
    },
  )

  test.prop([acts, fc.nat(), fc.array(anyItem, { minLength: 1, maxLength: 4 })], runs(60))(
    'truncated at any byte after its first line, it resumes with every record before the cut',
    async (list, cut, more) => {
      const path = await recorded(list.map(({ step }) => step))
      const start = Buffer.byteLength(`${linesOf(path)[0]}\n`)
      truncateSync(path, start + (cut % (statSync(path).size - start + 1)))
      const survivors = readFileSync(path).filter((byte) => byte === 10).length - 1
      const before = await replayOf(path)
      // A record that lost only its newline is complete.
      const whole = before.lastSeq - 1
      expect([survivors, survivors + 1]).toContain(whole)
      const recorder = newRecorder()
      recorder.initializeForResume(path, before.lastSeq)
      for (const item of more) recorder.recordContent(item)
      await recorder.dispose()
      const after = await replayOf(path)
      expectSame(after.history, [...modelled(list.slice(0, whole)).history, ...more.map(asJson)])
      expect(after.lastSeq).toBe(before.lastSeq + more.length)
    },
  )
})

describe('calls in any order', () => {
  const call = fc.oneof(
    { weight: 6, arbitrary: fc.constant('enqueue' as const) },
    { weight: 1, arbitrary: fc.constantFrom('flush' as const, 'awaitedFlush' as const, 'turn' as const) },
    { weight: 1, arbitrary: fc.constantFrom('dispose' as const, 'forget' as const) },
  )
  test.prop([fc.array(call, { maxLength: 60 })], runs(60))(
    'enqueue, flush, dispose and a new recorder lose nothing and write nothing twice',
    async (calls) => {
      const path = await recorded([(r) => r.recordContent(said('x'))])
      const recorders: Recorder[] = []
      const promises: Promise<void>[] = []
      let sent = 0
      const resumed = (): Recorder => {
        const recorder = newRecorder()
        recorder.initializeForResume(path, 2 + sent)
        recorders.push(recorder)
        return recorder
      }
      let recorder = resumed()
      for (const name of calls) {
        if (name === 'enqueue') recorder.enqueue('note', { i: sent++ })
        if (name === 'flush') promises.push(recorder.flush())
        if (name === 'awaitedFlush') await recorder.flush()
        if (name === 'turn') await new Promise((resolve) => setImmediate(resolve))
        if (name === 'dispose') promises.push(recorder.dispose())
        if (name === 'dispose' || name === 'forget') recorder = resumed()
      }
      await Promise.all([...promises, ...recorders.map((each) => each.dispose())])
      const notes = recordsOf(path).slice(2)
      expect(notes.map((record) => record.payload.i).sort((a, b) => a - b)).toEqual(
        Array.from({ length: sent }, (_, i) => i),
      )
      for (const record of notes) expect(record.seq).toBe(record.payload.i + 3)
    },
  )
})

describe('with a stopped clock', () => {
  beforeEach(() => void vi.useFakeTimers({ now: Date.UTC(2026, 1, 11), toFake: ['Date'] }))
  afterEach(() => void vi.useRealTimers())

  test.prop([acts], runs(40))(
    'the same calls write the same bytes, all at once or with a flush after each',
    async (list) => {
      const atOnce = await recorded(list.map(({ step }) => step))
      const slow = newRecorder()
      for (const { step } of list) {
        step(slow)
        await slow.flush()
      }
      await slow.dispose()
      expect(readFileSync(pathOf(slow), 'utf8')).toBe(readFileSync(atOnce, 'utf8'))
    },
  )

  test.prop(
    [fc.array(fc.tuple(anyItem, fc.nat({ max: 5 }), anyString, filledString), { minLength: 1, maxLength: 6 })],
    runs(40),
  )('the methods and enqueue write the same', async (rows) => {
    const byMethod = await recorded(
      rows.flatMap(([item, count, text, provider]): Step[] => [
        (r) => r.recordContent(item),
        (r) => r.recordCompressed(item, count),
        (r) => r.recordRewind(count),
        (r) => r.recordProviderSwitch(provider, text),
        (r) => r.recordSessionEvent('error', text),
        (r) => r.recordDirectoriesChanged([text]),
      ]),
    )
    const byHand = await recorded(
      rows.flatMap(([item, count, text, provider]): Step[] => [
        (r) => r.enqueue('content', { content: item }),
        (r) => r.enqueue('compressed', { summary: item, itemsCompressed: count }),
        (r) => r.enqueue('rewind', { itemsRemoved: count }),
        (r) => r.enqueue('provider_switch', { provider, model: text }),
        (r) => r.enqueue('session_event', { severity: 'error', message: text }),
        (r) => r.enqueue('directories_changed', { directories: [text] }),
      ]),
    )
    expect(readFileSync(byMethod, 'utf8')).toBe(readFileSync(byHand, 'utf8'))
  })
})
