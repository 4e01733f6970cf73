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

  test('does not depend on what follows', async () => {
    expect(await headerOf(`${session()}corrupt\n\u0000\n${'x'.repeat(3 * MIB)}`)).toStrictEqual(START_PAYLOAD)
    expect(await headerOf(Buffer.concat([Buffer.from(session()), Buffer.from([0xff, 0xfe, 0x00])]))).toStrictEqual(
      START_PAYLOAD,
    )
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

describe('a header is null', () => {
  test('or what the plain engine finds, for first lines of any form', () =>
    eachCase(
      [
        ...[
          '',
          '\ufeff',
          `\ufeff\ufeff${session()}`,
          `\ufeff${session()}`,
          `\n${session()}`,
          file(content('a'), start()),
        ],
        ...[
          envelope(1, start()),
          `${envelope(1, start())}\r\n`,
          envelope(1, start()).slice(0, -1),
          'garbage\n',
          'null\n',
        ],
        ...[`[${envelope(1, start())}]\n`, '"session_start"\n', '{"type":"session_start"}\n'],
        ...['null', '[{"sessionId":"s"}]', '"s"', '{}', '{"sessionId":7}', '{"projectHash":null,"sessionId":""}'].map(
          (payload) => `{"type":"session_start","payload":${payload}}\n`,
        ),
        '{"type":"session_start","payload":{"__proto__":{"sessionId":"s"},"b":-0,"a":1e999}}\n',
        ...['"Session_start"', '["session_start"]'].map((type) => `{"type":${type},"payload":{}}\n`),
        ...['', '\r'].map((between) => `${envelope(1, start())}${between}${envelope(2, content('a'))}\n`),
        '{"type":"content","payload":1,"ty\\u0070e":"session\\u005fstart","payload":{"sessionId":"\\ud800"}}',
      ],
      async (text) => expectSame(await headerOf(text), headerOfBytes(Buffer.from(text))),
    ))

  test('for a first line beyond 1 MiB, complete or not', async () => {
    expect(await headerOf(file(start({ model: 'm'.repeat(MIB) }), content('a')))).toBeNull()
    expect(await headerOf(`{"type":"session_start","payload":{}}${' '.repeat(MIB)}\n`)).toBeNull()
    expect(await headerOf('x'.repeat(2 * MIB))).toBeNull()
  })
})

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
