/** A purge of media from a stream: the same record, in pieces, and nothing of it if the stream ends early. */
import {
  appendFileSync,
  existsSync,
  readFileSync,
  readdirSync,
  renameSync,
  statSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { once } from 'node:events'
import { dirname, resolve } from 'node:path'
import { Worker } from 'node:worker_threads'
import { describe, expect } from 'vitest'
import { fc, test } from '../support/property'
import { type Commit, acquireSessionLock } from '../../index.js'
import {
  type Content,
  type Recorder,
  type RecorderConfig,
  SessionRecordingService,
  eventually,
  freshDirectory,
  linesOf,
  newRecorder,
  pathOf,
  recorderConfig,
  recordsOf,
  replaySession,
  said,
  startedRecorder,
} from '../support/recording'
import { runChild } from '../support/processes'

const entry = resolve('index.js')
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
const at = (contentIndex: number, blockIndex = 0) => ({ contentIndex, blockIndex })

async function* stream(items: readonly unknown[], before = async () => {}): AsyncGenerator<Content> {
  for (const item of items) {
    await before()
    yield item as Content
  }
}

/** A stream that is fed from outside. */
function fed() {
  const waiting: ((result: IteratorResult<Content>) => void)[] = []
  const ready: IteratorResult<Content>[] = []
  let returned = 0
  const put = (result: IteratorResult<Content>) => (waiting.length > 0 ? waiting.shift()!(result) : ready.push(result))
  const rows: AsyncIterable<Content> = {
    [Symbol.asyncIterator]: () => ({
      next: () => new Promise((settle) => (ready.length > 0 ? settle(ready.shift()!) : waiting.push(settle))),
      return: async () => (returned++, { done: true as const, value: undefined }),
    }),
  }
  return {
    rows,
    put: (value: Content) => put({ done: false, value }),
    end: () => put({ done: true, value: undefined }),
    returned: () => returned,
  }
}

const withoutTime = (line: string) => line.replace(/"ts":"[^"]*"/, '"ts":""')
const typesOf = (path: string) => recordsOf(path).map(({ seq, type }) => `${seq} ${type}`)

describe('the record', () => {
  const item: fc.Arbitrary<Content> = fc.record({
    speaker: fc.constantFrom('human' as const, 'ai' as const, 'tool' as const),
    blocks: fc.array(fc.record({ type: fc.constant('text'), text: fc.string({ unit: 'binary' }) }), {
      minLength: 1,
      maxLength: 3,
    }),
  }) as never
  test.prop([fc.array(item, { maxLength: 8 }), fc.nat(), fc.boolean()], { numRuns: 60 })(
    'has the bytes that the same items have in one call',
    async (items, place, isSync) => {
      const frontier = items.length === 0 ? at(0) : at(place % items.length)
      const recorder = newRecorder()
      recorder.recordContent(said('a'))
      recorder.recordSemanticMediaPurge(items, frontier)
      const { seq } = await recorder.recordSemanticMediaPurgeRows(isSync ? items : stream(items), frontier)
      await recorder.dispose()
      const [one, other] = linesOf(pathOf(recorder)).slice(2)
      expect(withoutTime(other!)).toBe(withoutTime(one!).replace('"seq":3', '"seq":4'))
      expect(seq).toBe(4)
      expect(await replaySession(pathOf(recorder), undefined, { strict: true })).toMatchObject({
        ok: true,
        history: items,
        semanticMediaPurgeFrontier: frontier,
      })
    },
  )

  test('is acknowledged with the end of its line, in version 2, and makes the file with what waited for it', async () => {
    for (const durability of ['os', 'fsync'] as const) {
      const recorder = newRecorder({ durability })
      const line = recorder.enqueue('note', 1)!
      const commit = await recorder.recordSemanticMediaPurgeRows(stream([said('a')]), at(0))
      expect(commit).toEqual({ seq: 3, byteOffset: statSync(pathOf(recorder)).size })
      expect(await recorder.waitForCommit(line)).toMatchObject({ seq: 2 })
      expect(recorder.getPendingRecordCount()).toBe(0)
      await recorder.dispose()
      expect(recordsOf(pathOf(recorder)).map(({ v, seq, type }) => [v, seq, type])).toEqual([
        [1, 1, 'session_start'],
        [1, 2, 'note'],
        [2, 3, 'semantic_media_purge'],
      ])
    }
  })

  test('is written in pieces of at most 256 KiB of whole characters, also within one large item', async () => {
    const pieces: string[] = []
    const recorder = newRecorder({
      appendFile: async (path, data) => void (pieces.push(data), appendFileSync(path, data)),
    })
    recorder.recordContent(said('a'))
    await recorder.flush()
    const items = [said('€'.repeat(400_000)), ...Array.from({ length: 300 }, (_, i) => said('🦀'.repeat(i * 13)))]
    await recorder.recordSemanticMediaPurgeRows(stream(items), at(3))
    await recorder.dispose()
    const sizes = pieces.slice(1).map((piece) => Buffer.byteLength(piece))
    expect(sizes.length).toBeGreaterThan(6)
    expect(Math.max(...sizes)).toBeLessThanOrEqual(256 * 1024)
    expect(recordsOf(pathOf(recorder))[2]!.payload).toEqual({ history: items, frontier: at(3) })
  })

  test('is never held: 160 MB pass through a heap of 32 MB, with a signal and without', async () => {
    for (const hasSignal of [false, true]) {
      const worker = new Worker(
        `
        const { workerData, parentPort } = require('node:worker_threads');
        const { SessionRecordingService } = require(workerData.entry);
        const recorder = new SessionRecordingService({ sessionId: 's', projectHash: 'p', chatsDir: workerData.chatsDir, workspaceDirs: [], provider: 'p', model: 'm' });
        async function* rows() {
          for (let i = 0; i < 8000; i++) yield { speaker: 'human', blocks: [{ type: 'text', text: i + 'x'.repeat(20_000) }] };
        }
        const options = workerData.hasSignal ? { signal: new AbortController().signal } : undefined;
        recorder.recordSemanticMediaPurgeRows(rows(), { contentIndex: 7999, blockIndex: 0 }, options).then((commit) => parentPort.postMessage(commit));`,
        {
          eval: true,
          workerData: { entry, hasSignal, chatsDir: freshDirectory() },
          resourceLimits: { maxOldGenerationSizeMb: 32, maxYoungGenerationSizeMb: 8 },
        },
      )
      const [{ seq, byteOffset }] = (await once(worker, 'message')) as [Commit]
      expect([seq, byteOffset > 160_000_000]).toEqual([2, true])
      await worker.terminate()
    }
  })

  test('is in the file in part while the stream goes on', async () => {
    const { recorder, path } = await startedRecorder()
    const { size } = statSync(path)
    const { rows, put, end } = fed()
    const recorded = recorder.recordSemanticMediaPurgeRows(rows, at(0))
    put(said('x'.repeat(600_000)))
    await eventually('a part in the file', () => statSync(path).size > size + 500_000)
    expect(await replaySession(path)).toMatchObject({ ok: true, history: [said('all is well')], warnings: [] })
    end()
    await recorded
    expect(recordsOf(path)).toHaveLength(3)
    await recorder.dispose()
  })
})

describe('what is recorded meanwhile', () => {
  test('has its number at once, waits, and follows in order; so do flush, commits and another purge', async () => {
    const { recorder, path } = await startedRecorder()
    const { rows, put, end } = fed()
    const order: string[] = []
    const note = (name: string) => (promise: Promise<unknown>) => void promise.then(() => order.push(name))
    note('purge')(recorder.recordSemanticMediaPurgeRows(rows, at(0)))
    expect(recorder.enqueue('note', 1)!.seq).toBe(4)
    expect(recorder.getLastEnqueuedSequence()).toBe(4)
    expect(recorder.getPendingRecordCount()).toBe(2)
    note('commit')(recorder.commit('note', 2))
    const batch = recorder.prepareContentBatch.bind(recorder)
    expect(() => batch([said('x')])).toThrow('Cannot record content batch while recording is draining')
    expect(() => recorder.reconcile([])).toThrow('Cannot reconcile: a record is being written in parts')
    expect(() => recorder.initializeForResume(path, 2)).toThrow('Cannot resume: a record is being written in parts')
    note('second')(recorder.recordSemanticMediaPurgeRows(stream([]), at(0)))
    note('flush')(recorder.flush())
    put(said('a'))
    await turn()
    await turn()
    expect(order).toEqual([])
    end()
    await recorder.flush()
    expect(order.slice(0, 2)).toEqual(['purge', 'commit'])
    await recorder.dispose()
    expect(typesOf(path)).toEqual([
      '1 session_start',
      '2 content',
      '3 semantic_media_purge',
      '4 note',
      '5 note',
      '6 semantic_media_purge',
    ])
  })

  test('moves up with a purge that itself waits, if the one before ends early; and only behind the one that does', async () => {
    for (const [fails, numbers] of [
      [
        [true, false],
        [3, 4, 5],
      ],
      [
        [false, true],
        [4, undefined, 5],
      ],
      [
        [true, true],
        [3, undefined, 4],
      ],
    ] as const) {
      const { recorder, path } = await startedRecorder()
      const rows = async function* (isFailing: boolean) {
        yield said('x'.repeat(300_000))
        await turn()
        if (isFailing) throw new Error('stopped')
      }
      const first = recorder.recordSemanticMediaPurgeRows(rows(fails[0]), at(0)).catch(() => undefined)
      const between = recorder.enqueue('note', 1)!
      const second = recorder.recordSemanticMediaPurgeRows(rows(fails[1]), at(0)).catch(() => undefined)
      const after = recorder.enqueue('note', 2)!
      expect([between.seq, after.seq]).toEqual([4, 6])
      const commits = [recorder.waitForCommit(between), second, recorder.waitForCommit(after)]
      await first
      expect((await Promise.all(commits)).map((commit) => commit?.seq)).toEqual(numbers)
      expect([(await recorder.waitForCommit(between)).seq, (await recorder.waitForCommit(after)).seq]).toEqual([
        numbers[0],
        numbers[2],
      ])
      await recorder.dispose()
      expect(recordsOf(path).map(({ seq }) => seq)).toEqual(recordsOf(path).map((_, index) => index + 1))
      expect(recordsOf(path).at(-1)).toMatchObject({ seq: numbers[2], type: 'note', payload: 2 })
    }
  })

  test('is compared with what the purge has made of the history', async () => {
    const { recorder, path } = await startedRecorder()
    const items = [said('a'), said('b')]
    expect(recorder.reconcile([said('all is well')])).toEqual({ removed: 0, added: 0, replaced: 0 })
    await recorder.recordSemanticMediaPurgeRows(stream(items), at(1))
    expect(recorder.reconcile([...items, said('c')])).toEqual({ removed: 0, added: 1, replaced: 0 })
    await recorder.dispose()
    expect(recordsOf(path)).toHaveLength(4)
  })
})

/** Ways in which a stream ends early, and what the promise rejects with. */
const ENDS: [what: string, rows: (size: number) => AsyncIterable<Content>, rejection: unknown][] = [
  [
    'throws',
    async function* (size) {
      yield said('x'.repeat(size))
      throw new Error('stopped')
    },
    new Error('stopped'),
  ],
  [
    'yields no object',
    (size) => stream([said('x'.repeat(size)), 7]),
    expect.objectContaining({ name: 'TypeError', message: 'rows[1] must be an object, got 7' }),
  ],
  ["yields what can't be serialised", (size) => stream([said('x'.repeat(size)), { n: 1n }]), expect.any(TypeError)],
  [
    'does not reach the frontier',
    (size) => stream([said('x'.repeat(size))]),
    expect.objectContaining({ message: expect.stringContaining('frontier must be a block of the history') }),
  ],
]

describe.each(ENDS)('a stream that %s', (_, rows, rejection) => {
  test.each([
    [10, 'os'],
    [900_000, 'os'],
    [900_000, 'fsync'],
  ] as const)('leaves file and numbers as they were (%i, %s)', async (size, durability) => {
    const { recorder, path, warnings } = await startedRecorder({ durability })
    const bytes = readFileSync(path)
    await expect(recorder.recordSemanticMediaPurgeRows(rows(size), at(1))).rejects.toEqual(rejection)
    expect(readFileSync(path)).toEqual(bytes)
    expect([recorder.getLastEnqueuedSequence(), recorder.getPendingRecordCount()]).toEqual([2, 0])
    expect(await recorder.commit('note', 1)).toMatchObject({ seq: 3 })
    await recorder.dispose()
    expect(typesOf(path)).toEqual(['1 session_start', '2 content', '3 note'])
    expect(warnings).toEqual([])
  })

  test('leaves no file that it made, while an event waited for it; a record that makes the file keeps it', async () => {
    for (const maker of [undefined, 'content', 'commit', 'purge'] as const) {
      const recorder = newRecorder()
      const before = recorder.enqueue('note', 1)!
      const recorded = recorder.recordSemanticMediaPurgeRows(rows(900_000), at(1))
      const during = recorder.enqueue('note', 2)!
      const commits = Promise.all([recorder.waitForCommit(before), recorder.waitForCommit(during)])
      expect(during.seq).toBe(4)
      if (maker === 'content') recorder.recordContent(said('a'))
      else if (maker === 'commit') recorder.commit('note', 3).catch(() => {})
      else if (maker === 'purge') recorder.recordSemanticMediaPurgeRows([], at(0)).catch(() => {})
      await expect(recorded).rejects.toEqual(rejection)
      if (maker === undefined) {
        expect([recorder.getFilePath(), recorder.getLastEnqueuedSequence(), recorder.getPendingRecordCount()]).toEqual([
          null,
          3,
          3,
        ])
        expect(readdirSync(recorder.getChatsDir())).toEqual([])
        recorder.recordContent(said('a'))
      }
      expect((await commits).map(({ seq }) => seq)).toEqual([2, 3])
      await recorder.flush()
      await recorder.dispose()
      expect(typesOf(pathOf(recorder)).slice(0, 3)).toEqual(['1 session_start', '2 note', '3 note'])
      expect(recordsOf(pathOf(recorder))).toHaveLength(4)
    }
  })
})

describe('an abort', () => {
  test('ends the wait for the next row, cuts the file back, and returns the iterator', async () => {
    const { recorder, path } = await startedRecorder()
    const bytes = readFileSync(path)
    const { rows, put, returned } = fed()
    const controller = new AbortController()
    const recorded = recorder.recordSemanticMediaPurgeRows(rows, at(0), { signal: controller.signal })
    put(said('x'.repeat(900_000)))
    await eventually('a part in the file', () => statSync(path).size > bytes.length)
    const reason = new Error('no longer wanted')
    controller.abort(reason)
    await expect(recorded).rejects.toBe(reason)
    expect(readFileSync(path)).toEqual(bytes)
    expect(returned()).toBe(1)
    expect(recorder.enqueue('note', 1)!.seq).toBe(3)
    await recorder.dispose()
  })

  test('before the call makes no file', async () => {
    const recorder = newRecorder()
    await expect(
      recorder.recordSemanticMediaPurgeRows(stream([]), at(0), { signal: AbortSignal.abort(new Error('early')) }),
    ).rejects.toThrow('early')
    expect(recorder.getFilePath()).toBeNull()
    await recorder.dispose()
  })
})

describe('dispose', () => {
  test('waits for purges whose rows keep coming', async () => {
    const { recorder, path } = await startedRecorder()
    const slow = async function* () {
      for (let row = 0; row < 6; row++) {
        await new Promise((resolve) => setTimeout(resolve, 500))
        yield said(`${row}`)
      }
    }
    const purges = [
      recorder.recordSemanticMediaPurgeRows(slow(), at(0)),
      recorder.recordSemanticMediaPurgeRows(stream([said('b')]), at(0)),
    ]
    recorder.enqueue('note', 1)
    await recorder.dispose()
    expect(await Promise.all(purges)).toMatchObject([{ seq: 3 }, { seq: 4 }])
    expect(typesOf(path).slice(2)).toEqual(['3 semantic_media_purge', '4 semantic_media_purge', '5 note'])
  })

  test('ends the purges whose rows do not come: they are cut off, what has waited is written, and the lock released', async () => {
    const path = pathOf((await startedRecorder()).recorder)
    const recorder: Recorder = await SessionRecordingService.createLocked(recorderConfig({ chatsDir: dirname(path) }))
    recorder.recordContent(said('a'))
    await recorder.flush()
    const { rows, put, returned } = fed()
    const purges = [
      recorder.recordSemanticMediaPurgeRows(rows, at(0)),
      recorder.recordSemanticMediaPurgeRows(stream([said('b')]), at(0)),
    ]
    purges.forEach((purge) => purge.catch(() => {}))
    const { size } = statSync(pathOf(recorder))
    put(said('x'.repeat(900_000)))
    recorder.enqueue('note', 1)
    const commit = recorder.commit('note', 2)
    const flush = recorder.flush()
    await eventually('a part in the file', () => statSync(pathOf(recorder)).size > size)
    await recorder.dispose()
    for (const purge of purges)
      await expect(purge).rejects.toThrow('Recording has ended before the record was complete')
    expect(await commit).toMatchObject({ seq: 4 })
    await flush
    expect(returned()).toBe(1)
    expect(typesOf(pathOf(recorder))).toEqual(['1 session_start', '2 content', '3 note', '4 note'])
    const lock = await acquireSessionLock(recorder.getChatsDir(), recorder.getSessionId())
    await lock.release()
  })
})

describe('a purge', () => {
  test('gives toJSON of an item what an array gives it', async () => {
    const keyed = { toJSON: (key: unknown) => ({ ...said('k'), key, type: typeof key }) } as never
    const odd = [said('a'), keyed, { toJSON: () => undefined }, { ...said('b'), toJSON: 1 }] as never[]
    const recorder = newRecorder()
    recorder.recordSemanticMediaPurge(odd, at(0))
    await recorder.recordSemanticMediaPurgeRows(stream(odd), at(0))
    await recorder.dispose()
    const [one, other] = recordsOf(pathOf(recorder))
      .slice(1)
      .map(({ payload }) => payload)
    expect(other).toEqual(one)
    expect(other.history[1]).toMatchObject({ key: '1', type: 'string' })
  })

  test('whose file is deleted or replaced meanwhile is not acknowledged, and the recording ends as it does for any record', async () => {
    for (const [change, code] of [
      [unlinkSync, 'ENOENT'],
      [(path: string) => renameSync(path, `${path}.old`), 'ENOENT'],
      [(path: string) => (renameSync(path, `${path}.old`), writeFileSync(path, 'other\n')), 'FileReplaced'],
    ] as const) {
      const { recorder, path, warnings } = await startedRecorder()
      const rows = async function* () {
        yield said('x'.repeat(600_000))
        change(path)
        yield said('y'.repeat(600_000))
      }
      const recorded = recorder.recordSemanticMediaPurgeRows(rows(), at(0))
      const commit = recorder.commit('note', 1)
      commit.catch(() => {})
      await expect(recorded).rejects.toMatchObject({ code })
      await expect(commit).rejects.toMatchObject({ code })
      expect(warnings).toMatchObject([{ code, eventsDropped: 2 }])
      expect(recorder.isActive()).toBe(false)
      if (code === 'FileReplaced') expect(readFileSync(path, 'utf8')).toBe('other\n')
      else expect(existsSync(path)).toBe(false)
      await recorder.dispose().catch(() => {})
    }
  })

  test('by a recorder that is not active rejects; arguments of other types throw at once', async () => {
    const { recorder } = await startedRecorder()
    const call = recorder.recordSemanticMediaPurgeRows as (...args: unknown[]) => unknown
    for (const args of [
      [1, at(0)],
      [{}, at(0)],
      [null, at(0)],
      [[], null],
      [[], { contentIndex: -1, blockIndex: 0 }],
      [[], at(0), { signal: 1 }],
    ])
      expect(() => call(...args), JSON.stringify(args)).toThrow(TypeError)
    await recorder.dispose()
    await expect(recorder.recordSemanticMediaPurgeRows([], at(0))).rejects.toThrow(
      'Cannot commit: recording is not active',
    )
  })

  test('into which another program writes ends the recording, and removes nothing of the other', async () => {
    const { recorder, path, warnings } = await startedRecorder()
    const { rows, put } = fed()
    const recorded = recorder.recordSemanticMediaPurgeRows(rows, at(0))
    recorded.catch(() => {})
    const before = statSync(path).size
    put(said('x'.repeat(300_000)))
    await eventually('a part in the file', () => statSync(path).size > before)
    appendFileSync(path, '\n{"v":1,"seq":9,"ts":"","type":"note"}\n')
    put(said('y'.repeat(300_000)))
    await expect(recorded).rejects.toMatchObject({ code: 'FileReplaced' })
    expect(warnings).toMatchObject([{ code: 'FileReplaced' }])
    expect(readFileSync(path, 'utf8')).toContain('\n{"v":1,"seq":9,"ts":"","type":"note"}\n')
    expect(recorder.isActive()).toBe(false)
    await recorder.dispose().catch(() => {})
  })

  test('that the disk refuses is cut off, and the recording ends; flushes reject as they do for any record', async () => {
    for (const [code, isReported] of [
      ['ENOSPC', false],
      ['EIO', true],
    ] as const) {
      const failing: RecorderConfig['appendFile'] = async (path, data) => {
        if (data.includes('second')) throw Object.assign(new Error(`${code}: refused`), { code })
        appendFileSync(path, data)
      }
      const { recorder, path, warnings } = await startedRecorder({ appendFile: failing })
      const bytes = readFileSync(path)
      const rows = stream([said('x'.repeat(300_000)), said('second'.repeat(100_000))], turn)
      const recorded = recorder.recordSemanticMediaPurgeRows(rows, at(0))
      const flush = recorder.flush()
      const waiting = recorder.waitForCommit(recorder.enqueue('note', 1))
      // Not ended by dispose: its flush is pending by then.
      const settled = await Promise.allSettled([recorded, waiting, flush, recorder.flush()])
      const rejected = { status: 'rejected', reason: { code } }
      const flushed = isReported ? rejected : { status: 'fulfilled' }
      expect(settled).toMatchObject([rejected, rejected, flushed, flushed])
      expect(readFileSync(path)).toEqual(bytes)
      expect(warnings).toMatchObject([{ code, eventsDropped: 2 }])
      expect(recorder.enqueue('note', 2)).toBeNull()
      await recorder.dispose()
    }
  })

  const child = (ending: string) => {
    const file = `${freshDirectory()}/child.cjs`
    writeFileSync(
      file,
      `
      const { SessionRecordingService } = require(${JSON.stringify(entry)});
      const { statSync } = require('node:fs');
      const recorder = new SessionRecordingService({ sessionId: 's', projectHash: 'p', chatsDir: process.argv[2], workspaceDirs: [], provider: 'p', model: 'm' });
      recorder.recordContent({ speaker: 'human', blocks: [] });
      async function* rows() {
        yield { speaker: 'human', blocks: [{ type: 'text', text: 'x'.repeat(900_000) }] };
        await new Promise((resolve) => setTimeout(resolve, 1000_000));
      }
      recorder.recordSemanticMediaPurgeRows(rows(), { contentIndex: 0, blockIndex: 0 }).catch(() => {});
      recorder.enqueue('note', 1);
      recorder.recordSemanticMediaPurgeRows(rows(), { contentIndex: 0, blockIndex: 0 }).catch(() => {});
      recorder.enqueue('note', 2);
      const timer = setInterval(() => {
        if (statSync(recorder.getFilePath()).size < 800_000) return;
        clearInterval(timer);
        require('node:fs').writeSync(1, recorder.getFilePath());
        ${ending};
      }, 5);`,
    )
    return runChild(file, [freshDirectory()])
  }

  test('in a process that exits is cut off, and what has waited is written', async () => {
    const { stdout } = await child('process.exit(0)')
    expect(typesOf(stdout.trim())).toEqual(['1 session_start', '2 content', '3 note', '4 note'])
  })

  test('in a worker that is terminated is cut off, and what has waited is written', async () => {
    const worker = new Worker(
      `
      const { workerData, parentPort } = require('node:worker_threads');
      const { SessionRecordingService } = require(workerData.entry);
      const recorder = new SessionRecordingService({ sessionId: 's', projectHash: 'p', chatsDir: workerData.chatsDir, workspaceDirs: [], provider: 'p', model: 'm' });
      recorder.recordContent({ speaker: 'human', blocks: [] });
      async function* rows() {
        yield { speaker: 'human', blocks: [{ type: 'text', text: 'x'.repeat(900_000) }] };
        recorder.enqueue('note', 1);
        parentPort.postMessage(recorder.getFilePath());
        await new Promise((resolve) => setTimeout(resolve, 1000_000));
      }
      recorder.recordSemanticMediaPurgeRows(rows(), { contentIndex: 0, blockIndex: 0 }).catch(() => {});`,
      { eval: true, workerData: { entry, chatsDir: freshDirectory() } },
    )
    const [path] = (await once(worker, 'message')) as [string]
    await worker.terminate()
    expect(typesOf(path)).toEqual(['1 session_start', '2 content', '3 note'])
  })

  test('in a process that is killed leaves a torn last line, which is replayed and recorded after as ever', async () => {
    const { stdout } = await child('process.kill(process.pid, "SIGKILL")')
    const path = stdout.trim()
    expect(existsSync(path)).toBe(true)
    expect(readFileSync(path, 'utf8').endsWith('\n')).toBe(false)
    const replay = await replaySession(path, undefined, { strict: true })
    expect(replay).toMatchObject({ ok: true, lastSeq: 2, warnings: [] })
    const recorder: Recorder = newRecorder()
    recorder.initializeForResume(path, 2)
    recorder.recordContent(said('after'))
    await recorder.dispose()
    expect(await replaySession(path)).toMatchObject({ ok: true, lastSeq: 3 })
  })
})
