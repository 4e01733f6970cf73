// Every session that replays can be sealed: exported in either form, verified, imported, and replayed with the same result.

import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { fc, test } from '../support/property'
import { describe, expect } from 'vitest'
import type { ExportOptions, ReplayResult } from '../../index.js'
import { FORMS, exportBundle, freshDirectory, importBundle, replaySession, verifyBundle } from '../support/bundles.js'
import { anyFile } from '../support/line-arbitraries.js'
import { anyEvents, anyString, runs } from '../support/session-arbitraries.js'
import { content, envelope, session, sessionOf, start, writeSession } from '../support/session-file.js'
import { expectSameReplay } from '../support/same-replay.js'

const AUDITED = { auditTrail: true }
const UNREDACTED = { redact: false } as const

const bytesOf = (data: string | Uint8Array): Buffer => Buffer.from(data as string)

/** Expects each bundle of a file that replays to verify and to replay to the same result. Returns the result for the file itself. */
async function expectSealed(
  data: string | Uint8Array,
  options: ExportOptions,
  forms: readonly string[] = FORMS,
): Promise<ReplayResult> {
  const file = writeSession(data)
  const directory = freshDirectory()
  try {
    const expected = await replaySession(file, undefined, AUDITED)
    if (!expected.ok) return expected
    for (const form of forms) {
      const bundle = join(directory, form)
      await exportBundle(file, bundle, options)
      expect((await verifyBundle(bundle)).problems).toEqual([])
      expectSameReplay(await replaySession(bundle, undefined, AUDITED), expected)
      const imported = join(directory, `imported-${form}`)
      await importBundle(bundle, imported)
      expectSameReplay(await replaySession(imported, undefined, AUDITED), expected)
    }
    return expected
  } finally {
    rmSync(file)
    rmSync(directory, { recursive: true })
  }
}

const LINE = envelope(1, start())
const REST = `${envelope(2, content('one'))}\n${envelope(3, content('two', 'ai'))}\n`
const withStart = (changes: Record<string, unknown>): string => `${envelope(1, start(changes))}\n${REST}`
const edited = (change: (line: string) => string): string => `${change(LINE)}\n${REST}`
const broken = (mark: string, bytes: number[]): Buffer => {
  const [before, after] = edited((line) => line.replace('71e871bd', mark)).split(mark) as [string, string]
  return Buffer.concat([Buffer.from(before), Buffer.from(bytes), Buffer.from(after)])
}

describe('a first line', () => {
  test.each<[string, string | Uint8Array]>([
    ['with a ts that is a number', edited((line) => line.replace(/"ts":"[^"]*"/, '"ts":1770825600000'))],
    ['without a ts', edited((line) => line.replace(/"ts":"[^"]*",/, ''))],
    ['without seq or v', edited((line) => line.replace(/"v":1,"seq":1,/, ''))],
    ['with a lone surrogate in its sessionId', edited((line) => line.replace('71e871bd', '\\ud83d'))],
    ['with bytes that are not UTF-8 in its sessionId', broken('@', [0xff, 0xe2, 0x82])],
    ['with keys that come twice', edited((line) => line.replace('{', '{"type":7,"ts":[],"payload":{"sessionId":1},'))],
    ['with a sessionId that comes twice', edited((line) => line.replace('"sessionId"', '"sessionId":[],"sessionId"'))],
    [
      'with keys and a type that are escaped',
      edited((line) =>
        line
          .replace('"type"', '"ty\\u0070e"')
          .replace('session_start', 'session\\u005fstart')
          .replace('"sessionId"', '"\\u0073essionId"'),
      ),
    ],
    ['behind a byte order mark', `\ufeff${session(content('x'))}`],
    ['with white space around everything', edited((line) => ` \t${line.replaceAll(',"', ' , "')} \r`)],
    ['with fields of newer versions', withStart({ 'new': { deep: [1e300, null] }, __proto__: 1 })],
    [
      'nested thousands of levels deep',
      edited((line) => line.replace('{', `{"x":${'['.repeat(5000)}${']'.repeat(5000)},`)),
    ],
    [
      'with numbers beyond every limit',
      edited((line) => line.replace('"seq":1', '"seq":1e999,"n":123456789012345678901234567890')),
    ],
    [
      'of more than a mebibyte',
      withStart({ workspaceDirs: Array.from({ length: 40_000 }, (_, n) => `/home/ann/projects/number-${n}`) }),
    ],
    ['with a sessionId of megabytes', withStart({ sessionId: 'id '.repeat(4 << 20) })],
    ['with nothing behind it, and no end', LINE],
  ])('%s', async (_, data) => {
    for (const options of [UNREDACTED, {}]) expect(await expectSealed(data, options)).toMatchObject({ ok: true })
  })
})

describe('a session', () => {
  test.each<[string, string | Uint8Array]>([
    ['with a line of 20 MiB', session(content('before'), content('i'.repeat(20 << 20)), content('after'))],
    [
      'that a crash left with 20 MiB of zeros at its end',
      Buffer.concat([Buffer.from(session(content('x'))), Buffer.alloc(20 << 20)]),
    ],
    ['with a torn line of 20 MiB', `${session(content('x'))}{"v":1,"x":"${'t'.repeat(20 << 20)}`],
    [
      'that repeats itself a hundred thousand times',
      sessionOf(Array.from({ length: 100_000 }, () => content('again'))),
    ],
  ])('%s', async (_, data) => {
    expect(await expectSealed(data, {})).toMatchObject({ ok: true })
  })

  test('with blank lines, null, damage and late starts', async () => {
    const data = `${session(content('x'))}\n\n \t\nnull\n{"torn\n[]\n7\n${envelope(9, start())}\n{"seq":"x"}\n\0\0\0`
    for (const options of [UNREDACTED, {}]) expect(await expectSealed(data, options)).toMatchObject({ ok: true })
  })
})

test.prop([anyFile], runs(150))('any file that replays can be sealed', async (data) => {
  await expectSealed(data, UNREDACTED, [FORMS[0]])
})

test.prop([anyEvents, anyString, fc.constantFrom(...FORMS)], runs(60))(
  'any session can be sealed, with and without redaction, if there is nothing to redact',
  async (events, torn, form) => {
    const data = sessionOf(events) + torn
    for (const options of [UNREDACTED, {}])
      expect(await expectSealed(bytesOf(data), options, [form])).toMatchObject({ ok: true })
  },
)
