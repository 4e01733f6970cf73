/** A function of the host's that appends in the place of the system. */
import { appendFileSync, readFileSync, statSync, truncateSync } from 'node:fs'
import { appendFile } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import {
  type RecorderConfig,
  type Warning,
  linesOf,
  newRecorder,
  pathOf,
  recordedSession,
  recordsOf,
  said,
  startedRecorder,
  theWarning,
  watchedRecorder,
} from '../support/recording'

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
const failing =
  (error: unknown): RecorderConfig['appendFile'] =>
  () =>
    Promise.reject(error)
const coded = (code: string, message = `${code}: refused`) => Object.assign(new Error(message), { code })

describe('appendFile', () => {
  test('gets every batch with path, text and encoding, one at a time', async () => {
    const calls: [string, string, string][] = []
    let running = 0
    const recorder = newRecorder({
      appendFile: async (path, data, encoding) => {
        expect(++running).toBe(1)
        calls.push([path, data, encoding])
        await turn()
        await appendFile(path, data, encoding)
        running--
      },
    })
    for (let i = 0; i < 20; i++) {
      recorder.recordContent(said(`ü🦀${i}`))
      if (i % 3 === 0) await turn()
    }
    const commit = await recorder.commit('note', 1)
    const path = pathOf(recorder)
    expect(commit).toEqual({ seq: 22, byteOffset: statSync(path).size })
    await recorder.dispose()
    expect(recordsOf(path).map(({ seq }) => seq)).toEqual(Array.from({ length: 22 }, (_, i) => i + 1))
    expect(calls.map(([, data]) => data).join('')).toBe(readFileSync(path, 'utf8'))
    expect(
      calls.every(([where, data, encoding]) => where === path && encoding === 'utf-8' && data.endsWith('\n')),
    ).toBe(true)
    expect(calls.length).toBeLessThan(22)
  })

  test('may be synchronous, and holds back what follows while it runs; flush waits for it', async () => {
    const gates: (() => void)[] = []
    const { recorder, warnings } = watchedRecorder({
      appendFile: (path, data) => new Promise((resolve) => gates.push(() => resolve(appendFileSync(path, data)))),
    })
    recorder.recordContent(said('a'))
    let isFlushed = false
    const flush = recorder.flush().then(() => void (isFlushed = true))
    while (gates.length === 0) await turn()
    recorder.recordContent(said('b'))
    expect(() => recorder.prepareContentBatch([said('c')])).toThrow(
      'Cannot record content batch while recording is draining',
    )
    await turn()
    expect([gates.length, isFlushed, recorder.getPendingRecordCount()]).toEqual([1, false, 3])
    gates[0]!()
    await flush
    while (gates.length === 1) await turn()
    gates[1]!()
    await recorder.dispose()
    expect(recordsOf(pathOf(recorder))).toHaveLength(3)
    expect(warnings).toEqual([])
    const other = newRecorder({ appendFile: (path, data) => appendFileSync(path, data), durability: 'fsync' })
    other.recordContent(said('a'))
    await other.flush()
    expect(linesOf(pathOf(other))).toHaveLength(2)
    await other.dispose()
  })

  test('that is interrupted is called again', async () => {
    let calls = 0
    const recorder = newRecorder({
      appendFile: async (path, data) => (++calls < 3 ? Promise.reject(coded('EINTR')) : appendFileSync(path, data)),
    })
    expect(await recorder.commit('content', { content: said('a') })).toMatchObject({ seq: 2 })
    expect(calls).toBe(3)
    await recorder.dispose()
    expect(recordsOf(pathOf(recorder))).toHaveLength(2)
  })

  const ERRORS: [error: unknown, code: string, flush: 'resolves' | 'rejects'][] = [
    [coded('ENOSPC', 'the disk is full'), 'ENOSPC', 'resolves'],
    [coded('EACCES'), 'EACCES', 'resolves'],
    [coded('EIO'), 'EIO', 'rejects'],
    [coded('EOWN', 'of its own'), 'EOWN', 'rejects'],
    [new Error('without a code'), 'UNKNOWN', 'rejects'],
  ]
  test.each(ERRORS)('that fails with %s ends the recording as the disk does', async (error, code, outcome) => {
    const { recorder, warnings } = watchedRecorder({ appendFile: failing(error) })
    const commits = [recorder.commit('content', { content: said('a') }), recorder.commit('note', 1)]
    const flush = recorder.flush()
    const settled = await Promise.allSettled([...commits, flush])
    expect(settled.slice(0, 2)).toEqual([
      { status: 'rejected', reason: error },
      { status: 'rejected', reason: error },
    ])
    expect((settled[0] as PromiseRejectedResult).reason).toBe(error)
    expect(settled[2]!.status).toBe(outcome === 'resolves' ? 'fulfilled' : 'rejected')
    expect(await theWarning(warnings)).toMatchObject({
      code,
      filePath: recorder.getFilePath(),
      eventsDropped: 3,
      message: expect.stringContaining((error as Error).message),
    })
    expect(recorder.isActive()).toBe(false)
    expect(recorder.enqueue('note', 2)).toBeNull()
    await expect(recorder.commit('note', 3)).rejects.toBe(error)
    await recorder.dispose()
    expect(statSync(pathOf(recorder)).size).toBe(0)
  })

  test('that throws, or rejects with something else than an error, is reported too', async () => {
    for (const appending of [
      () => {
        throw coded('EROFS')
      },
      failing('nothing'),
      failing(undefined),
    ] as RecorderConfig['appendFile'][]) {
      const { recorder, warnings } = watchedRecorder({ appendFile: appending })
      recorder.recordContent(said('a'))
      await recorder.flush().catch(() => {})
      expect((await theWarning(warnings)).code).toMatch(/^(EROFS|UNKNOWN)$/)
      await recorder.dispose()
    }
  })

  test('in a session that is resumed after a torn line gets a newline first', async () => {
    const path = await recordedSession()
    truncateSync(path, statSync(path).size - 4)
    const torn = readFileSync(path, 'utf8')
    const recorder = newRecorder({ appendFile })
    recorder.initializeForResume(path, 2)
    recorder.recordContent(said('a'))
    await recorder.dispose()
    const text = readFileSync(path, 'utf8')
    expect(text.startsWith(`${torn}\n{"v":1,"seq":3,`)).toBe(true)
  })

  test('does not hide what is rolled back', async () => {
    const { recorder, path } = await startedRecorder({ appendFile })
    const bytes = readFileSync(path)
    const batch = recorder.prepareContentBatch([said('a')])
    batch.publish()
    await recorder.flush()
    expect(recordsOf(path)).toHaveLength(3)
    batch.rollback()
    expect(readFileSync(path)).toEqual(bytes)
    expect(await recorder.commit('note', 1)).toMatchObject({ seq: 3 })
    await recorder.dispose()
  })

  test('may keep what it gets anywhere: the offsets go on', async () => {
    let kept = ''
    const size = () => Buffer.byteLength(kept)
    const recorder = newRecorder({ appendFile: async (_, data) => void (kept += data) })
    expect(await recorder.commit('content', { content: said('ü') })).toEqual({ seq: 2, byteOffset: size() })
    expect(await recorder.commit('note', 1)).toEqual({ seq: 3, byteOffset: size() })
    const before = size()
    const batch = recorder.prepareContentBatch([said('a')])
    batch.publish()
    await recorder.flush()
    batch.rollback()
    const withBatch = size()
    expect(recorder.getLastEnqueuedSequence()).toBe(3)
    // What the function has kept of the batch is not cut off.
    expect((await recorder.commit('content', { content: said('a') })).byteOffset).toBe(withBatch)
    const { byteOffset } = await recorder.recordSemanticMediaPurgeRows([said('p')], { contentIndex: 0, blockIndex: 0 })
    expect(byteOffset).toBe(size() - (withBatch - before))
    await recorder.dispose()
  })

  test('is forgotten by the process that ends, which does not wait for it', async () => {
    const warnings: Warning[] = []
    const recorder = newRecorder({
      appendFile: () => new Promise(() => {}),
      onWarning: (warning) => void warnings.push(warning),
    })
    recorder.recordContent(said('a'))
    expect(() => recorder.reconcile([said('a')])).toThrow(/^Cannot reconcile: what was recorded is not written yet$/)
    expect(warnings).toEqual([])
  })

  test('that is no function is refused', () => {
    expect(() => newRecorder({ appendFile: 1 as never })).toThrow(/config\.appendFile must be a function/)
  })
})
