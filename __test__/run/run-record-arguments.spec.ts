/** Wrong arguments to the run recorder synchronously throw a TypeError that names them, and have no other effect. */
import { existsSync } from 'node:fs'
import { fc, test } from '../support/property'
import { describe, expect } from 'vitest'
import {
  type Config,
  RunRecorder,
  errorOf,
  eventsOf,
  noted,
  runConfig,
  startedRecorder,
} from '../support/run-recording.js'
import { runs } from '../support/session-arbitraries.js'

const anyRecorder = RunRecorder as unknown as new (...args: unknown[]) => InstanceType<typeof RunRecorder>

const notAString = fc.anything().filter((value) => typeof value !== 'string')

/** Expects a TypeError whose message begins with `name`. */
function expectNamed(name: string, call: () => unknown): void {
  const error = errorOf(call)
  expect(error).toBeInstanceOf(TypeError)
  expect(error.message.startsWith(`${name} must be `), error.message).toBe(true)
  expect(error.code).toBe('ERR_INVALID_ARG_TYPE')
}

describe('the config', () => {
  const bad = (name: string, overrides: Record<string, unknown>) => {
    const config = { ...runConfig(), ...overrides } as Config
    expectNamed(`config.${name}`, () => new anyRecorder(config))
    expect(existsSync(config.directory)).toBe(false)
  }

  test('must be an object', () => {
    for (const config of [undefined, null, 'config', 4, true, []]) expectNamed('config', () => new anyRecorder(config))
    expectNamed('config', () => new anyRecorder())
  })

  test.prop([fc.constantFrom('directory', 'runId'), fc.oneof(notAString, fc.constant(''))], runs(60))(
    'must have non-empty strings for directory and runId',
    (field, value) => {
      const config = { ...runConfig(), [field]: value }
      expectNamed(`config.${field}`, () => new anyRecorder(config))
    },
  )

  test('must have a well-formed workflow', () => {
    const node = { id: 'a', kind: 'k' }
    bad('workflow', { workflow: undefined })
    bad('workflow.nodes[1].id', { workflow: { name: 'w', version: '1', nodes: [node, { kind: 'k' }] } })
  })

  test('must have valid values for enumerated and optional fields', () => {
    for (const scheduler of [undefined, 'fifo', '', 1, 'Round-Robin']) bad('scheduler', { scheduler })
    for (const capabilities of ['net', [1], [''], {}, null, [, 'net']]) bad('capabilities', { capabilities })
    for (const resume of ['yes', 1, null]) bad('resume', { resume })
    for (const durability of ['disk', 'FSYNC', '', 1, null]) bad('durability', { durability })
    for (const onWarning of ['log', {}, 1, null]) bad('onWarning', { onWarning })
  })

  test('may have undefined for optional fields, and may have unknown fields', async () => {
    const config = {
      ...runConfig(),
      capabilities: undefined,
      resume: undefined,
      durability: undefined,
      onWarning: undefined,
      theme: 'dark',
    }
    await new anyRecorder(config).dispose()
    expect(existsSync(config.directory)).toBe(true)
  })
})

describe('the arguments of the methods', () => {
  const text = [3, true, {}, ['x'], Symbol('s')]
  const cases: [name: string, call: (recorder: any, value: unknown) => unknown, values: unknown[]][] = [
    ['event', (r, v) => r.append(v), [undefined, null, 'Error', 3, [noted()]]],
    ['event.kind', (r, v) => r.append({ ...noted(), kind: v }), [undefined, null, ...text]],
    ['event.node', (r, v) => r.append({ ...noted(), node: v }), text],
    ['event.parent', (r, v) => r.append({ ...noted(), parent: v }), [0, 1n, ...text]],
    ['event.payload', (r, v) => r.append({ kind: 'Error', payload: v }), [undefined, null, 'text', 3, [], () => 1]],
    [
      'data',
      (r, v) => r.putBlob(v),
      [undefined, null, 3, {}, [1], new ArrayBuffer(1), new Uint16Array(1), new DataView(new ArrayBuffer(1))],
    ],
    ['mediaType', (r, v) => r.putBlob('x', v), [null, ...text]],
    ['options', (r, v) => r.snapshot(v), [null, 'key', 3, []]],
    ['options.signWith', (r, v) => r.snapshot({ signWith: v }), [null, Buffer.from('key'), ...text]],
  ]

  test.each(cases)('%s', async (name, call, values) => {
    const { recorder, directory } = startedRecorder()
    for (const value of values) expectNamed(name, () => call(recorder, value))
    expect(recorder.append(noted()).logicalTime).toBe(2)
    await recorder.dispose()
    expect(eventsOf(directory)).toHaveLength(3)
  })

  test.prop(
    [
      fc.oneof(
        fc.record({ kind: fc.anything(), node: fc.anything(), parent: fc.anything(), payload: fc.anything() }),
        fc.anything(),
      ),
    ],
    runs(100),
  )('an arbitrary event throws, and nothing is recorded', async (event) => {
    const { recorder } = startedRecorder()
    const before = recorder.state()
    expect(errorOf(() => (recorder.append as (event: unknown) => unknown)(event))).toBeInstanceOf(Error)
    expect(recorder.state()).toStrictEqual(before)
    await recorder.dispose()
  })

  test('are read once', async () => {
    const { recorder } = startedRecorder()
    const reads: string[] = []
    const event = new Proxy(noted(), { get: (target, key) => (reads.push(String(key)), Reflect.get(target, key)) })
    recorder.append(event)
    expect(reads.sort()).toEqual(['kind', 'node', 'parent', 'payload'])
    await recorder.dispose()
  })
})
