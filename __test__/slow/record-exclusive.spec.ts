/**
 * `exclusive: true`: one recorder per file, across threads and processes too. The lock is a file next to the session file
 * that names its owner; it is released when its owner ends, so that a dead process never blocks the file.
 */
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { hostname } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { Worker } from 'node:worker_threads'
import { fc, test } from '../support/property'
import { afterEach, describe, expect, vi } from 'vitest'
import {
  type Recorder,
  type Warning,
  eventually,
  freshDirectory,
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
import { isLinux, runChild } from '../support/processes'

const CHILD = 'child-exclusive.mjs'
const THIS_PROCESS = {
  pid: process.pid,
  startTime: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
  host: hostname(),
}

const lockOf = (path: string): string => `${path}.lock`
const textsOf = (path: string): string[] =>
  recordsOf(path)
    .filter(({ type }) => type === 'content')
    .map(({ payload }) => payload.content.blocks[0].text)

/** An exclusive recorder that continues the session in `path`. */
function claim(path: string): { recorder: Recorder; warnings: Warning[] } {
  const claimed = watchedRecorder({ exclusive: true })
  claimed.recorder.initializeForResume(path, 1)
  return claimed
}

/** Asserts that the file is free: an exclusive recorder gets it at once, and releases it. */
async function expectFree(path: string): Promise<void> {
  const { recorder, warnings } = claim(path)
  expect(warnings).toEqual([])
  expect(recorder.isActive()).toBe(true)
  await recorder.dispose()
}

describe('the lock', () => {
  test('is next to the file that the first content creates, and names its owner', async () => {
    const { recorder, path, warnings } = await startedRecorder({ exclusive: true })
    expect(readdirSync(dirname(path)).sort()).toEqual(
      [path, lockOf(path)].map((one) => one.slice(dirname(path).length + 1)),
    )
    const owner = JSON.parse(readFileSync(lockOf(path), 'utf8'))
    expect(owner).toEqual(THIS_PROCESS)
    expect(Object.keys(owner)).toEqual(['pid', 'startTime', 'host'])
    // The start of the process, not of the recorder. Node's figures agree with it to about a second.
    expect(Math.abs(Date.parse(owner.startTime) - (Date.now() - process.uptime() * 1000))).toBeLessThan(10_000)
    await recorder.dispose()
    expect(readdirSync(dirname(path))).toHaveLength(1)
    expect(warnings).toEqual([])
  })

  test.prop([fc.nat({ max: 6 })], { numRuns: 10 })(
    'does not exist before the first content, and never exists without content',
    async (buffered) => {
      const directory = freshDirectory()
      const recorder = newRecorder({ exclusive: true, chatsDir: directory })
      for (let i = 0; i < buffered; i++) recorder.recordSessionEvent('info', 'buffered')
      await recorder.flush()
      expect(readdirSync(directory)).toEqual([])
      await recorder.dispose()
      expect(readdirSync(directory)).toEqual([])
    },
  )

  test('that cannot be created ends the recording as any other fault does', async () => {
    const path = await recordedSession()
    mkdirSync(lockOf(path))
    const { recorder, warnings } = claim(path)
    recorder.recordContent(said('lost'))
    await expect(recorder.flush()).rejects.toMatchObject({ code: 'EISDIR', syscall: 'open', path })
    expect(await theWarning(warnings)).toMatchObject({ code: 'EISDIR', eventsDropped: 1 })
    expect(recorder.isActive()).toBe(false)
    expect(textsOf(path)).toEqual(['first'])
  })
})

describe('a second exclusive recorder', () => {
  /** A file that a recorder of this process holds exclusively. */
  async function held(): Promise<{ owner: Recorder; path: string }> {
    const { recorder, path } = await startedRecorder({ exclusive: true })
    return { owner: recorder, path }
  }

  test.prop([fc.nat({ max: 5 })], { numRuns: 15 })(
    'records nothing and gets one warning that names the owner',
    async (buffered) => {
      const { owner, path } = await held()
      const before = readFileSync(path)
      const { recorder, warnings } = watchedRecorder({ exclusive: true })
      for (let i = 0; i < buffered; i++) recorder.recordSessionEvent('info', `${i}`)
      recorder.initializeForResume(path, 2)
      expect(recorder.isActive()).toBe(false)
      // The warning is given after the call, never within it.
      expect(warnings).toEqual([])
      recorder.recordContent(said('lost'))
      recorder.initializeForResume(path, 2)
      await expect(recorder.flush()).resolves.toBeUndefined()
      const warning = await theWarning(warnings)
      expect(warning).toEqual({
        code: 'ESESSIONLOCKED',
        message: expect.stringContaining(path),
        filePath: path,
        eventsDropped: buffered + 1,
        owner: THIS_PROCESS,
      })
      expect([recorder.getPendingRecordCount(), recorder.getPendingByteCount()]).toEqual([0, 0])
      await recorder.dispose()
      expect(warnings).toHaveLength(1)
      expect(readFileSync(path)).toEqual(before)
      expect(existsSync(lockOf(path))).toBe(true)

      owner.recordContent(said('undisturbed'))
      await owner.dispose()
      expect(textsOf(path)).toEqual(['all is well', 'undisturbed'])
    },
  )

  test('in a worker thread', async () => {
    const { owner, path } = await held()
    const worker = new Worker(fileURLToPath(new URL(`../support/${CHILD}`, import.meta.url)), { argv: ['tryIt', path] })
    const report = await new Promise((resolve, reject) => worker.once('message', resolve).once('error', reject))
    expect(report).toMatchObject({
      active: false,
      warnings: [{ code: 'ESESSIONLOCKED', filePath: path, eventsDropped: 1, owner: THIS_PROCESS }],
    })
    await owner.dispose()
    expect(textsOf(path)).toEqual(['all is well'])
  })

  test('in another process', async () => {
    const { owner, path } = await held()
    const { stdout } = await runChild(CHILD, ['tryIt', path])
    expect(JSON.parse(stdout)).toMatchObject({
      active: false,
      warnings: [{ code: 'ESESSIONLOCKED', owner: THIS_PROCESS }],
    })
    expect(textsOf(path)).toEqual(['all is well'])
    await owner.dispose()
    expect(JSON.parse((await runChild(CHILD, ['tryIt', path])).stdout)).toEqual({ active: true, warnings: [] })
    expect(textsOf(path)).toEqual(['all is well', 'tried'])
  })

  test('through a symbolic link to the file', async () => {
    const { owner, path } = await held()
    symlinkSync(path, `${path}.alias`)
    const { recorder, warnings } = claim(`${path}.alias`)
    expect(recorder.isActive()).toBe(false)
    expect((await theWarning(warnings)).code).toBe('ESESSIONLOCKED')
    await owner.dispose()
  })

  const anyOwner = fc.oneof(
    fc.uint8Array({ maxLength: 40 }),
    fc
      .constantFrom(
        '',
        'null',
        '7',
        '"me"',
        '[]',
        '{}',
        '{"pid":1}',
        '{"pid":"1","startTime":2,"host":null}',
        '{"pid":1',
      )
      .map((text) => Buffer.from(text)),
  )
  test.prop([anyOwner], { numRuns: 40 })(
    'is refused even if the lock file cannot be understood, with a warning without an owner',
    async (bytes) => {
      const { owner, path } = await held()
      writeFileSync(lockOf(path), bytes)
      const warning = await theWarning(claim(path).warnings)
      expect(warning).toMatchObject({
        code: 'ESESSIONLOCKED',
        message: expect.not.stringContaining('undefined'),
        filePath: path,
      })
      expect(warning.owner).toBeUndefined()
      await owner.dispose()
    },
  )
})

test.prop([fc.array(fc.nat({ max: 8 }), { maxLength: 4 }), fc.nat({ max: 4 })], { numRuns: 25 })(
  'recorders that are not exclusive are not blocked and do not block others',
  async (counts, when) => {
    const path = await recordedSession()
    const recorders: { recorder: Recorder; warnings: Warning[] }[] = counts.map(() => watchedRecorder())
    for (const { recorder } of recorders) recorder.initializeForResume(path, 1)
    recorders.splice(when, 0, claim(path))
    const expected = ['first']
    recorders.forEach(({ recorder }, who) => {
      for (let i = 0; i <= (counts[who] ?? 3); i++) {
        recorder.recordContent(said(`${who}-${i}`))
        expected.push(`${who}-${i}`)
      }
    })
    expect(recorders.every(({ recorder }) => recorder.isActive())).toBe(true)
    await Promise.all(recorders.map(({ recorder }) => recorder.dispose()))
    expect(textsOf(path).sort()).toEqual(expected.sort())
    expect(recorders.flatMap(({ warnings }) => warnings)).toEqual([])
  },
)

describe('the end of an owner', () => {
  test.prop([fc.integer({ min: 1, max: 200 }), fc.nat({ max: 60_000 })], { numRuns: 8 })(
    'disposed of without waiting: the next recorder gets the file only after the last record',
    async (count, size) => {
      const path = await recordedSession()
      const { recorder } = claim(path)
      const long = 'x'.repeat(size)
      for (let i = 0; i < count; i++) recorder.recordContent(said(long))
      const disposed = recorder.dispose()
      expect(recorder.isActive()).toBe(false)
      let next: Recorder
      await eventually('the file is free', () => (next = claim(path).recorder).isActive())
      expect(linesOf(path)).toHaveLength(2 + count)
      await next!.dispose()
      await disposed
    },
  )

  test('killed: the next recorder gets the file although the lock file still exists', async () => {
    const path = await recordedSession()
    let refused: Promise<Warning> | undefined
    const ended = await runChild(CHILD, ['holdForever', path], {
      onLine: (_, kill) => {
        refused = theWarning(claim(path).warnings).finally(() => kill('SIGKILL'))
      },
    })
    expect(ended.signal).toBe('SIGKILL')
    const { pid } = JSON.parse(ended.stdout)
    expect(await refused).toMatchObject({ code: 'ESESSIONLOCKED', owner: { ...THIS_PROCESS, pid } })
    expect(JSON.parse(readFileSync(lockOf(path), 'utf8'))).toEqual({ ...THIS_PROCESS, pid })
    const { recorder } = claim(path)
    expect(recorder.isActive()).toBe(true)
    expect(JSON.parse(readFileSync(lockOf(path), 'utf8'))).toEqual(THIS_PROCESS)
    recorder.recordContent(said('next'))
    await recorder.dispose()
    expect(textsOf(path)).toEqual(['first', 'held', 'next'])
  })

  test('a process that never released the file ends by itself, and the file is free', async () => {
    for (const job of ['holdAndEnd', 'holdAndExit']) {
      const path = await recordedSession()
      const ended = await runChild(CHILD, [job, path])
      expect(ended).toMatchObject({ code: 0, signal: null, stderr: '' })
      expect(JSON.parse(ended.stdout).active).toBe(true)
      await expectFree(path)
      expect(textsOf(path)).toEqual(['first', 'held'])
    }
  })

  // Regression test: the lock outlived the worker by some milliseconds, in which the writer looked for more work.
  test('a worker thread that is terminated: the file is free when terminate resolves', async () => {
    const path = await recordedSession()
    for (const job of ['holdForever', 'claimForever', 'holdForever', 'writeForever', 'writeForever']) {
      const worker = new Worker(fileURLToPath(new URL(`../support/${CHILD}`, import.meta.url)), { argv: [job, path] })
      await new Promise((resolve, reject) => worker.once('message', resolve).once('error', reject))
      expect(claim(path).recorder.isActive()).toBe(false)
      await worker.terminate()
      expect(existsSync(lockOf(path))).toBe(false)
      await expectFree(path)
    }
  })

  test.prop(
    [fc.constantFrom(unlinkSync, (path: string) => renameSync(path, `${path}.moved`)), fc.integer({ min: 1, max: 20 })],
    { numRuns: 8 },
  )('failed: it releases a file that was deleted or moved', async (lose, lost) => {
    const { recorder, warnings, path } = await startedRecorder({ exclusive: true })
    lose(path)
    for (let i = 0; i < lost; i++) recorder.recordContent(said('lost'))
    await recorder.flush()
    expect((await theWarning(warnings)).code).toBe('ENOENT')
    await eventually('the lock is gone', () => !existsSync(lockOf(path)))
    writeFileSync(path, '')
    await expectFree(path)
  })

  test('refused at its second file: it releases the first', async () => {
    const [first, second] = [await recordedSession(), await recordedSession()]
    const owner = claim(second).recorder
    const { recorder, warnings } = claim(first)
    recorder.initializeForResume(second, 1)
    expect((await theWarning(warnings)).owner).toEqual(THIS_PROCESS)
    expect(recorder.isActive()).toBe(false)
    // The lock file is removed on the writer's thread, since removing it may wait for the disk.
    await eventually('the lock is gone', () => !existsSync(lockOf(first)))
    await expectFree(first)
    await owner.dispose()
  })

  test('forgotten: the lock is released when the recorder is collected', async () => {
    setFlagsFromString('--expose-gc')
    const gc = runInNewContext('gc') as () => void
    const path = await recordedSession()
    ;(() => claim(path).recorder.recordContent(said('kept')))()
    await eventually('the lock is gone', () => {
      gc()
      return !existsSync(lockOf(path))
    })
    await expectFree(path)
    expect(textsOf(path)).toEqual(['first', 'kept'])
  })
})

describe('one recorder, several resumes', () => {
  test.prop([fc.nat({ max: 9 }), fc.nat({ max: 9 })], { numRuns: 15 })(
    'of another file: the records are in their files, and neither stays locked',
    async (here, there) => {
      const [first, second] = [await recordedSession(), await recordedSession()]
      const { recorder, warnings } = claim(first)
      for (let i = 0; i < here; i++) recorder.recordContent(said('here'))
      recorder.initializeForResume(second, 2)
      for (let i = 0; i < there; i++) recorder.recordContent(said('there'))
      expect(claim(second).recorder.isActive()).toBe(false)
      await recorder.flush()
      // The first file is released at the latest when something is written to the second.
      if (there > 0) await eventually('the first file is free', () => !existsSync(lockOf(first)))
      await recorder.dispose()
      expect([textsOf(first), textsOf(second), warnings]).toEqual([
        ['first', ...Array(here).fill('here')],
        ['first', ...Array(there).fill('there')],
        [],
      ])
      await eventually('both files are free', () => ![first, second].some((path) => existsSync(lockOf(path))))
    },
  )
})

test.prop([fc.uint8Array({ maxLength: 300 })], { numRuns: 40 })(
  'a lock file without a holder is taken over, whatever its content',
  async (rubbish) => {
    const path = await recordedSession()
    writeFileSync(lockOf(path), rubbish)
    const { recorder, warnings } = claim(path)
    expect(recorder.isActive()).toBe(true)
    expect(JSON.parse(readFileSync(lockOf(path), 'utf8'))).toEqual(THIS_PROCESS)
    await recorder.dispose()
    expect(warnings).toEqual([])
    expect(existsSync(lockOf(path))).toBe(false)
  },
)

describe('the session file', () => {
  afterEach(() => void vi.useRealTimers())

  const event = fc.oneof(
    fc.string().map((text) => ['content', { content: said(text) }] as const),
    fc.tuple(fc.constantFrom('rewind', 'note'), fc.jsonValue()),
  )
  test.prop([fc.array(event, { maxLength: 12 }), fc.constantFrom('os', 'fsync')], { numRuns: 40 })(
    'has the same bytes as without `exclusive`',
    async (events, durability) => {
      vi.useFakeTimers({ toFake: ['Date'], now: 1_770_000_000_000 })
      const written = []
      for (const exclusive of [false, true]) {
        const recorder = newRecorder({ exclusive, durability })
        recorder.recordContent(said('first'))
        for (const [type, payload] of events) recorder.enqueue(type, payload)
        await recorder.dispose()
        written.push(readFileSync(pathOf(recorder)))
      }
      expect(written[1]).toEqual(written[0])
    },
  )
})

describe('there are never two owners', () => {
  const step = fc.record({
    does: fc.constantFrom('claim', 'claim', 'record', 'dispose', 'disposeAndWait'),
    at: fc.nat({ max: 9 }),
  })
  test.prop([fc.array(step, { maxLength: 25 })], { numRuns: 60 })(
    'in any order of claims and disposals',
    async (steps) => {
      const path = await recordedSession()
      const claimed: { recorder: Recorder; warnings: Warning[]; refused: boolean }[] = []
      let recorded = 0
      const active = () => claimed.filter(({ recorder }) => recorder.isActive())
      for (const { does, at } of steps) {
        const one = claimed[at % Math.max(1, claimed.length)]
        if (does === 'claim') {
          const free = !existsSync(lockOf(path))
          const next = claim(path)
          claimed.push({ ...next, refused: !next.recorder.isActive() })
          if (free) expect(next.recorder.isActive()).toBe(true)
        } else if (does === 'record' && one) {
          if (one.recorder.isActive()) recorded++
          one.recorder.recordContent(said('x'))
        } else if (one) {
          const disposed = one.recorder.dispose()
          if (does === 'disposeAndWait') await disposed
        }
        expect(active().length).toBeLessThanOrEqual(1)
        // After the disposal of the only owner, the file is free.
        if (
          does === 'disposeAndWait' &&
          claimed.every(({ recorder, refused }) => refused || recorder === one?.recorder)
        )
          expect(existsSync(lockOf(path))).toBe(false)
      }
      await Promise.all(claimed.map(({ recorder }) => recorder.dispose()))
      await new Promise((resolve) => setImmediate(resolve))
      expect(existsSync(lockOf(path))).toBe(false)
      expect(textsOf(path)).toHaveLength(1 + recorded)
      for (const { warnings, refused } of claimed)
        expect(warnings.map(({ code }) => code)).toEqual(refused ? ['ESESSIONLOCKED'] : [])
    },
  )

  test.skipIf(!isLinux)('among three processes that contend for the file', async () => {
    const path = await recordedSession()
    const log = join(freshDirectory(), 'log')
    appendFileSync(log, '')
    const ended = await Promise.all([1, 2, 3].map(() => runChild(CHILD, ['contend', path, log, '25'])))
    for (const { code, stderr } of ended) expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    const marks = readFileSync(log, 'utf8').trimEnd().split('\n')
    expect(marks).toHaveLength(150)
    for (let i = 0; i < marks.length; i += 2)
      expect([marks[i], marks[i + 1]]).toEqual([marks[i], marks[i]!.replace('enter', 'leave')])
    expect(new Set(textsOf(path)).size).toBe(76)
    expect(existsSync(lockOf(path))).toBe(false)
  })
})
