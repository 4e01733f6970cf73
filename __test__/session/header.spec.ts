// readSessionHeader: the payload of the first line, if that is a session_start, and null for everything else.

import '../support/on-disk.js' // Both ways of reading: at once, which takes a disk, and later.
import { describe, expect } from 'vitest'
import { fc, test } from '../support/property'
import { readSessionHeader } from '../../index.js'
import type { SessionStartPayload } from '../../index.js'
import { START_PAYLOAD, content, envelope, file, session, start, writeSession } from '../support/session-file.js'
import { eachCase } from '../support/each-case.js'
import { expectSame } from '../support/same-replay.js'
import { anyFile } from '../support/line-arbitraries.js'
import { runs } from '../support/session-arbitraries.js'
import { soundJson } from '../support/json-arbitraries.js'
import { headerOfBytes } from '../support/plain-engine.mjs'

const MIB = 1024 * 1024
const headerOf = (data: string | Uint8Array): Promise<SessionStartPayload | null> =>
  readSessionHeader(writeSession(data))

describe('a header', () => {
  test('is the payload of the session_start on line 1', async () => {
    expect(await headerOf(session(content('a'), content('b')))).toStrictEqual(START_PAYLOAD)
  })

  test('needs nothing after it, not even a newline', async () => {
    expect(await headerOf(envelope(1, start()))).toStrictEqual(START_PAYLOAD)
    expect(await headerOf(`${envelope(1, start())}\r\n`)).toStrictEqual(START_PAYLOAD)
  })

  test('is found after a byte order mark', async () => {
    expect(await headerOf(`\ufeff${session(content('a'))}`)).toStrictEqual(START_PAYLOAD)
  })

  test('does not depend on what follows', async () => {
    expect(await headerOf(`${session()}corrupt\n\u0000\n${'x'.repeat(3 * MIB)}`)).toStrictEqual(START_PAYLOAD)
    expect(await headerOf(Buffer.concat([Buffer.from(session()), Buffer.from([0xff, 0xfe, 0x00])]))).toStrictEqual(
      START_PAYLOAD,
    )
  })

  test('is not validated beyond being an object', () =>
    eachCase(
      [
        '{}',
        '{"sessionId":7}',
        '{"projectHash":null,"sessionId":""}',
        '{"__proto__":{"sessionId":"s"},"b":-0,"a":1e999}',
      ],
      async (payload) => {
        expectSame(await headerOf(`{"type":"session_start","payload":${payload}}\n`), JSON.parse(payload))
      },
    ))

  test('is what JSON.parse reads from the line: duplicates, escapes, bytes that are not UTF-8', async () => {
    const line =
      '{"type":"content","payload":1,"ty\\u0070e":"session\\u005fstart","payload":{"sessionId":"\\ud800","x":"<>"}}'
    const bytes = Buffer.from(line.replace('<>', '<\u0001>'), 'latin1')
    bytes[bytes.indexOf(1)] = 0xff
    expectSame(await headerOf(bytes), { sessionId: '\ud800', x: '<\ufffd>' })
  })

  test('may fill 1 MiB, the newline included', async () => {
    const room = MIB - Buffer.byteLength(file(start({ model: '' })))
    const filled = file(start({ model: 'm'.repeat(room) }), content('a'))
    expect(Buffer.from(filled).indexOf('\n')).toBe(MIB - 1)
    expect(await headerOf(filled)).toMatchObject({ model: 'm'.repeat(room) })
  })

  test('reaches across any small buffer: 64 KiB ± 2, in characters of several bytes', async () => {
    for (let extra = -2; extra <= 2; extra += 1) {
      const model = 'é'.repeat(32 * 1024) + 'x'.repeat(extra + 2)
      expect(await headerOf(file(start({ model }), content('a')))).toMatchObject({ model })
    }
  })
})

describe('null', () => {
  test('for every first line that is not a session_start', () =>
    eachCase(
      [
        ['an empty file', ''],
        ['a byte order mark alone', '\ufeff'],
        ['two byte order marks', `\ufeff\ufeff${session()}`],
        ['a blank first line', `\n${session()}`],
        ['another event first', file(content('a'), start())],
        ['a torn line', envelope(1, start()).slice(0, -1)],
        ['a line of garbage', 'garbage\n'],
        ['null', 'null\n'],
        ['a list', `[${envelope(1, start())}]\n`],
        ['a string', '"session_start"\n'],
        ['no payload', '{"type":"session_start"}\n'],
        ['a payload of null', '{"type":"session_start","payload":null}\n'],
        ['a payload that is a list', '{"type":"session_start","payload":[{"sessionId":"s"}]}\n'],
        ['a payload that is text', '{"type":"session_start","payload":"s"}\n'],
        ['a type of another case', '{"type":"Session_start","payload":{}}\n'],
        ['a type in a list', '{"type":["session_start"],"payload":{}}\n'],
        ['two records on one line', `${envelope(1, start())}${envelope(2, content('a'))}\n`],
        ['two records with a \\r between them', `${envelope(1, start())}\r${envelope(2, content('a'))}\n`],
      ],
      async ([_, text]) => {
        expect(await headerOf(text)).toBeNull()
      },
    ))

  test('for a first line beyond 1 MiB, complete or not', async () => {
    expect(await headerOf(file(start({ model: 'm'.repeat(MIB) }), content('a')))).toBeNull()
    expect(await headerOf(`{"type":"session_start","payload":{}}${' '.repeat(MIB)}\n`)).toBeNull()
    expect(await headerOf('x'.repeat(2 * MIB))).toBeNull()
  })
})

test('a filePath that is not a string synchronously throws a TypeError that names it', () =>
  eachCase([undefined, null, 7, {}, ['a'], Buffer.from('a'), Symbol('a')], (value) => {
    const call = readSessionHeader as (filePath: unknown) => Promise<unknown>
    expect(() => call(value)).toThrow(TypeError)
    expect(() => call(value)).toThrow(/filePath/)
  }))

test.prop([soundJson], runs(150))(
  'any payload: itself if it is an object and not an array, otherwise null',
  async (text) => {
    const payload: unknown = JSON.parse(text)
    const isHeader = typeof payload === 'object' && payload !== null && !Array.isArray(payload)
    expectSame(await headerOf(`{"v":1,"seq":1,"type":"session_start","payload":${text}}\n`), isHeader ? payload : null)
  },
)

test.prop([fc.integer({ min: 1, max: 2 * MIB }).filter((size) => Math.abs(size - MIB) > 1), fc.boolean()], runs(25))(
  'a first line of any size: its payload up to 1 MiB, null beyond',
  async (size, ended) => {
    const frame = Buffer.byteLength(file(start({ model: '' })))
    const line = file(start({ model: 'm'.repeat(Math.max(0, size - frame)) }))
    const header = await headerOf(ended ? line + envelope(2, content('a')) : line.slice(0, -1))
    if (Math.max(size, frame) > MIB) expect(header).toBeNull()
    else expect(header).toStrictEqual(JSON.parse(line).payload)
  },
)

test.prop([fc.uint8Array({ maxLength: 300 })], runs(60))(
  'any bytes after the first line have no effect',
  async (bytes) => {
    expect(await headerOf(Buffer.concat([Buffer.from(session()), bytes]))).toStrictEqual(START_PAYLOAD)
  },
)

test.prop([anyFile], runs(300))('any file: what the plain engine finds', async (bytes) => {
  expectSame(await headerOf(bytes), headerOfBytes(bytes))
})

test.prop([fc.uint8Array({ maxLength: 200 })], runs(100))(
  'any bytes: an object or null, and never a rejection',
  async (bytes) => {
    expectSame(await headerOf(bytes), headerOfBytes(bytes))
  },
)
