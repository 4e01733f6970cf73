// The types of runs, checked by the compiler: nothing here is executed.
import { describe, expectTypeOf, test } from 'vitest'

import {
  compileWorkflow,
  readRunEvents,
  replayRun,
  verifyRun,
  type Check,
  type CoordinatorState,
  type Progress,
  type RunError,
  type RunEvent,
  type RunEventKind,
  type RunReplayOptions,
  type RunReplayResult,
  type RunState,
  type RunVerification,
  type WorkerState,
  type Workflow,
} from '../../index.js'

describe('a replay', () => {
  test('narrows on ok', async () => {
    const result = await replayRun('run')
    if (result.ok) {
      expectTypeOf(result.state).toEqualTypeOf<RunState>()
      expectTypeOf(result.fromSnapshot).toEqualTypeOf<string | null>()
      expectTypeOf(result).not.toHaveProperty('error')
    } else {
      expectTypeOf(result.error).toEqualTypeOf<RunError>()
      expectTypeOf(result.state).toEqualTypeOf<RunState | null>()
    }
    expectTypeOf(result.warnings).toEqualTypeOf<string[]>()
  })

  test('matches the specification', () => {
    type Specified =
      | {
          ok: true
          state: RunState
          eventCount: number
          fromSnapshot: string | null
          metrics: { events: number; bytes: number; seconds: number }
          warnings: string[]
        }
      | { ok: false; error: RunError; state: RunState | null; warnings: string[] }
    expectTypeOf<RunReplayResult>().toExtend<Specified>()
    expectTypeOf<Specified>().toExtend<RunReplayResult>()
    expectTypeOf<{
      code: string
      message: string
      time?: number
      eventId?: string
      expected?: string
      found?: string
    }>().toExtend<RunError>()
  })

  test('takes the documented options', () => {
    const { signal } = new AbortController()
    const onProgress = (progress: Progress) => void progress.bytes
    expectTypeOf(replayRun).toBeCallableWith('run', {
      fromSnapshot: 'latest',
      until: 7,
      verify: 'full',
      trustedKeys: [],
      signal,
      onProgress,
    })
    expectTypeOf(replayRun).toBeCallableWith('run', {
      fromSnapshot: 'snap_7',
      verify: undefined,
    } satisfies RunReplayOptions)
    expectTypeOf(verifyRun).toBeCallableWith('run', { trustedKeys: ['pem'], signal, onProgress })
    // @ts-expect-error no such depth
    void replayRun('run', { verify: 'some' })
    // @ts-expect-error a verification always covers the whole run
    void verifyRun('run', { until: 7 })
  })
})

describe('a state', () => {
  test('matches the specification', () => {
    expectTypeOf<RunState>().toEqualTypeOf<{
      coordinator: CoordinatorState
      workers: Record<string, WorkerState>
      stateHash: string
    }>()
    expectTypeOf<CoordinatorState['run']['status']>().toEqualTypeOf<'Created' | 'Running' | 'Completed' | 'Failed'>()
    expectTypeOf<CoordinatorState['dag']>().toEqualTypeOf<{ nodes: Workflow['nodes']; edges: [string, string][] }>()
    expectTypeOf<CoordinatorState['nodeStates'][string]>().toEqualTypeOf<{
      status: 'Pending' | 'Scheduled' | 'Running' | 'Completed' | 'Failed' | 'Skipped'
      attempt: number
      task?: string
      resultHash?: string
      error?: { code: string; message: string }
    }>()
    expectTypeOf<WorkerState['activeTasks']>().toEqualTypeOf<
      Record<string, { node: string; attempt: number; status: string; assignedAt: number }>
    >()
  })
})

test('a verification has a check for each flag', async () => {
  const found = await verifyRun('run')
  expectTypeOf(found).toEqualTypeOf<RunVerification>()
  expectTypeOf<'dagMatch' | 'scheduleMatch' | 'stateHashesMatch' | 'outputHashesMatch' | 'ok'>().toExtend<
    keyof RunVerification
  >()
  expectTypeOf<
    RunVerification['chain' | 'dag' | 'schedule' | 'stateHashes' | 'outputHashes' | 'snapshots']
  >().toEqualTypeOf<Check>()
  expectTypeOf<Check['firstFailure']>().toEqualTypeOf<RunError | undefined>()
})

test('events are iterated one by one, and their kinds are literal types', async () => {
  expectTypeOf(readRunEvents('run')).toExtend<AsyncIterable<RunEvent>>()
  for await (const event of readRunEvents('run', { from: 1, to: 7, kinds: ['Error'] })) {
    expectTypeOf(event).toEqualTypeOf<RunEvent>()
    expectTypeOf(event.payload).toEqualTypeOf<Record<string, unknown>>()
    expectTypeOf(event.parent).toEqualTypeOf<string | null>()
  }
  expectTypeOf<'TaskRejected'>().toExtend<RunEventKind>()
  // @ts-expect-error no such kind
  readRunEvents('run', { kinds: ['TaskForgotten'] })
})

test('a workflow needs its name, version and nodes, and a node its id and kind', () => {
  expectTypeOf(
    compileWorkflow({ name: 'w', version: '1', nodes: [{ id: 'a', kind: 'k', tool: undefined }] }),
  ).toEqualTypeOf<{ dag: string; dagHash: string }>()
  // @ts-expect-error no version
  compileWorkflow({ name: 'w', nodes: [] })
  // @ts-expect-error no kind
  compileWorkflow({ name: 'w', version: '1', nodes: [{ id: 'a' }] })
})
