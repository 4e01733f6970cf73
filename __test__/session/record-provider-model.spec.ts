/** Provider and model that are known only when the session's file is made. */
import { describe, expect, test } from 'vitest'
import {
  type Recorder,
  type RecorderConfig,
  type Warning,
  newRecorder,
  pathOf,
  recordedSession,
  recordsOf,
  said,
} from '../support/recording'

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** A recorder whose resolver's calls are counted. */
function resolving(resolve: () => unknown, overrides: Partial<RecorderConfig> = {}) {
  const warnings: Warning[] = []
  const calls: number[] = []
  const resolveProviderModel = () => {
    calls.push(calls.length)
    return resolve() as { provider: string; model: string }
  }
  const recorder = newRecorder({
    ...overrides,
    resolveProviderModel,
    onWarning: (warning) => void warnings.push(warning),
  })
  return { recorder, calls, warnings }
}

const headerOf = (recorder: Recorder) => recordsOf(pathOf(recorder))[0]!.payload

const MAKING: [what: string, make: (recorder: Recorder) => unknown][] = [
  ['a content', (recorder) => recorder.recordContent(said('a'))],
  ['a title', (recorder) => recorder.recordSessionMetadata('title')],
  ['a name', (recorder) => recorder.setSessionName('name')],
  ['a purge', (recorder) => recorder.recordSemanticMediaPurge([], { contentIndex: 0, blockIndex: 0 })],
  [
    'a purge from a stream',
    (recorder) => recorder.recordSemanticMediaPurgeRows([], { contentIndex: 0, blockIndex: 0 }),
  ],
  ['a commit', (recorder) => recorder.commit('note', 1)],
  ['a comparison', (recorder) => recorder.reconcile([said('a')])],
  ['a batch', (recorder) => recorder.prepareContentBatch([said('a')]).publish()],
]

describe('resolveProviderModel', () => {
  test.each(MAKING)('is called once, synchronously, when %s makes the file', async (_, make) => {
    const { recorder, calls, warnings } = resolving(() => ({ provider: 'later', model: 'model-9' }))
    recorder.enqueue('note', 'waits for the file')
    recorder.recordSessionEvent('info', 'this too')
    expect(calls).toEqual([])
    const made = make(recorder)
    expect(calls).toEqual([0])
    await made
    recorder.recordContent(said('more'))
    await recorder.dispose()
    expect(calls).toEqual([0])
    const { provider, model, ...others } = headerOf(recorder)
    expect([provider, model]).toEqual(['later', 'model-9'])
    const plain = newRecorder()
    plain.recordContent(said('a'))
    await plain.dispose()
    const header = headerOf(plain)
    expect(Object.keys(headerOf(recorder))).toEqual(Object.keys(header))
    expect(others).toMatchObject({
      sessionId: header.sessionId,
      projectHash: header.projectHash,
      workspaceDirs: header.workspaceDirs,
    })
    expect(warnings).toEqual([])
  })

  const FAILING: [what: string, resolve: () => unknown][] = [
    [
      'throws',
      () => {
        throw new Error('not chosen yet')
      },
    ],
    ['returns nothing', () => undefined],
    ['returns null', () => null],
    ['returns a promise', () => Promise.resolve({ provider: 'p', model: 'm' })],
    ['returns a promise that rejects', () => Promise.reject(new Error('later'))],
    ['returns no model', () => ({ provider: 'p' })],
    ['returns a number', () => ({ provider: 'p', model: 1 })],
    [
      'returns what throws',
      () => ({
        provider: 'p',
        get model() {
          throw new Error('getter')
        },
      }),
    ],
  ]
  test.each(FAILING)(
    'that %s: the values of the configuration, one warning, and recording goes on',
    async (_, resolve) => {
      const { recorder, calls, warnings } = resolving(resolve)
      recorder.recordContent(said('a'))
      expect(warnings).toEqual([])
      recorder.recordContent(said('b'))
      await recorder.flush()
      await turn()
      expect(warnings).toMatchObject([{ code: 'ProviderModelFailed', filePath: pathOf(recorder), eventsDropped: 0 }])
      expect(recorder.isActive()).toBe(true)
      await recorder.dispose()
      expect(calls).toEqual([0])
      expect(headerOf(recorder)).toMatchObject({ provider: 'anthropic', model: 'model-1' })
      expect(recordsOf(pathOf(recorder)).map(({ seq }) => seq)).toEqual([1, 2, 3])
    },
  )

  test('changes nothing of what counts as pending, nor of buffering, and may return empty strings', async () => {
    const { recorder } = resolving(() => ({ provider: '', model: '' }))
    expect(recorder.getPendingRecordCount()).toBe(1)
    recorder.recordSessionEvent('info', 'buffered')
    expect([recorder.getPendingRecordCount(), recorder.getFilePath()]).toEqual([2, null])
    recorder.recordContent(said('a'))
    expect(recorder.getPendingRecordCount()).toBe(3)
    await recorder.dispose()
    expect(headerOf(recorder)).toMatchObject({ provider: '', model: '' })
  })

  test('is called neither for a session that is resumed, nor by a recorder that makes no file', async () => {
    const path = await recordedSession()
    const { recorder, calls } = resolving(() => ({ provider: 'p', model: 'm' }))
    recorder.initializeForResume(path, 2)
    recorder.recordContent(said('a'))
    await recorder.dispose()
    const idle = resolving(() => ({ provider: 'p', model: 'm' }))
    idle.recorder.enqueue('note', 1)
    await idle.recorder.dispose()
    idle.recorder.recordContent(said('late'))
    expect([...calls, ...idle.calls]).toEqual([])
  })

  test('what the configuration becomes later is not in the header', async () => {
    const workspaceDirs = ['/a']
    const config = { workspaceDirs }
    const { recorder } = resolving(() => ({ provider: 'p', model: 'm' }), config)
    workspaceDirs.push('/b')
    recorder.recordContent(said('a'))
    await recorder.dispose()
    expect(headerOf(recorder)).toMatchObject({ workspaceDirs: ['/a'], provider: 'p' })
  })

  test('that is no function is refused', () => {
    expect(() => newRecorder({ resolveProviderModel: {} as never })).toThrow(
      /config\.resolveProviderModel must be a function/,
    )
  })
})
