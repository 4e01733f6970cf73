// openSession: the result of replaySession for a file, with items that are read on demand.

import {
  appendFileSync,
  existsSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
} from 'node:fs'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { beforeAll, describe, expect } from 'vitest'
import { fc, test } from '../support/property'
import { openSession, replaySession } from '../../index.js'
import type { Progress, ReplayOptions, ReplayResult, SessionHandle } from '../../index.js'
import type { Event } from '../support/session-file.js'
import {
  PROJECT_HASH,
  compressed,
  content,
  envelope,
  rewind,
  session,
  sessionDirectory,
  sessionEvent,
  sessionOf,
  textsOf,
  writeSession,
} from '../support/session-file.js'
import { runs } from '../support/session-arbitraries.js'
import { anyFile } from '../support/line-arbitraries.js'
import { eachCase } from '../support/each-case.js'
import { eventually } from '../support/recording'
import { isLinux, runChild } from '../support/processes'
import { expectSame, expectSameReplay } from '../support/same-replay.js'

const CLOSED = { name: 'Error', code: 'ESESSIONCLOSED' }
const UNREADABLE = { name: 'Error', code: 'ESESSIONREAD' }

/** Opens a file that must open. */
async function open(filePath: string, options?: ReplayOptions): Promise<SessionHandle> {
  const opened = await openSession(filePath, undefined, options)
  if (!opened.ok) throw new Error(`expected a session, found: ${opened.error}`)
  return opened.session
}

/** A handle to a session with three items. */
const openThree = (): Promise<SessionHandle> => open(writeSession(session(content('a'), content('b'), content('c'))))

/** The data of a handle in the shape of a replay's result. */
async function replayThrough(handle: SessionHandle): Promise<ReplayResult> {
  const { historyLength, ...members } = { ...handle }
  expect(historyLength).toBe((await handle.items()).length)
  return { ok: true, history: await handle.items(), ...members }
}

async function expectAsReplayed(filePath: string, hash?: string, options?: ReplayOptions): Promise<void> {
  const replayed = await replaySession(filePath, hash, options)
  const opened = await openSession(filePath, hash, options)
  if (!opened.ok) return expectSameReplay(opened, replayed)
  expectSameReplay(await replayThrough(opened.session), replayed)
  expect(opened.session.historyLength).toBe(replayed.ok && replayed.history.length)
  opened.session.close()
}

/** Number of descriptors of this process that are open on the file, deleted or not. */
function descriptorsOf(filePath: string): number {
  return readdirSync('/proc/self/fd').filter((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`).startsWith(filePath)
    } catch {
      return false
    }
  }).length
}

// Some 20 MB with two compressions: of 2 000 items of 1 to 20 KB the last 800 remain, far more than is kept in memory.
const bigEvents: Event[] = []
for (let i = 0; i < 2000; i += 1) {
  bigEvents.push(content(`${i} ${'é'.repeat(500 + ((i * 7919) % 9500))}`))
  if (i === 400 || i === 1200) bigEvents.push(compressed(`up to ${i}`, i), sessionEvent(`compressed at ${i}`))
  if (i === 1500) bigEvents.push(rewind(3), content('instead'), content('and again'), content('and on'))
}
const bigText = sessionOf(bigEvents)
const writeBig = (): string => writeSession(bigText)
let big: string
let bigHistory: unknown[]
/** The offset in the file at which each item of the history ends. */
let bigEnds: number[]
beforeAll(async () => {
  big = writeBig()
  const replayed = await replaySession(big)
  bigHistory = replayed.ok ? replayed.history : []
  const bytes = readFileSync(big)
  let at = 0
  bigEnds = bigHistory.map((item) => {
    const text = JSON.stringify(item)
    at = bytes.indexOf(text, at) + Buffer.byteLength(text)
    return at
  })
})

describe('a handle agrees with a replay', () => {
  test('of a session without items', async () => {
    const handle = await open(writeSession(session()))
    expect(handle.historyLength).toBe(0)
    expect(await handle.items()).toStrictEqual([])
    expect(await handle.items(-3, 9)).toStrictEqual([])
    for await (const item of handle) expect.unreachable(String(item))
  })

  test('of a big session', async () => {
    expect(statSync(big).size).toBeGreaterThan(20_000_000)
    expect(bigHistory).toHaveLength(800)
    await expectAsReplayed(big, PROJECT_HASH)
  })

  test.prop([anyFile, fc.option(fc.nat({ max: 30 }), { nil: undefined }), fc.boolean(), fc.boolean()], runs(250))(
    'of any file',
    async (bytes, throughSeq, auditTrail, strict) => {
      const filePath = writeSession(bytes)
      await expectAsReplayed(filePath, undefined, { throughSeq, auditTrail, strict })
      rmSync(filePath)
    },
  )

  test('even if there is no session', () =>
    eachCase(
      [
        () => join(sessionDirectory(), 'none.jsonl'),
        () => sessionDirectory(),
        () => writeSession(''),
        () => writeSession('garbage\n'),
        () => 'a\0b',
      ],
      async (path) => {
        const opened = await openSession(path())
        expect(opened).toMatchObject({ ok: false, error: expect.any(String) })
        expectSameReplay(opened as ReplayResult, await replaySession(path()))
      },
    ))
})

describe('items', () => {
  const end = fc.oneof(
    fc.integer({ min: -12, max: 12 }),
    fc.double({ min: -12, max: 12 }),
    fc.constantFrom(
      undefined,
      -0,
      NaN,
      Infinity,
      -Infinity,
      2 ** 31,
      2 ** 32,
      2 ** 32 + 1,
      -(2 ** 32),
      2 ** 53,
      0.5,
      -0.5,
    ),
  )
  test.prop([fc.nat({ max: 9 }), fc.array(fc.tuple(end, end), { minLength: 1, maxLength: 12 })], runs(120))(
    'from … to: the same as Array.slice',
    async (length, ranges) => {
      const texts = Array.from({ length }, (_, i) => `${i}`)
      const filePath = writeSession(sessionOf(texts.map((text) => content(text))))
      const handle = await open(filePath)
      for (const [from, to] of ranges)
        expect(textsOf(await handle.items(from, to))).toStrictEqual(texts.slice(from, to))
      handle.close()
      rmSync(filePath)
    },
  )

  test('are new objects each time: changes by a caller have no effect on later ones', async () => {
    const handle = await openThree()
    const first = await handle.items()
    first[0]!.blocks.length = 0
    first.length = 1
    expect(textsOf(await handle.items())).toStrictEqual(['a', 'b', 'c'])
  })

  test('an end that is not a number synchronously throws a TypeError that names it', async () => {
    const items = (await openThree()).items as (...ends: unknown[]) => Promise<unknown>
    const handle = await openThree()
    for (const wrong of ['1', null, {}, 1n]) {
      expect(() => items.call(handle, wrong)).toThrow(
        expect.objectContaining({ name: 'TypeError', message: expect.stringContaining('from') }),
      )
      expect(() => items.call(handle, 0, wrong)).toThrow(
        expect.objectContaining({ name: 'TypeError', message: expect.stringContaining('to') }),
      )
    }
  })
})

describe('iterating', () => {
  test('a big file, two loops at once, and one that stops early', async () => {
    const handle = await open(big)
    const all = async () => {
      const items = []
      for await (const item of handle) items.push(item)
      return items
    }
    const both = await Promise.all([all(), all()])
    expectSame(both, [bigHistory, bigHistory])
    for await (const item of handle) {
      expectSame(item, bigHistory[0])
      break
    }
    expect(await handle.items(0, 1)).toHaveLength(1)
    handle.close()
  })

  test.prop([fc.nat({ max: 300 })], runs(10))(
    'ends with an error if the session is closed meanwhile',
    async (after) => {
      const handle = await open(writeSession(sessionOf(Array.from({ length: 500 }, (_, i) => content(`${i}`)))))
      let seen = 0
      await expect(async () => {
        for await (const _ of handle) if (seen++ === after) handle.close()
      }).rejects.toMatchObject(CLOSED)
    },
  )
})

describe('close', () => {
  test('ends access to the items, but not to other members; a second call does nothing', async () => {
    const handle = await openThree()
    handle.close()
    handle.close()
    await expect(handle.items()).rejects.toMatchObject(CLOSED)
    await expect(handle.items(5, 5)).rejects.toMatchObject(CLOSED)
    await expect(handle[Symbol.asyncIterator]().next()).rejects.toMatchObject(CLOSED)
    expect(handle).toMatchObject({
      historyLength: 3,
      lastSeq: 4,
      eventCount: 4,
      metadata: { projectHash: PROJECT_HASH },
    })
  })

  test.prop([fc.integer({ min: -800, max: 800 }), fc.boolean()], runs(10))(
    'while items are being read: they still arrive, complete',
    async (from, turn) => {
      const handle = await open(big)
      const underWay = handle.items(from)
      if (turn) await new Promise((resolve) => setImmediate(resolve))
      handle.close()
      const refused = expect(handle.items()).rejects.toMatchObject(CLOSED)
      expectSame(await underWay, bigHistory.slice(from))
      await refused
    },
  )
})

describe('a file that changes after it was opened', () => {
  /** Opens a big and a small session, changes their files, and returns both handles. */
  async function openedThen(change: (filePath: string) => void): Promise<SessionHandle[]> {
    const paths = [writeBig(), writeSession(session(content('a'), content('b')))]
    const handles = await Promise.all(paths.map((path) => open(path)))
    paths.forEach(change)
    return handles
  }

  async function expectAsOpened(handles: SessionHandle[]): Promise<void> {
    expectSame(await handles[0]!.items(), bigHistory)
    expect(textsOf(await handles[1]!.items())).toStrictEqual(['a', 'b'])
    for (const handle of handles) handle.close()
  }

  test.skipIf(!isLinux)(
    'deleted, or replaced by another file: the items are still those that were opened',
    async () => {
      await expectAsOpened(await openedThen((path) => rmSync(path)))
      await expectAsOpened(await openedThen((path) => renameSync(writeSession('something else'), path)))
    },
  )

  const appended = fc.oneof(
    fc.uint8Array({ maxLength: 50 }),
    fc.constant(`${envelope(9999, compressed('all', 2))}\n${envelope(10_000, rewind(1e9))}\n`),
  )
  test.prop([appended], runs(5))(
    'appended to, with anything, even a compression: the session stays the same',
    async (more) => {
      await expectAsOpened(await openedThen((path) => appendFileSync(path, more)))
    },
  )

  test('truncated: the small one is in memory, the big one cannot be read beyond the cut', async () => {
    const [large, small] = (await openedThen((path) => truncateSync(path, 100))) as [SessionHandle, SessionHandle]
    expect(textsOf(await small.items())).toStrictEqual(['a', 'b'])
    await expect(large.items()).rejects.toMatchObject(UNREADABLE)
    await expect(large.items(-1)).rejects.toMatchObject(UNREADABLE)
    await expect(large[Symbol.asyncIterator]().next()).rejects.toMatchObject(UNREADABLE)
    // The handle is still open after the refusal.
    large.close()
    await expect(large.items()).rejects.toMatchObject(CLOSED)
  })

  test.prop([fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true })], runs(8))(
    'truncated anywhere: the items before the cut are returned, the others are refused',
    async (part) => {
      const path = writeBig()
      const handle = await open(path)
      const cut = Math.floor(bigEnds.at(-1)! * part)
      truncateSync(path, cut)
      const before = bigEnds.filter((end) => end <= cut).length
      expectSame(await handle.items(0, before), bigHistory.slice(0, before))
      await expect(handle.items(0, before + 1)).rejects.toMatchObject(UNREADABLE)
      handle.close()
      rmSync(path)
    },
  )

  // Overwritten items are refused, never returned. In a process of its own, since an open session might keep it from ending.
  for (const [job, codes] of [
    ['nothing', [800, 1, 1]],
    ['truncated', ['ESESSIONREAD', 'ESESSIONREAD', 'ESESSIONREAD']],
    ['overwritten', ['ESESSIONREAD', 'ESESSIONREAD', 'ESESSIONREAD']],
  ] as const) {
    test(`a process ends by itself without a close: ${job}`, async () => {
      const ended = await runChild('child-open-session.mjs', [job, writeBig()])
      expect(JSON.parse(ended.stdout)).toStrictEqual(codes)
      expect(ended).toMatchObject({ code: 0, signal: null, stderr: '' })
    })
  }
})

describe('signal and onProgress', () => {
  test.prop([fc.nat({ max: 9 }), fc.anything().filter((reason) => reason !== undefined)], runs(10))(
    'aborted before or during the scan: rejects with the reason',
    async (when, reason) => {
      const controller = new AbortController()
      let told = 0
      const abort = () => controller.abort(reason)
      const opening = openSession(big, undefined, {
        signal: controller.signal,
        onProgress: () => void (told++ === when && abort()),
      })
      const found = await opening.then(
        (opened) => (opened.ok ? opened.session.close() : opened),
        (error: unknown) => ({ error }),
      )
      // A quick scan may report progress fewer times than that.
      expectSame(found, told > when ? { error: reason } : undefined)
      abort()
      const late = openSession(big, undefined, { signal: controller.signal })
      expectSame(await late.catch((error: unknown) => ({ error })), { error: reason })
    },
  )

  test('aborted afterwards: the handle is not affected', async () => {
    const controller = new AbortController()
    const handle = await open(big, { signal: controller.signal })
    controller.abort()
    expect(await handle.items(-5)).toHaveLength(5)
    handle.close()
  })

  test('progress increases up to the total, and an error of the callback rejects the call', async () => {
    const told: Progress[] = []
    ;(await open(big, { onProgress: (progress) => told.push({ ...progress }) })).close()
    const size = statSync(big).size
    expect(told.at(-1)).toStrictEqual({ bytes: size, total: size })
    expect(told.length).toBeGreaterThan(1)
    for (let i = 1; i < told.length; i += 1) expect(told[i]!.bytes).toBeGreaterThan(told[i - 1]!.bytes)
    const mistake = new Error('in the callback')
    await expect(
      openSession(big, undefined, {
        onProgress: () => {
          throw mistake
        },
      }),
    ).rejects.toBe(mistake)
  })
})

describe.skipIf(!existsSync('/proc/self/fd'))('descriptors', () => {
  test('one while a big file is open, none after close', async () => {
    const path = writeBig()
    const handle = await open(path)
    expect(descriptorsOf(path)).toBe(1)
    await Promise.all([handle.items(), handle.items(-1), handle.items(3, 4)])
    expect(descriptorsOf(path)).toBe(1)
    handle.close()
    await eventually('the file is closed', () => descriptorsOf(path) === 0)
  })

  // There is no handle to close. The garbage collector cannot be relied on: it does not run because of descriptors.
  test('none after sessions that could not be opened', async () => {
    const path = writeBig()
    for (let i = 0; i < 20; i += 1) expect((await openSession(path, 'other')).ok).toBe(false)
    expect(descriptorsOf(path)).toBeLessThan(5)
  })

  test('none after sessions whose opening was aborted', async () => {
    const path = writeBig()
    for (let i = 0; i < 20; i += 1) {
      const controller = new AbortController()
      await expect(
        openSession(path, undefined, { signal: controller.signal, onProgress: () => controller.abort() }),
      ).rejects.toThrow()
    }
    // The scan of the last ones may need a moment to notice.
    await eventually('the files are closed', () => descriptorsOf(path) < 5)
  })

  test('none after sessions whose opening was aborted when their replay had finished', async () => {
    const path = writeBig()
    const wait = new Int32Array(new SharedArrayBuffer(4))
    for (let i = 0; i < 10; i += 1) {
      const controller = new AbortController()
      const abort = () => {
        Atomics.wait(wait, 0, 0, 50)
        controller.abort()
      }
      await expect(openSession(path, undefined, { signal: controller.signal, onProgress: abort })).rejects.toThrow()
    }
    await eventually('the files are closed', () => descriptorsOf(path) === 0)
  })

  test('none when handles that nobody closed are collected', async () => {
    setFlagsFromString('--expose-gc')
    const gc = runInNewContext('gc') as () => void
    const paths = [writeBig(), writeBig()]
    for (const path of paths) for (let i = 0; i < 3; i += 1) await (await open(path)).items(0, 2)
    await expect((await open(paths[0]!)).items(0, 400)).resolves.toHaveLength(400)
    await eventually('all files are closed', () => {
      gc()
      return paths.every((path) => descriptorsOf(path) === 0)
    })
  })
})
