// Properties of comparisons: equal executions are equal, a change is found where it is, and the result is stable.

import { readFileSync, writeFileSync } from 'node:fs'
import { describe, expect } from 'vitest'
import { fc, test } from '../support/property'
import { diff, diffToText, replaySession, traceAncestors } from '../../index.js'
import { rechained } from '../support/plain-run-engine.mjs'
import { PlainRun } from '../support/plain-run-engine.mjs'
import type { Payload, PlainEvent } from '../support/plain-run-engine.mjs'
import { diffRuns, diffSessions, parted } from '../support/diffing.js'
import { anyRun } from '../support/run-arbitraries.js'
import { freshPath, logOf, withRun } from '../support/run-directory.js'
import { anyEvents, contentEvent, runs } from '../support/session-arbitraries.js'
import { session, sessionOf, writeSession } from '../support/session-file.js'

/** The same run recorded once more, under another id and at another time. */
function again(run: PlainRun): PlainRun {
  const twin = new PlainRun({
    runId: `${JSON.parse(run.events[0]!.payload).runId} again`,
    workflow: run.workflow,
    scheduler: JSON.parse(run.events[0]!.payload).scheduler,
    capabilities: JSON.parse(run.events[0]!.payload).capabilities,
    tsOf: (time) => new Date(time).toISOString(),
  })
  for (const { kind, node, parent, payload } of run.events.slice(1)) {
    twin.append(kind as never, JSON.parse(payload) as Payload, { node, parent })
  }
  return twin
}

/** A log with the payload of an event changed, and the chain recomputed. */
function withPayload(run: PlainRun, at: number, change: (payload: Payload) => Payload): string {
  const events = run.events.map((event, time): PlainEvent => {
    if (time !== at) return event
    return { ...event, payload: JSON.stringify(change(JSON.parse(event.payload) as Payload)) }
  })
  return rechained(events)
    .map((line) => `${line}\n`)
    .join('')
}

describe('runs', () => {
  test.prop([anyRun()], runs(60))('recorded twice are equal', async (run) => {
    expect(await diffRuns(run, again(run), { full: true, heartbeats: true })).toBeNull()
  })

  test.prop([anyRun(), fc.nat()], runs(60))(
    'with one different output diverge at exactly that event',
    async (run, pick) => {
      const outputs = run.events.filter(({ payload }) => payload.includes('"outputHash"'))
      fc.pre(outputs.length > 0)
      const { time, kind } = outputs[pick % outputs.length]!
      const twin = again(run)
      const log = withPayload(twin, time, (payload) => ({ ...payload, outputHash: 'another' }))
      await withRun(run, (left) =>
        withRun(
          twin,
          async (right) => {
            const found = parted(await diff(left, right, { full: true }))
            expect(found).toMatchObject({ divergence_event: time, kind: 'EventMismatch' })
            expect(found.fields.map(({ path }) => path)).toStrictEqual(['/payload/outputHash'])
            expect(found.likely_cause).toBe(kind === 'ToolCompleted' ? 'ExternalDataChanged' : 'Unknown')
            expect(found.edits).toStrictEqual([{ op: 'change', left: time, right: time, fields: found.fields }])
            expect(JSON.stringify(await diff(left, right, { full: true }))).toBe(JSON.stringify(found))
            const { chain } = await traceAncestors(left, `evt_${time}`)
            expect(found.ancestors.left).toStrictEqual(chain)
            expect(await diff(left, right, { ignore: ['/payload/outputHash'] })).toBeNull()
          },
          log,
        ),
      )
    },
  )

  test.prop([anyRun(), fc.nat()], runs(40))('have ancestries that follow the recorded parents', async (run, pick) => {
    const time = pick % run.time
    const expected: number[] = []
    for (let at = run.events[time]!.parent; at !== null; at = run.events[at]!.parent) expected.push(at)
    await withRun(run, async (directory) => {
      const { chain } = await traceAncestors(directory, `evt_${time}`)
      expect(chain.map(({ event_id, kind }) => [event_id, kind])).toStrictEqual(
        expected.map((at) => [`evt_${at}`, run.events[at]!.kind]),
      )
    })
  })

  test.prop([anyRun(), fc.nat(), fc.nat({ max: 255 })], runs(60))(
    'give a result or an error if a byte is changed',
    async (run, pick, byte) => {
      const path = run.write(freshPath())
      const log = readFileSync(logOf(path))
      log[pick % log.length] = byte
      const other = freshPath()
      again(run).write(other)
      writeFileSync(logOf(path), log)
      const found = await diff(path, other).catch((error: Error & { code: string }) => error)
      if (found instanceof Error) expect((found as Error & { code: string }).code).toMatch(/^[A-Z][A-Za-z]+$/)
      else expect(typeof diffToText(found)).toBe('string')
    },
  )
})

describe('sessions', () => {
  test.prop([anyEvents], runs(60))('are equal to themselves, whatever they contain', async (events) => {
    const text = sessionOf(events)
    expect(await diffSessions(text, text, { full: true })).toBeNull()
  })

  test.prop([anyEvents, fc.nat(), contentEvent], runs(60))(
    'with one event inserted differ in one insertion',
    async (events, pick, extra) => {
      const at = pick % (events.length + 1)
      const marked = [extra[0], { ...(extra[1] as object), marker: 'nobody else has this' }] as const
      const [left, right] = [session(...events), session(...events.slice(0, at), marked, ...events.slice(at))]
      const found = parted(await diffSessions(left, right, { full: true }))
      expect(found.divergence_event).toBe(at + 1)
      expect(found.edits!.filter(({ op }) => op === 'insert')).toHaveLength(1)
      expect(found.edits!.filter(({ op }) => op === 'delete')).toHaveLength(0)
    },
  )

  test.prop([anyEvents, anyEvents], runs(60))(
    'differ in insertions and deletions that account for their numbers of events',
    async (left, right) => {
      const paths = [writeSession(sessionOf(left)), writeSession(sessionOf(right))] as const
      const counts = await Promise.all(paths.map((path) => replaySession(path)))
      const found = await diff(...paths, { full: true })
      const [one, other] = counts.map((result) => (result.ok ? result.eventCount : -1))
      if (found === null) {
        expect(one).toBe(other)
        return
      }
      const inserted = found.edits!.filter(({ op }) => op === 'insert').length
      const deleted = found.edits!.filter(({ op }) => op === 'delete').length
      expect(other! - one!).toBe(inserted - deleted)
    },
  )
})
