// The run recorder: the constructor, appending and refusing events, blobs, and the state.

import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fc, test } from '../support/property'
import { afterEach, beforeEach, describe, expect, vi } from 'vitest'
import { compileWorkflow, replayRun, verifyRun } from '../../index.js'
import type { RunEventKind } from '../../index.js'
import { WORKFLOW, freshPath, logOf } from '../support/run-directory.js'
import {
  RunRecorder,
  errorOf,
  eventsOf,
  newRecorder,
  noted,
  payloadsOf,
  startedRecorder,
} from '../support/run-recording.js'
import { anyString, runs } from '../support/session-arbitraries.js'

const sha256 = (data: string | Uint8Array): string => createHash('sha256').update(data).digest('hex')
const MAX_LINE_BYTES = 16 << 20

describe('the constructor', () => {
  test('synchronously creates the directory with the files of a run, and no others', async () => {
    const directory = join(freshPath(), 'deep', 'run.cath-bundle')
    const { recorder } = newRecorder({ directory })
    expect(readdirSync(directory).sort()).toEqual([
      'blobs',
      'dag.json',
      'events.cath-log',
      'events.cath-log.lock',
      'snapshots',
      'workflow.json',
    ])
    const { dag, dagHash } = compileWorkflow(WORKFLOW)
    expect(readFileSync(join(directory, 'dag.json'), 'utf8')).toBe(dag)
    expect(readFileSync(join(directory, 'workflow.json'), 'utf8')).toBe(JSON.stringify(WORKFLOW))
    expect(readdirSync(join(directory, 'snapshots'))).toEqual([])
    await recorder.dispose()
    expect(existsSync(`${logOf(directory)}.lock`)).toBe(false)
    expect(dagHash).toBe(sha256(dag))
  })

  test('records RunCreated', async () => {
    const { recorder, directory } = newRecorder({ capabilities: ['fs', 'net', 'fs'], scheduler: 'least-loaded' })
    expect(recorder.state().coordinator.run).toEqual({ id: 'run-7', status: 'Created' })
    await recorder.flush()
    const [created] = eventsOf(directory)
    expect(created).toMatchObject({ time: 0, kind: 'RunCreated', node: null, parent: null })
    expect(created!.payload).toBe(
      JSON.stringify({
        runId: 'run-7',
        workflow: { name: 'release', version: '1.2.0' },
        dagHash: compileWorkflow(WORKFLOW).dagHash,
        scheduler: 'least-loaded',
        capabilities: ['fs', 'net', 'fs'],
      }),
    )
    await recorder.dispose()
  })

  test('refuses a directory that holds a log, and leaves it unchanged', async () => {
    const { recorder, directory, config } = startedRecorder()
    await recorder.dispose()
    const before = readdirSync(directory).map((name) => [name, statSync(join(directory, name)).mtimeMs])
    const error = errorOf(() => new RunRecorder({ ...config, workflow: { name: 'x', version: '', nodes: [] } }))
    expect(error).toMatchObject({ code: 'EEXIST', syscall: 'open', path: logOf(directory), errno: -17 })
    expect(error.message).toBe(`EEXIST: file already exists, open '${logOf(directory)}'`)
    expect(readdirSync(directory).map((name) => [name, statSync(join(directory, name)).mtimeMs])).toEqual(before)
  })

  test('records into an existing directory, and leaves its other files alone', async () => {
    const directory = freshPath()
    mkdirSync(join(directory, 'blobs'), { recursive: true })
    writeFileSync(join(directory, 'notes.txt'), 'mine')
    const { recorder } = startedRecorder({ directory })
    await recorder.dispose()
    expect(eventsOf(directory)).toHaveLength(2)
    expect(readFileSync(join(directory, 'notes.txt'), 'utf8')).toBe('mine')
  })

  test('reports system errors as Node does, and leaves no log behind', async () => {
    const file = freshPath()
    writeFileSync(file, '')
    const inFile = errorOf(() => newRecorder({ directory: join(file, 'run') }))
    expect(inFile).toMatchObject({ code: 'ENOTDIR', syscall: 'mkdir', path: join(file, 'run') })
    expect(inFile).toBeInstanceOf(Error)
    const directory = freshPath()
    mkdirSync(join(directory, 'dag.json', 'in the way'), { recursive: true })
    expect(errorOf(() => newRecorder({ directory }))).toMatchObject({
      syscall: 'rename',
      path: join(directory, 'dag.json'),
    })
    expect(readdirSync(directory).filter((name) => name.startsWith('events'))).toEqual([])
  })

  test('refuses an invalid workflow before it creates anything', () => {
    const directory = freshPath()
    const node = { id: 'a', kind: 'k' }
    for (const nodes of [[node, node], [{ ...node, dependsOn: ['b'] }], [{ ...node, dependsOn: ['a'] }]]) {
      const error = errorOf(() => newRecorder({ directory, workflow: { name: 'w', version: '1', nodes } }))
      expect(error).toMatchObject({ code: 'WorkflowInvalid' })
      expect(error).not.toBeInstanceOf(TypeError)
    }
    expect(existsSync(directory)).toBe(false)
  })

  test('resolves a relative directory at once, whatever directory the process changes to later', async () => {
    const directory = freshPath()
    const before = process.cwd()
    const { recorder } = newRecorder({ directory: relative(before, directory) })
    try {
      process.chdir('/')
      recorder.append(noted())
      recorder.putBlob('x')
      await recorder.dispose()
    } finally {
      process.chdir(before)
    }
    expect(eventsOf(directory)).toHaveLength(2)
    expect(readdirSync(join(directory, 'blobs'))).toHaveLength(1)
  })

  test.prop(
    [
      anyString.filter((id) => id !== ''),
      fc.array(
        anyString.filter((id) => id !== ''),
        { maxLength: 3 },
      ),
    ],
    runs(40),
  )('records any id, lone surrogates included', async (runId, capabilities) => {
    const { recorder, directory } = newRecorder({ runId, capabilities })
    await recorder.dispose()
    expect(payloadsOf(directory)[0]).toMatchObject({ runId, capabilities })
    expect(recorder.state().coordinator.run.id).toBe(runId)
    const again = newRecorder({ directory, runId, capabilities, resume: true })
    await again.recorder.dispose()
  })
})

describe('append', () => {
  test('returns the id and the logical time, and fills in a missing node and parent', async () => {
    const { recorder, directory } = startedRecorder()
    expect(recorder.append({ kind: 'NodeScheduled', payload: { task: 'build#1', dependsOn: [] } })).toEqual({
      eventId: 'evt_2',
      logicalTime: 2,
    })
    recorder.append(noted())
    recorder.append({ kind: 'TaskAssigned', node: null, parent: null, payload: { task: 'build#1', worker: 'w1' } })
    recorder.append({
      kind: 'TaskAccepted',
      node: undefined,
      parent: undefined,
      payload: { task: 'build#1', worker: 'w1' },
    })
    recorder.append({
      kind: 'NodeStarted',
      node: 'build',
      parent: 'evt_0',
      payload: { task: 'build#1', worker: 'w1', inputHash: 'h' },
    })
    recorder.append({ kind: 'ToolInvoked', node: 'build', payload: { tool: 'cc', call: 'c', requestHash: 'h' } })
    await recorder.dispose()
    expect(eventsOf(directory).map(({ node, parent }) => [node, parent])).toEqual([
      [null, null],
      [null, 0],
      ['build', 1],
      [null, 2],
      ['build', 2],
      ['build', 4],
      ['build', 0],
      ['build', 6],
    ])
  })

  test('records the payload as it is at the call', async () => {
    const { recorder, directory } = startedRecorder()
    const payload = { code: 'E', message: 'before', recoverable: true, list: [1] }
    recorder.append({ kind: 'Error', payload })
    payload.message = 'after'
    payload.list.push(2)
    await recorder.dispose()
    expect(payloadsOf(directory).at(-1)).toEqual({ code: 'E', message: 'before', recoverable: true, list: [1] })
  })

  test('throws what JSON.stringify throws, without advancing the logical time', async () => {
    const { recorder, directory } = startedRecorder()
    const cycle: Record<string, unknown> = {}
    cycle['self'] = cycle
    const mine = new Error('from the payload')
    const throwing = {
      toJSON() {
        throw mine
      },
    }
    for (const value of [cycle, 1n]) {
      const expected = errorOf(() => JSON.stringify({ value }))
      const thrown = errorOf(() => recorder.append(noted('', { value })))
      expect([thrown.constructor, thrown.message]).toEqual([expected.constructor, expected.message])
    }
    expect(errorOf(() => recorder.append(noted('', { throwing })))).toBe(mine)
    expect(recorder.append(noted()).logicalTime).toBe(2)
    await recorder.dispose()
    expect(eventsOf(directory)).toHaveLength(3)
  })

  test('refuses a payload whose JSON is not an object', async () => {
    const { recorder } = startedRecorder()
    for (const json of [undefined, null, 'text', 3, [1]]) {
      const payload = { toJSON: () => json }
      expect(errorOf(() => recorder.append({ kind: 'Error', payload }))).toBeInstanceOf(TypeError)
    }
    expect(recorder.append(noted()).logicalTime).toBe(2)
    await recorder.dispose()
  })

  test('keeps the order of events if toJSON of a payload appends one', async () => {
    const { recorder, directory } = startedRecorder()
    const payload = {
      code: 'E',
      message: 'outer',
      recoverable: true,
      toJSON() {
        recorder.append(noted('inner'))
        return { code: 'E', message: 'outer', recoverable: true }
      },
    }
    expect(recorder.append({ kind: 'Error', payload }).logicalTime).toBe(3)
    await recorder.dispose()
    expect(
      payloadsOf(directory)
        .slice(2)
        .map(({ message }) => message),
    ).toEqual(['inner', 'outer'])
  })

  test('accepts a line of 16 MiB, and none that is longer', async () => {
    const { recorder, directory } = startedRecorder()
    recorder.append(noted(''))
    await recorder.flush()
    const shortest = readFileSync(logOf(directory), 'utf8').split('\n').at(-2)!.length
    const room = MAX_LINE_BYTES - shortest
    for (const message of ['x'.repeat(room + 1), '€'.repeat(room / 3 + 1), 'x'.repeat(MAX_LINE_BYTES * 2)]) {
      const error = errorOf(() => recorder.append(noted(message)))
      expect(error).toMatchObject({ code: 'TooLarge', time: 3, eventId: 'evt_3', expected: String(MAX_LINE_BYTES) })
    }
    expect(recorder.append(noted('x'.repeat(room))).logicalTime).toBe(3)
    await recorder.dispose()
    expect(eventsOf(directory)).toHaveLength(4)
    expect(await replayRun(directory)).toMatchObject({ ok: true, eventCount: 4 })
  })

  const refusals: [
    title: string,
    code: string,
    event: { kind: string; node?: string; parent?: string; payload: Record<string, unknown> },
  ][] = [
    ['a kind that there is not', 'UnknownKind', { kind: 'NodeFinished', payload: {} }],
    ['the name of no kind, but of every object', 'UnknownKind', { kind: 'constructor', payload: {} }],
    ['a field that is missing', 'MissingField', { kind: 'NodeScheduled', payload: { task: 'build#1' } }],
    [
      'a field of the wrong type',
      'InvalidField',
      { kind: 'NodeScheduled', payload: { task: 'build#1', dependsOn: 'none' } },
    ],
    ['no node', 'MissingField', { kind: 'ToolInvoked', payload: { tool: 't', call: 'c', requestHash: 'h' } }],
    [
      'a node before its dependencies',
      'IllegalTransition',
      { kind: 'NodeScheduled', payload: { task: 'test#1', dependsOn: [] } },
    ],
    ['a cause that does not exist', 'ParentMissing', { kind: 'Error', parent: 'evt_2', payload: noted().payload }],
    ['a cause that is no event', 'ParentMissing', { kind: 'Error', parent: '1', payload: noted().payload }],
    [
      'another state restored',
      'StateMismatch',
      { kind: 'SnapshotRestored', payload: { snapshot: 's', stateHash: 'h', at: 0 } },
    ],
  ]
  test.each(refusals)('refuses %s: %s', async (_, code, event) => {
    const { recorder, directory } = startedRecorder()
    const before = recorder.state()
    const error = errorOf(() => recorder.append(event as typeof event & { kind: RunEventKind }))
    expect(error).toBeInstanceOf(Error)
    expect(error).not.toBeInstanceOf(TypeError)
    expect(error).toMatchObject({
      code,
      time: 2,
      eventId: 'evt_2',
      expected: expect.any(String),
      found: expect.any(String),
    })
    expect(recorder.state()).toStrictEqual(before)
    expect(recorder.append(noted()).logicalTime).toBe(2)
    await recorder.dispose()
    expect(eventsOf(directory)).toHaveLength(3)
  })

  test('accepts only BlobStored and snapshots after the end', async () => {
    const { recorder, directory } = startedRecorder()
    recorder.append({ kind: 'RunFailed', payload: { code: 'E', message: 'm' } })
    const before = recorder.state()
    expect(errorOf(() => recorder.append(noted()))).toMatchObject({ code: 'AfterEnd', time: 3 })
    expect(recorder.state()).toStrictEqual(before)
    recorder.append({ kind: 'BlobStored', payload: { blob: recorder.putBlob('x'), size: 1 } })
    await recorder.snapshot()
    await recorder.dispose()
    expect(
      eventsOf(directory)
        .map(({ kind }) => kind)
        .slice(2),
    ).toEqual(['RunFailed', 'BlobStored', 'SnapshotCreated'])
    expect(await verifyRun(directory)).toMatchObject({ ok: true })
  })

  test('keeps runs of one process apart', async () => {
    const all = Array.from({ length: 20 }, (_, i) => startedRecorder({ runId: `run-${i}` }))
    for (let round = 0; round < 50; round++) {
      for (const [i, { recorder }] of all.entries()) if (round <= i * 2) recorder.append(noted(`${i} ${round}`))
    }
    await Promise.all(all.map(({ recorder }) => recorder.dispose()))
    for (const [i, { directory, warnings }] of all.entries()) {
      const messages = payloadsOf(directory)
        .slice(2)
        .map(({ message }) => message)
      expect(messages).toEqual(Array.from({ length: Math.min(50, i * 2 + 1) }, (_, round) => `${i} ${round}`))
      expect(warnings).toEqual([])
    }
  })
})

describe('a stopped clock', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  test('gives events their time, and blocks nothing', async () => {
    vi.setSystemTime(Date.UTC(1999, 11, 31, 23, 59, 59, 999))
    const { recorder, directory } = startedRecorder()
    vi.setSystemTime(Date.UTC(2000, 0, 1))
    await recorder.snapshot()
    await recorder.flush()
    await recorder.dispose()
    expect(eventsOf(directory).map(({ ts }) => ts)).toEqual([
      '1999-12-31T23:59:59.999Z',
      '1999-12-31T23:59:59.999Z',
      '2000-01-01T00:00:00.000Z',
    ])
  })
})

describe('putBlob', () => {
  test.prop([fc.oneof(fc.uint8Array({ maxLength: 2000 }), anyString)], runs(60))(
    'stores the bytes under their hash, once, and records nothing',
    async (data) => {
      const { recorder, directory } = startedRecorder()
      const hash = recorder.putBlob(data, 'text/plain')
      const path = join(directory, 'blobs', hash.slice(0, 2), hash)
      expect(hash).toBe(sha256(Buffer.from(data as string)))
      expect(readFileSync(path).equals(Buffer.from(data as string))).toBe(true)
      const written = statSync(path, { bigint: true }).mtimeNs
      expect(recorder.putBlob(Buffer.from(data as string))).toBe(hash)
      expect(statSync(path, { bigint: true }).mtimeNs).toBe(written)
      expect(recorder.state().coordinator.logicalTime).toBe(1)
      await recorder.dispose()
      expect(eventsOf(directory)).toHaveLength(2)
    },
  )

  test('stores only the part of a buffer that a view covers', async () => {
    const { recorder, directory } = startedRecorder()
    const hash = recorder.putBlob(new Uint8Array(Buffer.from('abcdef').buffer.slice(0), 0).subarray(0, 0))
    expect(hash).toBe(sha256(''))
    const shown = new Uint8Array(Uint8Array.from([1, 2, 3, 4]).buffer, 1, 2)
    expect(recorder.putBlob(shown)).toBe(sha256(Uint8Array.from([2, 3])))
    expect(readdirSync(join(directory, 'blobs'))).toHaveLength(2)
    await recorder.dispose()
  })

  test('reports system errors as Node does', async () => {
    const { recorder, directory } = startedRecorder()
    const hash = sha256('x')
    writeFileSync(join(directory, 'blobs', hash.slice(0, 2)), 'a file in the way')
    const error = errorOf(() => recorder.putBlob('x'))
    expect(error).toMatchObject({
      code: expect.stringMatching(/^E[A-Z]+$/),
      syscall: 'mkdir',
      path: join(directory, 'blobs', hash.slice(0, 2), hash),
    })
    expect(recorder.isActive()).toBe(true)
    await recorder.dispose()
  })
})

describe('state()', () => {
  test('returns a copy of the state at the call', async () => {
    const { recorder } = startedRecorder()
    recorder.append({ kind: 'NodeScheduled', payload: { task: 'build#1', dependsOn: [] } })
    recorder.append({ kind: 'TaskAssigned', payload: { task: 'build#1', worker: 'w1' } })
    const state = recorder.state()
    expect(state).toStrictEqual({
      coordinator: {
        run: { id: 'run-7', status: 'Running' },
        dag: JSON.parse(compileWorkflow(WORKFLOW).dag),
        nodeStates: {
          build: { status: 'Scheduled', attempt: 1, task: 'build#1' },
          test: { status: 'Pending', attempt: 0 },
          announce: { status: 'Pending', attempt: 0 },
        },
        pendingTasks: [],
        completedNodes: [],
        logicalTime: 3,
      },
      workers: {
        w1: {
          workerId: 'w1',
          status: 'idle',
          activeTasks: { 'build#1': { node: 'build', attempt: 1, status: 'Assigned', assignedAt: 3 } },
          completedTasks: [],
          capabilities: ['net'],
        },
        w2: { workerId: 'w2', status: 'idle', activeTasks: {}, completedTasks: [], capabilities: [] },
      },
      stateHash: expect.stringMatching(/^[0-9a-f]{64}$/),
    })
    state.coordinator.pendingTasks.push('mine')
    expect(recorder.state().coordinator.pendingTasks).toEqual([])
    await recorder.dispose()
    expect(recorder.state()).toStrictEqual({ ...state, coordinator: { ...state.coordinator, pendingTasks: [] } })
  })
})

describe('after dispose', () => {
  test('nothing is accepted', async () => {
    const { recorder, directory, config } = startedRecorder()
    expect(recorder.isActive()).toBe(true)
    const disposed = recorder.dispose()
    expect(recorder.isActive()).toBe(false)
    expect(recorder.dispose()).toBe(disposed)
    const code = 'RecorderDisposed'
    expect(errorOf(() => recorder.append(noted()))).toMatchObject({ code })
    expect(errorOf(() => recorder.putBlob('x'))).toMatchObject({ code })
    await expect(recorder.snapshot()).rejects.toMatchObject({ code })
    await disposed
    expect(await recorder.flush()).toBeUndefined()
    expect(errorOf(() => recorder.append(noted()))).toMatchObject({ code })
    expect(eventsOf(directory)).toHaveLength(2)
    const next = newRecorder({ ...config, resume: true })
    expect(next.recorder.append(noted()).logicalTime).toBe(2)
    await next.recorder.dispose()
  })

  test('an event whose payload disposes the recorder is not recorded, but a pending snapshot is', async () => {
    const { recorder, directory } = startedRecorder()
    const snapshot = recorder.snapshot()
    const payload = {
      toJSON() {
        void recorder.dispose()
        return noted().payload
      },
    }
    expect(errorOf(() => recorder.append({ kind: 'Error', payload }))).toMatchObject({ code: 'RecorderDisposed' })
    await recorder.dispose()
    expect(eventsOf(directory).map(({ kind }) => kind)).toEqual(['RunCreated', 'RunStarted', 'SnapshotCreated'])
    expect((await snapshot).snapshotId).toBe('snap_1')
  })
})
