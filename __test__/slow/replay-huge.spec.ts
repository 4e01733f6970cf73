// Files, histories and lines beyond the size of a JavaScript string (512 MiB). Each file is written for one test and deleted after it.

import '../support/on-disk.js' // Gigabytes.
import { closeSync, mkdirSync, openSync, renameSync, rmSync, statfsSync, symlinkSync, writeSync } from 'node:fs'
import { freemem } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { describeSessions, listSessions, openSession, replaySession } from '../../index.js'
import {
  type Event,
  content,
  envelope,
  file,
  session,
  sessionDirectory,
  sessionEvent,
  start,
} from '../support/session-file.js'

/** V8's longest string, in characters. */
const MAX_STRING = 0x1fffffe8
const TEXT = 'x'.repeat(4 << 20)
const TEXT_BYTES = Buffer.from(TEXT)
const ITEMS = 130
const LONG_LENGTH = 22 * TEXT.length
const NEEDED_BYTES = 3 * 2 ** 30

const hasRoom = () => {
  const { bavail, bsize } = statfsSync(sessionDirectory())
  return bavail * bsize > NEEDED_BYTES && freemem() > NEEDED_BYTES
}

const path = () => join(sessionDirectory(), 'huge.jsonl')

type Part = string | Buffer

function writeParts(parts: Iterable<Part>) {
  const file = openSync(path(), 'w')
  for (const part of parts) writeSync(file, part as string)
  closeSync(file)
}

/** `length` bytes of text, in pieces: creating long strings takes longer than everything that they are created for. */
function* textOf(length: number): Generator<Part> {
  for (; length > TEXT_BYTES.length; length -= TEXT_BYTES.length) yield TEXT_BYTES
  yield TEXT_BYTES.subarray(0, length)
}

const PLACE = 'HERE'

/** An event's line with a text of this length in place of `PLACE`. */
function* lineWith(length: number, seq: number, event: Event): Generator<Part> {
  const [before = '', after = ''] = envelope(seq, event).split(PLACE)
  yield before
  yield* textOf(length)
  yield `${after}\n`
}

/** A session of `count` events with a text of this length each. */
function* sessionWith(count: number, length: number, event: (n: number) => Event): Generator<Part> {
  yield session()
  for (let n = 0; n < count; n++) yield* lineWith(length, n + 2, event(n))
}

afterEach(() => rmSync(path(), { force: true }))

describe.runIf(hasRoom())('with a few gigabytes to spare', { timeout: 120_000 }, () => {
  it('a listing reads a line near the longest string, and names one beyond it', async () => {
    const directory = join(sessionDirectory(), 'with-long-lines')
    mkdirSync(directory)
    try {
      for (const [length, expected] of [
        [
          MAX_STRING - 200,
          { sessions: [expect.objectContaining({ eventCount: 3, historyLength: 2 })], unreadable: [] },
        ],
        [MAX_STRING, { sessions: [], unreadable: [{ reason: expect.stringContaining('line 2 is longer than') }] }],
      ] as const) {
        const parts = [
          `${envelope(1, start())}\n`,
          ...lineWith(length, 2, content(PLACE)),
          `${envelope(3, content('b'))}\n`,
        ]
        writeParts(parts)
        renameSync(path(), join(directory, 'session-huge.jsonl'))
        expect(await describeSessions(directory)).toMatchObject(expected)
      }
    } finally {
      rmSync(directory, { recursive: true })
    }
  })

  it('a history that is larger in sum than any string is replayed completely', async () => {
    writeParts(sessionWith(ITEMS, TEXT.length, (n) => content(`${n} ${PLACE}`)))
    const replay = await replaySession(path())
    if (!replay.ok) throw new Error(replay.error)
    expect(replay.warnings).toEqual([])
    const texts = replay.history.map(({ blocks }) => (blocks[0] as { text: string }).text)
    expect(texts.length * TEXT.length).toBeGreaterThan(MAX_STRING)
    expect(texts.map((text) => text.length)).toEqual(texts.map((_, n) => TEXT.length + `${n} `.length))
    expect(texts.map((text) => parseInt(text, 10))).toEqual(texts.map((_, n) => n))

    const opened = await openSession(path())
    if (!opened.ok) throw new Error(opened.error)
    const [last] = await opened.session.items(-1)
    expect(last).toEqual(replay.history.at(-1))
    opened.session.close()
  })

  it('session events and warnings that are larger in sum than any string are all returned', async () => {
    writeParts(sessionWith(6, LONG_LENGTH, (n) => sessionEvent(`${n} ${PLACE}`)))
    const replay = await replaySession(path())
    if (!replay.ok) throw new Error(replay.error)
    expect(LONG_LENGTH * 6).toBeGreaterThan(MAX_STRING)
    expect(replay.sessionEvents.map(({ message }) => message.slice(0, 3))).toEqual([
      '0 x',
      '1 x',
      '2 x',
      '3 x',
      '4 x',
      '5 x',
    ])
    expect(replay.sessionEvents.every(({ message }) => message.length === LONG_LENGTH + 2)).toBe(true)

    writeParts(sessionWith(6, LONG_LENGTH, (n) => [`${n}${PLACE}`, {}]))
    const warned = await replaySession(path())
    expect(warned.ok).toBe(true)
    expect(warned.warnings.map((warning) => warning.length > LONG_LENGTH)).toEqual(Array(6).fill(true))
  })

  it('a message that no string can hold is cut short', async () => {
    writeParts([session(), '{"type":"', ...textOf(MAX_STRING - 20), '"}\n'])
    const { ok, warnings } = await replaySession(path())
    expect([ok, warnings.length, warnings[0]?.slice(0, 32), warnings[0]?.length]).toEqual([
      true,
      1,
      "Line 2: unknown event type 'xxxx",
      expect.any(Number),
    ])
    expect(warnings[0]?.length).toBeLessThan(1100)
  })

  it('a line that no string can hold is an error that names it', async () => {
    const long = lineWith(MAX_STRING + 1, 3, content(PLACE))
    writeParts([session(content('first')), ...long, `${envelope(4, content('last'))}\n`])
    const replay = await replaySession(path())
    expect(replay).toEqual({
      ok: false,
      error: `Failed to read file: line 3 is longer than ${MAX_STRING} bytes, more than a JavaScript string can hold`,
      warnings: [],
    })
  })

  it('a line that no string can hold is ignored if it is the torn last one', async () => {
    const [before = ''] = envelope(3, content(PLACE)).split(PLACE)
    writeParts([session(content('first')), before, ...textOf(MAX_STRING + 1)])
    expect(await replaySession(path())).toMatchObject({
      ok: true,
      warnings: [],
      eventCount: 2,
      history: [{ speaker: expect.any(String) }],
    })
  })

  it('first lines that are longer in sum than any string are all listed', async () => {
    writeParts([file(start({ model: TEXT.repeat(8) }))])
    const directory = join(sessionDirectory(), 'long')
    mkdirSync(directory)
    for (let n = 0; n < 17; n++) symlinkSync(path(), join(directory, `${n}.jsonl`))
    const { sessions, unreadable } = await listSessions(directory)
    expect(sessions.map(({ model }) => model.length)).toEqual(Array(17).fill(8 * TEXT.length))
    expect(unreadable).toEqual([])
    rmSync(directory, { recursive: true })
  })
})
