// readSessionPreview and readSessionTitle: the beginning of a session, and its last title, found without replaying the file.

import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, openSync, rmSync, truncateSync, writeSync, closeSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect } from 'vitest'
import { fc, test } from '../support/property'
import { exportBundle, readSessionPreview, readSessionTitle } from '../../index.js'
import type { SessionPreview } from '../../index.js'
import {
  content,
  envelope,
  file,
  rewind,
  compressed,
  session,
  sessionDirectory,
  start,
  writeSession,
} from '../support/session-file.js'
import type { Event } from '../support/session-file.js'
import { eachCase } from '../support/each-case.js'
import { isLinux } from '../support/processes.js'
import { anyFile, anyLine } from '../support/line-arbitraries.js'
import { anyString, runs } from '../support/session-arbitraries.js'
import { previewOfBytes, titleOfBytes } from '../support/plain-engine.mjs'

const NOTHING = { hasContent: false, firstUserMessage: null }

async function of<T>(data: string | Uint8Array, read: (filePath: string) => Promise<T>): Promise<T> {
  const filePath = writeSession(data)
  try {
    return await read(filePath)
  } finally {
    // A property makes thousands of files: each is removed right after its use.
    rmSync(filePath)
  }
}

const previewOf = (data: string | Uint8Array, length?: number): Promise<SessionPreview> =>
  of(data, (filePath) => readSessionPreview(filePath, { length }))
const titleOf = (data: string | Uint8Array): Promise<string | null | undefined> => of(data, readSessionTitle)

const said = (blocks: unknown, speaker: unknown = 'human'): Event => ['content', { content: { speaker, blocks } }]
const text = (of: unknown): unknown => ({ type: 'text', text: of })
const titled = (title: unknown): Event => ['session_metadata', { title }]

describe('a preview', () => {
  test('is what plain JavaScript finds, in lines, items and blocks of any form', async () => {
    const odd: (string | Event)[] = [
      ...['', ' ', '\u2028', '\0', 'null', 'not json', '[]', '7', '"content"', '{}', '{"type":null}'],
      envelope(1, content('torn')).slice(0, -1),
      start(),
      ['content_', { content: said([text('no')]) }],
      ...[null, undefined, [{ content: 1 }]].map((payload): Event => ['content', payload]),
      ...[null, 'human', ['human'], { speaker: 'human' }, { blocks: [text('no')] }].map(
        (one): Event => ['content', { content: one }],
      ),
      ...[null, 'text', { 0: text('no'), length: 1 }, [], [[text('no')]], ['text', 7, true, {}, []], [null]].map(
        (blocks) => said(blocks),
      ),
      said([{ type: 'Text', text: 'no' }, { text: 'no' }, { type: ['text'], text: 'no' }]),
      said([text(null), text(7), text(['no']), text({}), text('')]),
      ...['Human', ['human'], null, 'ai'].map((speaker) => said([text('no')], speaker)),
    ]
    const whole = envelope('no number', content('é'))
    const contents = [
      '{"type":"content"}',
      '{"type":"content","payload":7}',
      '{"type":7,"ty\\u0070e":"c\\u006fntent","seq":-1}',
    ]
    const files = [
      session(
        content('Hallo', 'ai'),
        said([text('Grüße, '), { type: 'thinking' }, text('世界 '), text('😀')]),
        content('b'),
      ),
      ...[whole, whole.slice(0, -1), `\ufeff${whole}\r\n`, `null\n${whole}`],
      session(content('first'), rewind(1), compressed('summary'), content('second')),
      ...odd.flatMap((one) => [file(one, said([one, text('ja')])), file(one)]),
      ...contents.flatMap((line) => [`null\n${line}`, `null\n${line},`, `[${line}]`]),
      file(said([text('a😀'), text('\ud83d'), text('\ude00\ud83d')])),
      file(said([text('')]), content('a')),
    ]
    await eachCase(files, async (data) => {
      for (const length of [0, 1, 2, 3, 4, 5, 6, 120])
        expect(await previewOf(data, length)).toStrictEqual(previewOfBytes(Buffer.from(data), length))
    })
  })

  test('has 120 UTF-16 units of the message by default, or as many as requested', async () => {
    const long = 'ä'.repeat(500)
    const bytes = session(content(long))
    expect(await of(bytes, (filePath) => readSessionPreview(filePath))).toMatchObject({
      firstUserMessage: long.slice(0, 120),
    })
    for (const length of [0, 1, 119, 121, 499, 500, 501, Number.MAX_SAFE_INTEGER]) {
      expect(await previewOf(bytes, length)).toStrictEqual({
        hasContent: true,
        firstUserMessage: long.slice(0, length),
      })
    }
  })

  test('of a message of many MiB is short', async () => {
    const bytes = session(said([text('漢'.repeat(8 << 20)), text('\n'.repeat(8 << 20))]))
    expect(await previewOf(bytes, 3)).toStrictEqual({ hasContent: true, firstUserMessage: '漢漢漢' })
    const all = await previewOf(bytes, 16 << 20)
    expect(all.firstUserMessage === '漢'.repeat(8 << 20) + '\n'.repeat(8 << 20)).toBe(true)
  })

  test.skipIf(!isLinux)('does not read beyond the answer', () => {
    const filePath = writeSession(session(content('first', 'ai'), content('früh')))
    // Reading the rest would take hours.
    truncateSync(filePath, 2 ** 42)
    const script = `
      const { readSessionPreview } = require(process.argv[1]);
      const { readFileSync } = require('node:fs');
      const read = () => Number(/rchar: (\\d+)/.exec(readFileSync('/proc/self/io', 'utf8'))[1]);
      readSessionPreview('.').then(async () => {
        const before = read();
        const { firstUserMessage } = await readSessionPreview(process.argv[2]);
        console.log(JSON.stringify([firstUserMessage, read() - before]));
      });`
    const addon = join(import.meta.dirname, '../../index.js')
    const [message, bytes] = JSON.parse(
      execFileSync(process.execPath, ['--eval', script, addon, filePath], { encoding: 'utf8', timeout: 100_000 }),
    ) as [string, number]
    rmSync(filePath)
    expect(message).toBe('früh')
    expect(bytes).toBeLessThan(32 << 10)
  })
})

test('an abort ends a preview and a title', async () => {
  const filePath = writeSession(session(content('a')))
  const reason = new Error('as wanted')
  for (const read of [readSessionPreview, readSessionTitle]) {
    const controller = new AbortController()
    const promise = read(filePath, { signal: controller.signal })
    controller.abort(reason)
    await expect(promise).rejects.toBe(reason)
    await expect(read(filePath, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason)
  }
})

describe('a title', () => {
  test('is what plain JavaScript finds: the last valid one, whatever else is in the file', () =>
    eachCase(
      [
        session(titled('a'), content('x'), titled('größer 😀'), content('y')),
        session(titled('a'), titled(null)),
        session(titled(null), titled('')),
        session(titled('\ud800"\u2028')),
        ...['', session(content('a')), session(['session_metadata', {}])],
        ...(
          [
            ...['null', 'not json', '{"type":"session_metadata"}', envelope(9, titled('no')).slice(0, -1)],
            `[${envelope(9, titled('no'))}]`,
            ...[{}, null, ['title'], { title_: 'no' }].map((payload): Event => ['session_metadata', payload]),
            ...[7, ['no'], {}, false].map(titled),
            ['session_named', { title: 'no' }],
            content('"type":"session_metadata","title":"no"'),
          ] as (string | Event)[]
        ).map((one) => session(titled('gut'), one, content('x'))),
        ...[-1, 'x', null, 2 ** 60, 1.5].map((seq) => `\ufeffrubbish\n${envelope(seq, titled('é'))}\r\n\n{`),
        envelope(1, titled('é')),
      ],
      async (data) => expect(await titleOf(data)).toStrictEqual(titleOfBytes(Buffer.from(data))),
    ))

  test('is found anywhere in a file of many MiB', async () => {
    const filler = Buffer.from(`${envelope(3, content('x'.repeat(1000)))}\n`.repeat(1000))
    const line = (title: string) => Buffer.from(`${envelope(2, titled(title))}\n`)
    const places = Array.from({ length: 12 }, (_, at) => at)
    for (const place of [0, 5, 11]) {
      const bytes = Buffer.concat([
        line('before'),
        ...places.flatMap((at) => (at === place ? [line('dort'), filler] : [filler])),
      ])
      expect(await titleOf(bytes)).toBe('dort')
    }
  })

  test('may have many MiB', async () => {
    const long = '漢é\n'.repeat(4 << 20)
    expect((await titleOf(session(titled('a'), titled(long)))) === long).toBe(true)
  })

  test.skipIf(!isLinux)('of a big file is found without loading the file into memory', () => {
    const filePath = writeSession(session(titled('früh')))
    const filler = Buffer.from(`${envelope(3, content('x'.repeat(4000)))}\n`.repeat(4000))
    const handle = openSync(filePath, 'a')
    for (let at = 0; at < 20; at++) writeSync(handle, filler)
    closeSync(handle)
    const script = `
      const { readSessionTitle } = require(process.argv[1]);
      const peak = () => Number(/VmHWM:\\s+(\\d+)/.exec(require('node:fs').readFileSync('/proc/self/status', 'utf8'))[1]);
      const before = peak();
      readSessionTitle(process.argv[2]).then((title) => console.log(JSON.stringify([title, peak() - before])));`
    const addon = join(import.meta.dirname, '../../index.js')
    const [title, kib] = JSON.parse(
      execFileSync(process.execPath, ['--eval', script, addon, filePath], { encoding: 'utf8', timeout: 100_000 }),
    ) as [string, number]
    rmSync(filePath)
    expect(title).toBe('früh')
    expect(kib).toBeLessThan(64 << 10)
  })
})

describe('a path that cannot be read', () => {
  const expectNothing = async (filePath: string): Promise<void> => {
    expect(await readSessionPreview(filePath)).toStrictEqual(NOTHING)
    expect(await readSessionTitle(filePath)).toBeUndefined()
  }

  test('has neither: nothing there, a directory, a file on the way, an impossible path', () =>
    eachCase(
      [
        join(sessionDirectory(), 'none', 'x.jsonl'),
        sessionDirectory(),
        join(writeSession(session(titled('a'))), 'x'),
        '',
        'a\0b',
        `/${'d/'.repeat(5000)}x`,
      ],
      expectNothing,
    ))

  test.skipIf(process.platform === 'win32')('has neither: a file or directory without permission', async ({ skip }) => {
    if (process.getuid?.() === 0) skip('root may read everything')
    const filePath = writeSession(session(content('a'), titled('a')))
    const directory = join(sessionDirectory(), 'closed')
    mkdirSync(directory)
    writeFileSync(join(directory, 'a.jsonl'), session(content('a'), titled('a')))
    chmodSync(filePath, 0o000)
    chmodSync(directory, 0o000)
    try {
      await expectNothing(filePath)
      await expectNothing(join(directory, 'a.jsonl'))
    } finally {
      chmodSync(directory, 0o700)
    }
  })

  test.skipIf(!isLinux || spawnSync('mkfifo', ['--version']).status !== 0)(
    'has neither: pipes and devices, however many',
    async () => {
      const pipe = join(sessionDirectory(), 'pipe')
      execFileSync('mkfifo', [pipe])
      await Promise.all(Array.from({ length: 20 }, () => expectNothing(pipe)))
      for (const device of ['/dev/zero', '/dev/null', '/proc/self/mem']) await expectNothing(device)
    },
  )
})

test('the directory of a bundle has the preview and the title of its session', async () => {
  const directory = join(sessionDirectory(), 'a.cath-bundle')
  await exportBundle(writeSession(session(content('grüß'), titled('Gruß'))), directory)
  expect(await readSessionPreview(directory)).toStrictEqual({ hasContent: true, firstUserMessage: 'grüß' })
  expect(await readSessionTitle(directory)).toBe('Gruß')
})

// ---- Properties --------------------------------------------------------------------------------

const anyLength = fc.oneof(fc.nat({ max: 12 }), fc.constantFrom(120, Number.MAX_SAFE_INTEGER))
const pick = (...values: unknown[]): fc.Arbitrary<unknown> => fc.constantFrom(...values)
const block = fc.oneof(
  { weight: 4, arbitrary: anyString.map(text) },
  {
    weight: 1,
    arbitrary: fc.oneof(pick(null, 'text', [], { type: 'text' }, text(''), text(7), text(['x'])), fc.jsonValue()),
  },
)
const nearlySaid = fc
  .tuple(
    fc.oneof(fc.array(block, { maxLength: 4 }), pick(null, 'x', {})),
    fc.oneof({ weight: 3, arbitrary: fc.constant('human') }, pick('ai', 'Human', null, ['human'])),
  )
  .map(([blocks, speaker]) => said(blocks, speaker))
const nearlyTitled = fc.oneof(
  anyString.map(titled),
  fc.jsonValue().map(titled),
  pick({}, null, [], 'title').map((payload): Event => ['session_metadata', payload]),
)
const line = fc.oneof(
  {
    weight: 2,
    arbitrary: fc.tuple(fc.oneof(nearlySaid, nearlyTitled), fc.boolean()).map(([event, escaped]) => {
      const plain = envelope(2, event)
      const spelled = escaped
        ? plain.replace(/[est](?=[a-z]+":|[a-z_]+")/g, (letter) => `\\u00${letter.charCodeAt(0).toString(16)}`)
        : plain
      return Uint8Array.from(Buffer.from(spelled))
    }),
  },
  { weight: 1, arbitrary: anyLine },
)
const lines = fc.tuple(fc.array(line, { maxLength: 6 }), fc.boolean()).map(([all, ended]) => {
  const bytes = Buffer.concat(all.flatMap((one) => [one, Buffer.from('\n')]))
  return ended ? bytes : bytes.subarray(0, -1)
})
const bytes = fc.oneof({ weight: 3, arbitrary: lines }, { weight: 1, arbitrary: anyFile })

test.prop([bytes, anyLength], runs(400))('any file: the preview that plain JavaScript finds', async (data, length) => {
  expect(await previewOf(data, length)).toStrictEqual(previewOfBytes(data, length))
})

test.prop([bytes], runs(300))('any file: the title that plain JavaScript finds', async (data) => {
  expect(await titleOf(data)).toStrictEqual(titleOfBytes(data))
})
