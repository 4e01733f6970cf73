// The data of a run's page, and the states that the page builds, compared with the engine.
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect } from 'vitest'
import { exportBundle, readRunEvents, replayRun } from '../../index.js'
import { GOLDEN_RUN } from '../support/command-line'
import { fc, test } from '../support/property'
import { anyRun } from '../support/run-arbitraries.js'
import { withRun } from '../support/run-directory.js'
import { runs } from '../support/session-arbitraries.js'
import { freshFile, part, viewModule } from '../support/view-page'

const { KINDS } = part('run/kinds')
const { gather } = part('run/gather')

const { States, shownState, engineState } = await viewModule('run/state')
const { taskBars } = await viewModule('run/bars')

type Column = Int8Array | Int16Array | Int32Array | Float64Array

/** The columns as the page decodes them. */
function columnsOf(table: any): Record<string, Column> {
  const columns = Object.entries<[8 | 16 | 32 | 64, string]>(table.columns.encoded()).map(([name, [bits, base64]]) => {
    const { buffer } = Uint8Array.from(Buffer.from(base64, 'base64'))
    return [name, new { 8: Int8Array, 16: Int16Array, 32: Int32Array, 64: Float64Array }[bits](buffer)]
  })
  return Object.fromEntries(columns)
}

/** The events as the page has them. */
function pageRun({ table, initial }: any): any {
  const { nodes, workers, statuses, startedWorkers, first } = table.columns
  const columns = columnsOf(table)
  return {
    columns,
    nodes: nodes.list,
    workers: workers.list,
    statuses: statuses.list,
    startedWorkers,
    initial,
    length: table.length,
    first,
    kindOf: (event: number) => KINDS[columns.kind[event]],
  }
}

const source = (at: string) => ({ kind: 'run', at, log: join(at, 'events.cath-log'), given: at, size: 0 })

/** Sorts the parts that have no defined order. */
const sorted = (shown: any) => ({
  ...shown,
  status: [...shown.status],
  attempt: [...shown.attempt],
  workers: shown.workers
    .map((worker: any) => ({ ...worker, active: [...worker.active].sort() }))
    .sort((a: any, b: any) => (a.id < b.id ? -1 : 1)),
})

async function expectStates(at: string, events: number[]): Promise<void> {
  const run = pageRun(await gather(source(at)))
  const states = new States(run)
  for (const event of events.filter((each) => each < run.length)) {
    const replay = await replayRun(at, { until: run.first + event, verify: 'none' })
    const { coordinator, workers } = replay.state!
    const engine = engineState(run, {
      run: coordinator.run,
      nodeStates: coordinator.nodeStates,
      pendingTasks: coordinator.pendingTasks,
      workers,
    })
    expect(sorted(shownState(run, states.after(event))), `after event ${event}`).toEqual(sorted(engine))
  }
}

describe('the state that the page shows', () => {
  test('is that of the engine after every event of the golden run', async () => {
    await expectStates(
      GOLDEN_RUN,
      Array.from({ length: 268 }, (_, at) => at),
    )
  })

  test.prop([fc.array(fc.nat(267), { minLength: 1, maxLength: 12 })], runs(10))(
    'is that of the engine in whatever order events are selected',
    async (events) => {
      await expectStates(GOLDEN_RUN, events)
    },
  )

  test.prop([anyRun()], runs(25))('is that of the engine after every event of any run', async (run) => {
    await withRun(run, (directory) => expectStates(directory, [...run.lines.keys()]))
  })

  test('is that of the engine in a partial bundle', async () => {
    const partial = freshFile('partial.cath-bundle')
    await exportBundle(GOLDEN_RUN, partial, { fromSnapshot: 'latest' })
    const { table } = await gather(source(partial))
    expect(table.columns.first).toBeGreaterThan(0)
    await expectStates(
      partial,
      Array.from({ length: table.length }, (_, at) => at),
    )
  })
})

describe('the events in the page', () => {
  test('are those of the log: kinds, nodes, parents and times', async () => {
    const { table } = await gather(source(GOLDEN_RUN))
    const columns = columnsOf(table)
    let [event, clock] = [0, table.columns.start]
    for await (const { logicalTime, kind, node, parent, ts } of readRunEvents(GOLDEN_RUN)) {
      clock += columns.at[event]
      const found = [
        KINDS[columns.kind[event]],
        clock,
        columns.parent[event] === 0 ? null : `evt_${logicalTime - columns.parent[event]}`,
      ]
      expect(found).toEqual([kind, Date.parse(ts), parent])
      if (node !== null) expect(table.columns.nodes.list[columns.node[event]]).toBe(node)
      event++
    }
    expect(event).toBe(table.length)
  })

  test('end before a line that is not an event, which is reported', async () => {
    const at = freshFile('damaged')
    cpSync(GOLDEN_RUN, at, { recursive: true })
    const log = join(at, 'events.cath-log')
    const lines = readFileSync(log, 'utf8').split(/(?<=\n)/)
    writeFileSync(log, [...lines.slice(0, 100), '{}\n', ...lines.slice(100)].join(''))
    const { table, problem, verification } = await gather(source(at))
    expect(table.length).toBe(100)
    expect(problem).toEqual({ message: "An event has no field 'v'", time: 100 })
    expect(verification.ok).toBe(false)
    writeFileSync(log, '{}\n')
    await expect(gather(source(at))).rejects.toThrow("An event has no field 'v'")
  })

  test('keep the latest payloads while there is room', async () => {
    const { table } = await gather(source(GOLDEN_RUN), { limits: { bytes: 5000 } })
    const { from, lines } = table.payloads()
    expect(from).toBeGreaterThan(200)
    expect(lines.length).toBeGreaterThan(5)
    expect(from + lines.length).toBe(268)
    expect(lines.join('').length).toBeLessThanOrEqual(5000)
    const kept: unknown[] = []
    for await (const { payload } of readRunEvents(GOLDEN_RUN, { from })) kept.push(payload)
    expect(lines.map((line: string) => JSON.parse(line)[0])).toEqual(kept)
  })

  test('have a bar for each assignment, with its end', async () => {
    const run = pageRun(await gather(source(GOLDEN_RUN)))
    const bars = taskBars(run)
    const count = (kind: string) => run.columns.kind.filter((each: number) => KINDS[each] === kind).length
    expect(bars).toHaveLength(count('TaskAssigned'))
    expect(bars.filter(({ end }: any) => end === 'rejected')).toHaveLength(count('TaskRejected'))
    expect(bars.filter(({ end }: any) => end === 'failed').length).toBeGreaterThan(0)
    expect(
      bars.every(({ from, start, to }: any) => from <= to && (start === -1 || (from < start && start <= to))),
    ).toBe(true)
  })
})
