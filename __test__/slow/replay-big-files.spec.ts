// Files of many MiB: the borders of internal buffers, chunks and batches must not have any effect.

import { describe, expect } from 'vitest'
import { fc, test } from '../support/property'
import {
  compressed,
  content,
  envelope,
  file,
  replayOf,
  rewind,
  session,
  sessionOf,
  start,
} from '../support/session-file.js'
import type { Event } from '../support/session-file.js'
import { runs } from '../support/session-arbitraries.js'
import { expectSameReplay } from '../support/same-replay.js'
import { replayBytes } from '../support/plain-engine.mjs'

const KIB = 1024
const MIB = 1024 * KIB

async function expectSameAsPlain(bytes: Uint8Array): Promise<void> {
  expectSameReplay(await replayOf(bytes), replayBytes(bytes))
}

/** A record of exactly `size` bytes, newline included, whose text repeats the given letter. */
function recordOfSize(seq: number, size: number, letter: string): Buffer {
  const frame = Buffer.byteLength(envelope(seq, content(''))) + 1
  const width = Buffer.byteLength(letter)
  const room = Math.max(0, size - frame)
  const text = 'x'.repeat(room % width) + letter.repeat(Math.floor(room / width))
  return Buffer.from(`${envelope(seq, content(text))}\n`)
}

/** Records whose newlines are exactly at the given offsets of the file. */
function fileWithNewlinesAt(offsets: readonly number[], letter: string): Buffer {
  const records: Uint8Array[] = [Buffer.from(session())]
  let length = records[0]?.length ?? 0
  offsets.forEach((offset, at) => {
    const size = offset + 1 - length
    if (size < 400) return
    records.push(recordOfSize(at + 2, size, letter))
    length += size
  })
  records.push(Buffer.from(envelope(offsets.length + 2, content('the end'))))
  return Buffer.concat(records)
}

const LETTERS = ['x', 'é', '漢', '😀', '\u2028']

describe('line ends around powers of two', () => {
  test('newlines at every 64 KiB ± 2 of 4 MiB, in records of letters of every width', async () => {
    for (let shift = -2; shift <= 2; shift += 1) {
      const letter = LETTERS[shift + 2] as string
      const offsets = Array.from({ length: 64 }, (_, at) => (at + 1) * 64 * KIB + shift)
      const bytes = fileWithNewlinesAt(offsets, letter)
      expect(bytes[offsets[40] as number]).toBe(0x0a)
      await expectSameAsPlain(bytes)
    }
  })

  test('\\r\\n with a border between its two bytes', async () => {
    const bytes = fileWithNewlinesAt(
      Array.from({ length: 80 }, (_, at) => (at + 1) * 64 * KIB),
      'x',
    )
    for (let at = 64 * KIB; at < bytes.length; at += 64 * KIB) bytes[at - 1] = 0x0d
    // The byte before each newline was the record's closing brace.
    for (let at = 64 * KIB; at < bytes.length; at += 64 * KIB) bytes[at - 2] = 0x7d
    await expectSameAsPlain(bytes)
  })

  test('records longer than any buffer: 1, 4 and 12 MiB, among small ones', async () => {
    const sizes = [300, MIB - 1, MIB, MIB + 1, 400, 4 * MIB, 300, 12 * MIB, 300]
    await expectSameAsPlain(
      Buffer.concat([
        Buffer.from(session()),
        ...sizes.map((size, at) => recordOfSize(at + 2, size, LETTERS[at % 5] as string)),
      ]),
    )
  })

  test('one string of escapes and bytes that are not UTF-8 across every border', async () => {
    const odd = Buffer.concat([
      Buffer.from('\\ud83d\\ude00\\"\\\\'),
      Buffer.from([0xff, 0xe2, 0x82, 0xf0, 0x9f]),
      Buffer.from('é'),
    ])
    const [before, after] = envelope(2, content('HERE')).split('HERE') as [string, string]
    const text = Buffer.concat(Array.from({ length: Math.ceil((3 * MIB) / odd.length) }, () => odd))
    await expectSameAsPlain(
      Buffer.concat([Buffer.from(session() + before), text, Buffer.from(`${after}\n${envelope(3, content('after'))}`)]),
    )
  })
})

describe('effects across borders', () => {
  const filler = 'y'.repeat(3_000)
  const sized = (size: number) => content(filler.slice(0, size))

  test('warnings have the line numbers of the file, their limit and the shares are those of the whole file', async () => {
    const lines: (Event | string)[] = []
    for (let at = 0; at < 12_000; at += 1) {
      lines.push(sized(1_200))
      if (at % 400 === 7) lines.push('{"corrupt', ['novelty', at], '', 'null')
      if (at % 400 === 9)
        lines.push(['rewind', {}], ['session_start', {}], '{"seq":5,"type":"rewind","payload":{"itemsRemoved":1}}')
    }
    await expectSameAsPlain(Buffer.from(sessionOf(lines)))
    await expectSameAsPlain(Buffer.from(session(...lines, '{"torn')))
    await expectSameAsPlain(Buffer.from(file(...lines)))
  })

  test('many MiB of blank lines, of corrupt lines and of null', async () => {
    const head = session(content('a'))
    const tail = `corrupt\n${envelope(3, content('b'))}\n`
    // Long lines, so that MiBs of them are not millions of exceptions in the plain engine.
    await expectSameAsPlain(Buffer.from(head + `${' \t'.repeat(40)}\r\n`.repeat(40_000) + tail))
    await expectSameAsPlain(Buffer.from(head + `${' '.repeat(5 * MIB)}\n` + tail))
    await expectSameAsPlain(Buffer.from(head + 'null\n'.repeat(400_000) + tail))
    await expectSameAsPlain(Buffer.from(head + `${'nul'.repeat(30)}\n`.repeat(40_000) + tail))
  })

  test('ends without a newline, torn, and torn inside the last of many MiB', async () => {
    const whole = Buffer.from(session(...Array.from({ length: 1_200 }, (_, at) => sized(2_000 + at))))
    await expectSameAsPlain(whole.subarray(0, -1))
    await expectSameAsPlain(whole.subarray(0, -2))
    await expectSameAsPlain(Buffer.concat([whole, recordOfSize(1_202, 3 * MIB, '漢').subarray(0, -MIB)]))
  })

  test('a mismatch of the hash is found without reading further', async () => {
    const bytes = Buffer.from(file(start(), ...Array.from({ length: 5_000 }, () => sized(3_000))))
    expectSameReplay(await replayOf(bytes, 'feedface'), replayBytes(bytes, 'feedface'))
  })

  const step = fc.oneof(
    { weight: 8, arbitrary: fc.tuple(fc.constant('content'), fc.nat({ max: 300_000 })) },
    { weight: 2, arbitrary: fc.tuple(fc.constant('small'), fc.nat({ max: 3_000 })) },
    { weight: 2, arbitrary: fc.tuple(fc.constant('rewind'), fc.nat({ max: 40 })) },
    { weight: 1, arbitrary: fc.tuple(fc.constant('compressed'), fc.nat({ max: 100_000 })) },
    { weight: 1, arbitrary: fc.tuple(fc.constant('corrupt'), fc.nat({ max: 100_000 })) },
  )
  const eventsOf = ([kind, size]: readonly [string, number], at: number): (Event | string)[] => {
    if (kind === 'content') return [content(`${at}:${(LETTERS[at % 5] as string).repeat(size)}`)]
    if (kind === 'small') return Array.from({ length: size }, (_, turn) => content(`${at}.${turn}`))
    if (kind === 'rewind') return [rewind(size)]
    if (kind === 'compressed') return [compressed('s'.repeat(size))]
    return ['{'.repeat(size + 1), '']
  }
  test.prop([fc.array(step, { minLength: 20, maxLength: 90 })], runs(6))('any big session', async (steps) => {
    const bytes = Buffer.from(sessionOf(steps.flatMap(eventsOf)))
    await expectSameAsPlain(bytes)
  })

  test.prop([fc.integer({ min: 1, max: 200_000 }), fc.integer({ min: 1, max: 60 })], runs(10))(
    'records of one size, wherever that puts the borders',
    async (size, count) => {
      const records = Array.from({ length: count }, (_, at) => recordOfSize(at + 2, size, LETTERS[at % 5] as string))
      await expectSameAsPlain(Buffer.concat([Buffer.from(session()), ...records]))
    },
  )
})
