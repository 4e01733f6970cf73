// readRunEvents of bundles: opening, closing and stopping the iteration, all away from the JavaScript thread and Node's thread pool.

import { appendFileSync, readdirSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import * as bundles from '../support/bundles.js'
import { exportBundle, filesIn, freshDirectory, readRunEvents, tape, verifyBundle } from '../support/bundles.js'

const BLOBS = 3000
let archive: string
let directory: string
beforeAll(async () => {
  const root = freshDirectory()
  const run = new tape.RunRecorder({
    directory: join(root, 'run'),
    runId: 'r',
    workflow: { name: 'w', version: '1', nodes: [] },
    scheduler: 'external',
  })
  run.append({ kind: 'RunStarted', payload: { workers: [] } })
  for (let n = 0; n < BLOBS; n++)
    run.append({ kind: 'BlobStored', payload: { blob: run.putBlob(`${n} `.repeat(50)), size: `${n} `.length * 50 } })
  await run.dispose()
  ;[archive, directory] = [join(root, 'b.cath-bundle.tar.zst'), join(root, 'b.cath-bundle')]
  await exportBundle(join(root, 'run'), archive)
  await exportBundle(join(root, 'run'), directory)
})

let temporary: ReturnType<typeof bundles.ownTemporaryDirectory>
beforeEach(() => {
  temporary = bundles.ownTemporaryDirectory()
})
afterEach(() => temporary.restore())

const turn = () => new Promise((resolve) => setImmediate(resolve))

/** Waits for what happens in the background. */
async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await turn()
}

/** The names of the directories of unpacked blobs. */
function unpacked(): string[] {
  try {
    return readdirSync(join(process.env['TMPDIR']!, temporary.entries()[0]!, 'blobs'))
  } catch {
    return []
  }
}

test.each(['archive', 'directory'])(
  'opening several bundles leaves the thread pool of Node to others (%s)',
  async (form) => {
    const path = form === 'archive' ? archive : directory
    const iterators = Array.from({ length: 4 }, () => readRunEvents(path))
    let opened = 0
    const opening = iterators.map((iterator) => iterator.next().then(() => (opened += 1)))
    await turn()
    await stat(path)
    expect(opened).toBe(0)
    await Promise.all(opening)
    await Promise.all(iterators.map((iterator) => iterator.return()))
    expect(temporary.entries()).toEqual([])
  },
)

test('closing a bundle removes its files while the event loop goes on', async () => {
  // A machine whose other threads are quicker than this one shows no moment in between: one closing of many must.
  let between = 0
  for (let closings = 0; closings < 50 && between === 0; closings++) {
    const iterator = readRunEvents(archive)
    await iterator.next()
    const all = unpacked().length
    expect(all).toBeGreaterThan(200)
    const seen = new Set<number>()
    let isClosed = false
    const closing = iterator.return().then(() => (isClosed = true))
    while (!isClosed) {
      seen.add(unpacked().length)
      await turn()
    }
    await closing
    expect(temporary.entries()).toEqual([])
    between = [...seen].filter((left) => left > 0 && left < all).length
  }
  expect(between).toBeGreaterThan(0)
})

describe('an abort', () => {
  const reason = new Error('mine')

  test('while a bundle is opened stops that and leaves no files', async () => {
    const controller = new AbortController()
    const next = readRunEvents(archive, { signal: controller.signal }).next()
    await until(() => unpacked().length > 0)
    controller.abort(reason)
    await expect(next).rejects.toBe(reason)
    await until(() => temporary.entries().length === 0)
  })

  test('between two events throws its reason instead of the next one', async () => {
    const controller = new AbortController()
    const times: number[] = []
    const reading = (async () => {
      for await (const { logicalTime } of readRunEvents(archive, { signal: controller.signal })) {
        times.push(logicalTime)
        if (logicalTime === 2) controller.abort(reason)
      }
    })()
    await expect(reading).rejects.toBe(reason)
    expect(times).toEqual([0, 1, 2])
    await until(() => temporary.entries().length === 0)
  })

  test('after the end changes nothing, and no listener is left on the signal', async () => {
    const listeners: string[] = []
    const { signal } = new AbortController()
    signal.addEventListener = () => listeners.push('+')
    signal.removeEventListener = () => listeners.push('-')
    let events = 0
    for await (const _ of readRunEvents(directory, { signal })) events += 1
    expect([events, listeners]).toEqual([BLOBS + 2, ['+', '-']])
  })
})

test('whether a bundle was verified is a boolean', () => {
  for (const read of [readRunEvents, tape.replayRun, tape.verifyRun]) {
    for (const verifiedBundle of [null, 1, 'yes'] as never[])
      expect(() => read(archive, { verifiedBundle })).toThrow(/options\.verifiedBundle must be/)
  }
})

test('a bundle that the caller verified is not verified again', async () => {
  const path = join(freshDirectory(), 'b')
  await tape.importBundle(archive, path, { durability: 'os' })
  // Nothing that the events need.
  const blob = Object.keys(filesIn(path)).find((name) => name.startsWith('blobs/'))!
  appendFileSync(join(path, blob), 'more')
  expect((await verifyBundle(path)).ok).toBe(false)
  let events = 0
  for await (const _ of readRunEvents(path, { verifiedBundle: true })) events += 1
  expect(events).toBe(BLOBS + 2)
  expect(await tape.replayRun(path, { verifiedBundle: true })).toMatchObject({ ok: true, eventCount: BLOBS + 2 })
  expect((await tape.verifyRun(path, { verifiedBundle: true })).chain).toMatchObject({ checked: BLOBS + 2, failed: 0 })
  await expect(readRunEvents(path).next()).rejects.toThrow()
  expect(await tape.replayRun(path)).toMatchObject({ ok: false })
  expect((await tape.verifyRun(path)).chain.failed).toBeGreaterThan(0)
})
