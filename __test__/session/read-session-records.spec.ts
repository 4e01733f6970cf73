// readSessionRecords: iterates over the lines of a session, reading the file in batches.
import {
  appendFileSync,
  closeSync,
  openSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  rmSync,
  statSync,
  truncateSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect } from 'vitest'
import { test, fc } from '../support/property'
import {
  exportBundle,
  readSessionRecords,
  type SessionLine,
  type SessionRecordsOptions,
  replaySession,
} from '../../index.js'
import { FORMS, freshDirectory, ownTemporaryDirectory, sources } from '../support/bundles'
import { childReport, isLinux } from '../support/processes'
import {
  type Event,
  compressed,
  content,
  envelope,
  item,
  rewind,
  session,
  sessionDirectory,
  start,
  writeSession,
} from '../support/session-file'
import { anyFile } from '../support/line-arbitraries'
import { historiesOfBytes, recordsOfBytes } from '../support/plain-engine.mjs'
import { expectSame } from '../support/same-replay'
import { anyEvents, editEvent, KNOWN_TYPES, runs } from '../support/session-arbitraries'

async function linesOf(path: string, options?: SessionRecordsOptions): Promise<SessionLine[]> {
  const lines: SessionLine[] = []
  for await (const line of readSessionRecords(path, options)) lines.push(line)
  return lines
}

/** The lines that the iterator yields before it throws, and the error. */
async function broken(path: string, options?: SessionRecordsOptions): Promise<[lines: number, error: any]> {
  let lines = 0
  try {
    for await (const _ of readSessionRecords(path, options)) lines += 1
  } catch (error) {
    return [lines, error]
  }
  throw new Error(`expected an error, found ${lines} lines`)
}

describe('a line', () => {
  test('has its number, its place, its record and its status', async () => {
    const [first, second] = [envelope(1, start()), envelope(2, content('é'))]
    const lines = await linesOf(writeSession(`${first}\n${second}\n`))
    expect(lines).toStrictEqual([
      { line: 1, offset: 0, length: first.length, record: JSON.parse(first), status: 'ok' },
      { line: 2, offset: first.length + 1, length: second.length + 1, record: JSON.parse(second), status: 'ok' },
    ])
    expect(Object.keys(lines[0]!)).toStrictEqual(['line', 'offset', 'length', 'record', 'status'])
  })

  test('may be several megabytes long', async () => {
    const texts = ['é'.repeat(4_000_000), '名'.repeat(2_000_000), 'x'.repeat(20_000_000)]
    const lines = await linesOf(writeSession(session(...texts.map((text) => content(text)))), { history: true })
    expect(lines.slice(1).map(({ record }) => (record as any).payload.content.blocks[0].text.length)).toStrictEqual(
      texts.map(({ length }) => length),
    )
    expect(lines.slice(1).every(({ inHistory }) => inHistory)).toBe(true)
  })
})

describe('with changes, a line', () => {
  const changesOf = async (...events: Parameters<typeof session>) =>
    (await linesOf(writeSession(session(...events)), { changes: true })).map(({ changes }) => changes).slice(1)
  const change = (removed: number, added: number, behind = 0) => ({ removed, added, behind })
  const keyed = (seq: number): Event => [
    'content',
    { content: { ...item('ai', 'x'), metadata: { chronology: { seq } } } },
  ]

  test('that edits items says where they are, and none that names no item has an effect', async () => {
    const marker = (seq: number) => ({ seq, userTurn: 1, step: 1, recordedAt: 1 })
    expect(
      await changesOf(
        ...[1, 2, 3, 4, 5].map(keyed),
        [
          'density_mutation',
          {
            removedSeqs: [2, 9],
            replacements: [
              { replacedSeq: 1, replacement: item('ai', 'y') },
              { replacedSeq: 4, replacement: item('ai', 'z') },
            ],
          },
        ],
        ['density_mutation', { removedSeqs: [9], replacements: [] }],
        ['synthetic_insert', { content: item('ai', 'i'), chronologySeq: 6, afterSeq: 3 }],
        ['synthetic_insert', { content: item('ai', 'i'), chronologySeq: 6, afterSeq: 2 }],
        ['chronology_bind', { rowIndex: 0, chronology: marker(7) }],
        ['chronology_bind', { rowIndex: 1, chronology: marker(8), content: item('ai', 'b') }],
        ['chronology_bind', { rowIndex: 5, chronology: marker(9) }],
        ['rewind', { itemsRemoved: 1, cutSeq: 4 }],
        [
          'semantic_media_purge',
          { history: [item('ai', 'p'), item('ai', 'q')], frontier: { contentIndex: 0, blockIndex: 0 } },
        ],
      ),
    ).toStrictEqual([
      ...[1, 2, 3, 4, 5].map(() => [change(0, 1)]),
      [change(2, 1, 3), change(1, 1, 1)],
      undefined,
      [change(0, 1, 2)],
      undefined,
      [change(0, 0, 5)],
      [change(1, 1, 3)],
      undefined,
      [change(2, 0)],
      [change(3, 2)],
    ])
  })
})

describe('a file', () => {
  test('that cannot be read throws the error of the system', async () => {
    const [lines, error] = await broken('no-such-session.jsonl')
    expect([lines, error.code, error.syscall, error.path]).toStrictEqual([0, 'ENOENT', 'open', 'no-such-session.jsonl'])
    expect(error.message).toBe("ENOENT: no such file or directory, open 'no-such-session.jsonl'")
    expect((await broken(sessionDirectory()))[1]).toMatchObject({ code: 'EISDIR' })
    expect((await broken('a\0b'))[1]).toBeInstanceOf(Error)
  })

  test('that becomes shorter while it is read throws, after the lines that were read', async () => {
    const path = writeSession(session(...Array.from({ length: 20_000 }, () => content('x'.repeat(200)))))
    const iterator = readSessionRecords(path)
    expect((await iterator.next()).value).toMatchObject({ line: 1 })
    truncateSync(path, 100)
    let lines = 1
    const reading = (async () => {
      for await (const _ of iterator) lines += 1
    })()
    await expect(reading).rejects.toMatchObject({
      code: 'ESESSIONREAD',
      message: 'the file was changed while it was being read',
    })
    expect(lines).toBeGreaterThan(1)
  })

  test('that grows while it is read has the lines that it had, and is read on from there', async () => {
    const count = 20_000
    const path = writeSession(`${session(...Array.from({ length: count }, () => content('x'.repeat(200))))}{"torn`)
    const iterator = readSessionRecords(path, { history: true })
    const lines = [(await iterator.next()).value as SessionLine]
    appendFileSync(path, ` no more":1}\n${envelope(9, rewind(1))}\n`)
    for await (const line of iterator) lines.push(line)
    expect(lines).toHaveLength(count + 2)
    const { line, offset, length, status } = lines.at(-1)!
    expect([length, status, lines.at(-2)!.inHistory]).toStrictEqual([6, 'torn', true])
    const more = await linesOf(path, { history: true, from: { line, offset } })
    expect(more.map((each) => [each.line, each.status])).toStrictEqual([
      [line, 'unknown'],
      [line + 1, 'ok'],
    ])
  })
})

describe('the history', () => {
  test('has the items that compressions and rewinds leave, in a file of several parts', async () => {
    const text = 'x'.repeat(100_000)
    const events = [
      ...Array.from({ length: 30 }, () => content(text)),
      compressed('summary', 30),
      ...Array.from({ length: 40 }, () => content(text)),
      rewind(25),
      content('last'),
      rewind(0.5),
      content('end'),
    ]
    const path = writeSession(session(...events))
    const lines = await linesOf(path, { history: true })
    const remaining = lines.filter(({ inHistory }) => inHistory).map(({ line }) => line)
    expect(remaining).toStrictEqual([32, ...Array.from({ length: 15 }, (_, at) => 33 + at), 76])
    expect(lines.filter(({ inHistory }) => inHistory === undefined).map(({ line }) => line)).toStrictEqual([1, 73, 75])
  })
})

describe('a bundle', () => {
  test.each(FORMS)('is verified, and has the lines of its session (%s)', async (form) => {
    const temporary = ownTemporaryDirectory()
    const [run, plain] = sources().map(({ source }) => source) as [string, string]
    const [ofRun, ofSession] = [join(freshDirectory(), form), join(freshDirectory(), form)]
    await exportBundle(run, ofRun)
    await exportBundle(plain, ofSession)
    expect(await linesOf(ofSession, { history: true })).toStrictEqual(await linesOf(plain, { history: true }))
    expect((await broken(ofRun))[1]).toMatchObject({
      code: 'NotABundle',
      message: expect.stringContaining('the bundle of a run, not of a session'),
    })
    if (form === 'b.cath-bundle') {
      appendFileSync(join(ofSession, 'session.jsonl'), 'more')
      const [lines, error] = await broken(ofSession)
      expect([lines, error.problems.length]).toStrictEqual([0, expect.any(Number)])
    } else {
      const iterator = readSessionRecords(ofSession)
      await iterator.next()
      expect(temporary.entries()).toHaveLength(1)
      await iterator.return()
    }
    expect(temporary.entries()).toStrictEqual([])
    temporary.restore()
  })
})

describe('an iteration', () => {
  const COUNT = 300_000
  const line = `${envelope(2, content('x'.repeat(600)))}\n`
  let path: string
  beforeAll(() => {
    path = join(sessionDirectory(), 'long.jsonl')
    const to = openSync(path, 'w')
    writeSync(to, session())
    const many = line.repeat(1000)
    for (let at = 0; at < COUNT; at += 1000) writeSync(to, many)
    closeSync(to)
  })
  afterAll(() => rmSync(path))

  /** Number of file descriptors that this process has open on the file. */
  const opened = () => {
    const target = (fd: string) => {
      try {
        return readlinkSync(`/proc/self/fd/${fd}`)
      } catch {
        return ''
      }
    }
    return readdirSync('/proc/self/fd').filter((fd) => target(fd) === realpathSync(path)).length
  }

  test('opens no file before it begins, and leaves none open', async ({ skip }) => {
    if (!isLinux) return skip('no /proc')
    const iterator = readSessionRecords(path)
    await new Promise(setImmediate)
    expect(opened()).toBe(0)
    await iterator.next()
    expect(opened()).toBe(1)
    await iterator.return()
    expect(opened()).toBe(0)
    for await (const { line: number } of readSessionRecords(path, { history: true })) if (number === 1000) break
    expect(opened()).toBe(0)
  })

  test('is done after return(), even if it never began', async () => {
    const iterator = readSessionRecords(path)
    expect((await iterator.next()).value).toMatchObject({ line: 1 })
    expect(await iterator.return()).toStrictEqual({ done: true, value: undefined })
    expect(await iterator.next()).toStrictEqual({ done: true, value: undefined })
    expect(await readSessionRecords('none').return()).toStrictEqual({ done: true, value: undefined })
  })

  test('answers concurrent calls of next() in order', async () => {
    const iterator = readSessionRecords(path)
    const results = await Promise.all(Array.from({ length: 5 }, () => iterator.next()))
    expect(results.map(({ value }) => (value as SessionLine).line)).toStrictEqual([1, 2, 3, 4, 5])
    await iterator.return()
  })

  test('reads the file only as lines are consumed', async ({ skip }) => {
    if (!isLinux) return skip('no /proc')
    expect((await childReport<{ read: number }>('child-session-records.mjs', [path, 'slow'])).read).toBeLessThan(
      8 << 20,
    )
  })

  test.each(['all', 'history', 'changes'])('never holds the file in memory (%s)', async (task) => {
    expect(statSync(path).size).toBeGreaterThan(200_000_000)
    const { lines, growth } = await childReport<{ lines: number; growth: number }>(
      'child-session-records.mjs',
      [path, task],
      { execArgv: ['--expose-gc', '--max-old-space-size=100'], timeoutMs: 60_000 },
    )
    expect(lines).toBe(COUNT + 1)
    expect(growth).toBeLessThan(140_000_000)
  })

  test('that is abandoned does not keep the process alive', async () => {
    expect(await childReport('child-session-records.mjs', [path, 'left'])).toBe(1)
  })

  describe('that is aborted', () => {
    const reason = new Error('mine')

    test('before it begins opens nothing', async () => {
      const iterator = readSessionRecords('no-such-session.jsonl', { signal: AbortSignal.abort(reason) })
      await expect(iterator.next()).rejects.toBe(reason)
      expect(await iterator.next()).toStrictEqual({ done: true, value: undefined })
    })

    test('while it looks for the history throws the reason', async () => {
      const controller = new AbortController()
      const next = readSessionRecords(path, { history: true, types: ['none'], signal: controller.signal }).next()
      await new Promise(setImmediate)
      controller.abort(reason)
      await expect(next).rejects.toBe(reason)
    })

    test('between two lines throws the reason instead of the next one', async () => {
      const controller = new AbortController()
      let lines = 0
      const reading = (async () => {
        for await (const { line: number } of readSessionRecords(path, { signal: controller.signal })) {
          lines += 1
          if (number === 3) controller.abort(reason)
        }
      })()
      await expect(reading).rejects.toBe(reason)
      expect(lines).toBe(3)
    })

    test('after its end changes nothing, and no listener is left on the signal', async () => {
      const listeners: string[] = []
      const { signal } = new AbortController()
      signal.addEventListener = () => void listeners.push('+')
      signal.removeEventListener = () => void listeners.push('-')
      await linesOf(writeSession(session()), { signal })
      expect(listeners).toStrictEqual(['+', '-'])
    })
  })
})

describe('arguments', () => {
  test('are taken as they are at the call', async () => {
    const path = writeSession(session(content('a')))
    const [types, from] = [['content'], { line: 1, offset: 0 }]
    const iterator = readSessionRecords(path, { types, from })
    types[0] = 'session_start'
    from.offset = 1000
    expect((await iterator.next()).value).toMatchObject({
      line: 2,
      record: { payload: { content: item('human', 'a') } },
    })
    await iterator.return()
  })
})

/** Applies what lines do to a history. Returns, after each of them, the line of each of its items. */
function developed(lines: SessionLine[], items: number[] = []): number[][] {
  return lines.map(({ line, changes = [] }) => {
    for (const { removed, added, behind } of changes)
      items.splice(items.length - behind - removed, removed, ...new Array<number>(added).fill(line))
    return [...items]
  })
}

const withoutHistory = (lines: SessionLine[]) => lines.map(({ inHistory: _, ...line }) => line)

/** The item that a line adds to the history. */
const itemOf = ({ record }: SessionLine): unknown => {
  const { type, payload } = record as any
  return type === 'compressed' ? payload.summary : payload.content
}

/** Events that bring several items, change items, or name one: the history is then no list of items of lines. */
const EDITS = ['density_mutation', 'synthetic_insert', 'chronology_bind', 'semantic_media_purge']

const isEdit = (event: readonly [unknown, unknown?]): boolean =>
  EDITS.includes(event[0] as string) || Object.hasOwn(Object(event[1]), 'cutSeq')

const history = (lines: SessionLine[]) => lines.filter(({ inHistory }) => inHistory).map(itemOf)

describe('any bytes', () => {
  test.prop([anyFile, fc.boolean()], runs(400))(
    'have the lines of a plain loop, in the same order and with the same keys',
    async (bytes, strict) => {
      const lines = await linesOf(writeSession(bytes), { history: true, strict })
      const expected = recordsOfBytes(bytes, { strict })
      expectSame(lines, expected)
    },
  )

  test.prop([anyFile], runs(100))('have the same lines without the history', async (bytes) => {
    expectSame(await linesOf(writeSession(bytes)), withoutHistory(recordsOfBytes(bytes)))
  })

  test.prop([anyFile, fc.nat()], runs(100))('are read on from any line', async (bytes, at) => {
    const all = recordsOfBytes(bytes)
    fc.pre(all.length > 0)
    const { line, offset, length } = all[at % all.length]!
    const path = writeSession(bytes)
    expectSame(await linesOf(path, { history: true, from: { line, offset } }), all.slice(line - 1))
    // Behind a line, whatever its ending.
    expectSame(
      await linesOf(path, { history: true, from: { line: line + 1, offset: offset + length + 1 } }),
      all.slice(line),
    )
  })

  test.prop([anyFile, fc.subarray([...KNOWN_TYPES, 'new', ''])], runs(100))(
    'have the lines of some types',
    async (bytes, types) => {
      const hasType = ({ record }: SessionLine) =>
        types.includes((record as any)?.type) && typeof record === 'object' && !Array.isArray(record)
      expectSame(await linesOf(writeSession(bytes), { history: true, types }), recordsOfBytes(bytes).filter(hasType))
    },
  )
})

describe('what lines do to the history', () => {
  test.prop([anyFile, fc.boolean()], runs(200))(
    'leads from each history to the next, for any bytes',
    async (bytes, strict) => {
      expectSame(
        developed(await linesOf(writeSession(bytes), { changes: true, strict })),
        historiesOfBytes(bytes, { strict }),
      )
    },
  )

  test.prop([fc.array(editEvent, { maxLength: 25 }), fc.nat()], runs(300))(
    'leads from each history to the next, for any edits, also from any line on',
    async (events, at) => {
      const text = Buffer.from(session(...events))
      const path = writeSession(text)
      const [lines, expected] = [await linesOf(path, { changes: true }), historiesOfBytes(text)]
      expectSame(developed(lines), expected)
      for (const { changes } of lines) expect(changes ?? [null]).not.toStrictEqual([])
      const first = at % lines.length
      expectSame(
        developed(await linesOf(path, { changes: true, from: lines[first] }), [...(expected[first - 1] ?? [])]),
        expected.slice(first),
      )
    },
  )
})

describe('a session', () => {
  test.prop([anyEvents, fc.nat()], runs(150))(
    'that is cut anywhere has the items of its replay',
    async (events, at) => {
      const text = Buffer.from(session(...events.filter((event) => !isEdit(event))))
      const path = writeSession(text)
      truncateSync(path, text.length - (at % 400 < text.length ? at % 400 : 0))
      const replay = await replaySession(path)
      const lines = await linesOf(path, { history: true })
      if (replay.ok) expectSame(history(lines), replay.history)
      const counted = lines.filter(({ status }) => status === 'ok' || status === 'malformed' || status === 'unknown')
      if (replay.ok) expect(counted).toHaveLength(replay.eventCount)
    },
  )
})
