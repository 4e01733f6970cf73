// Redaction through the addon: no file of a bundle contains any byte of a secret, the rest still verifies, and redacted values are marked.

import { createHash, randomBytes } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fc, test } from '../support/property'
import { codePoint } from '../support/code-points'
import { describe, expect } from 'vitest'
import type { ExportOptions, RedactionRule } from '../../index.js'
import { problemsOf } from '../support/plain-bundle.mjs'
import type { Files } from '../support/plain-bundle.mjs'
import type { PlainRun } from '../support/plain-run-engine.mjs'
import * as bundles from '../support/bundles.js'
import {
  FORMS,
  codesIn,
  exists,
  exportBundle,
  filesIn,
  freshDirectory,
  importBundle,
  rejection,
  replayRun,
  replaySession,
  verifyBundle,
  verifyRun,
} from '../support/bundles.js'
import { eachCase } from '../support/each-case.js'
import { anyRun } from '../support/run-arbitraries.js'
import { advance, freshPath, stateAt, startedRun, withRun, eventsIn } from '../support/run-directory.js'
import { runs } from '../support/session-arbitraries.js'
import { content, sessionEvent, sessionOf } from '../support/session-file.js'

/** A secret that no built-in rule matches, with every kind of character that JSON escapes. */
const SECRET = `s3cr3t-"q"\\b/é\u2028😀-${randomBytes(6).toString('hex')}`
const RULE: RedactionRule = { name: 'mine', pattern: 's3cr3t-.*?-[0-9a-f]{12}' }
const only = (...rules: RedactionRule[]): ExportOptions => ({ redact: { builtin: false, rules } })
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')
const GITHUB = `ghp_${randomBytes(18).toString('hex')}`

/** The ways in which JSON can write a text: as it is, escaped once, quoted twice, and with every character escaped. */
function waysToWrite(text: string): string[] {
  const inside = (value: string) => JSON.stringify(value).slice(1, -1)
  const escaped = [...text]
    .map((one) =>
      [...one]
        .flatMap((each) => each.split(''))
        .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
        .join(''),
    )
    .join('')
  return [
    text,
    inside(text),
    inside(inside(text)),
    escaped,
    escaped.toUpperCase().replaceAll('\\U', '\\u'),
    inside(text).replaceAll('/', '\\/'),
  ]
}

/** The files of a bundle with a secret, or its beginning, in their contents or names. */
function foundIn(files: Files, secret: string): string[] {
  const needles = waysToWrite(secret).map((way) => Buffer.from(way))
  const core = Buffer.from(secret.slice(0, 7))
  return Object.entries(files).flatMap(([path, data]) =>
    path.includes(secret) || [...needles, core].some((needle) => data.includes(needle)) ? [path] : [],
  )
}

/** A run with a secret in every place that may contain one. */
function runWithSecrets(secret: string): PlainRun {
  const run = startedRun('round-robin', {
    name: 'w',
    version: '1',
    nodes: [{ id: 'build', kind: 'task', tool: 'http' }],
  })
  advance(run, 'build#1', 'NodeStarted')
  run.append(
    'ToolInvoked',
    {
      tool: 'http',
      call: 'c1',
      requestHash: 'q',
      arguments: { headers: [{ authorization: secret }], deep: { [`x`]: [[secret]] } },
    },
    { node: 'build' },
  )
  const raw = run.putBlob(JSON.stringify({ token: secret, rest: 1 }))
  run.append(
    'ToolCompleted',
    { tool: 'http', call: 'c1', rawHash: raw, outputHash: raw, normalizer: 'none', text: `a ${secret} b` },
    { node: 'build' },
  )
  run.append('BlobStored', { blob: run.putBlob(`plain ${secret} text`), size: 1 })
  run.append('Error', { code: 'E', message: `failed: ${secret}`, recoverable: true })
  run.append('Error', { code: 'E', message: `quoted: ${JSON.stringify({ token: secret })}`, recoverable: true })
  run.append('Error', { code: 'E', message: 'nothing', recoverable: true })
  return run
}

test.each(FORMS)('a rule for 32 hex digits redacts them, but not the salts of a run: %s', async (form) => {
  const key = randomBytes(16).toString('hex')
  const rule = { name: 'hex', pattern: '\\b[0-9a-f]{32}\\b' }
  const run = startedRun()
  const plain = join(freshDirectory(), form)
  await exportBundle(run.write(freshPath()), plain, only(rule))
  expect((await verifyBundle(plain)).info).toMatchObject({ redactions: 0 })
  run.append('Error', { code: 'E', message: `key ${key}`, recoverable: true })
  const path = join(freshDirectory(), form)
  await exportBundle(run.write(freshPath()), path, only(rule))
  expect(await verifyBundle(path)).toMatchObject({ ok: true, info: { redactions: 1 } })
  expect((await eventsIn(path)).at(-1)!.payload).toMatchObject({ message: 'key [redacted:hex]' })
  expect(await replayRun(path)).toMatchObject({ ok: true, state: stateAt(run, run.time - 1) })
})

describe.each(FORMS)('a run as %s', (form) => {
  const redacted = async (run: PlainRun, options?: ExportOptions) => {
    const path = join(freshDirectory(), form)
    const info = await exportBundle(run.write(freshPath()), path, options)
    const directory = join(freshDirectory(), 'imported')
    await importBundle(path, directory)
    return { path, info, files: filesIn(directory) }
  }

  test('contains no byte of a secret that a rule matches, in any place and with any escaping', async () => {
    const run = runWithSecrets(SECRET)
    const { path, info, files } = await redacted(run, only(RULE))
    expect(foundIn(files, SECRET)).toEqual([])
    expect(info.redactions).toBe(6)
    expect(await verifyBundle(path)).toMatchObject({ ok: true, info: { redactions: 6 } })
    expect(problemsOf(files)).toEqual([])
    if (form === FORMS[1]) expect(readFileSync(path).includes(SECRET.slice(0, 7))).toBe(false)
  })

  test('replays to the same states, and counts redacted values as unverifiable', async () => {
    const run = runWithSecrets(SECRET)
    const { path } = await redacted(run, only(RULE))
    for (const verify of ['none', 'chain', 'full'] as const) {
      expect(await replayRun(path, { verify })).toMatchObject({ ok: true, state: stateAt(run, run.time - 1) })
    }
    const found = await verifyRun(path)
    expect(found).toMatchObject({
      stateHashesMatch: true,
      scheduleMatch: true,
      dagMatch: true,
      outputHashesMatch: false,
    })
    expect(found.outputHashes).toMatchObject({ failed: 0, unverifiable: 1 })
    expect(found.chain.failed).toBe(0)
    const events = await eventsIn(path)
    expect(events.map(({ hash, payloadHash }) => ({ hash, payloadHash }))).toEqual(
      (await eventsIn(run.write(freshPath()))).map(({ hash, payloadHash }) => ({ hash, payloadHash })),
    )
    expect(JSON.stringify(events)).toContain('[redacted:mine]')
  })

  test('is redacted by the built-in rules unless they are switched off', async () => {
    const run = runWithSecrets(GITHUB)
    expect(foundIn((await redacted(run)).files, GITHUB)).toEqual([])
    expect(foundIn((await redacted(run, { redact: {} })).files, GITHUB)).toEqual([])
    expect(foundIn((await redacted(run, { redact: { builtin: true, rules: [RULE] } })).files, GITHUB)).toEqual([])
    for (const options of [{ redact: false }, only(RULE), only()] as ExportOptions[]) {
      const { info, files } = await redacted(run, options)
      expect(info.redactions).toBe(0)
      expect(foundIn(files, GITHUB).length).toBeGreaterThan(2)
      expect(files).not.toHaveProperty(['redactions.json'])
    }
  })
})

test.each(FORMS)('a PIN that a pointer removed from a blob can not be read back from a hash: %s', async (form) => {
  const run = startedRun()
  const pin = String(100_000 + (randomBytes(4).readUInt32LE() % 900_000))
  const written = (value: string) => JSON.stringify({ user: 'ann', pin: value })
  advance(run, 'build#1', 'NodeStarted')
  run.append('ToolInvoked', { tool: 'cc', call: 'c1', requestHash: 'q' }, { node: 'build' })
  run.append(
    'ToolCompleted',
    { tool: 'cc', call: 'c1', rawHash: run.putBlob(written(pin)), outputHash: 'o', normalizer: 'json' },
    { node: 'build' },
  )
  run.append('BlobStored', { blob: run.putBlob(written(pin)), size: written(pin).length })
  const path = join(freshDirectory(), form)
  const info = await exportBundle(run.write(freshPath()), path, { redact: { rules: [{ name: 'pin', path: '/pin' }] } })
  expect(info.redactions).toBe(3)
  const imported = join(freshDirectory(), 'imported')
  await importBundle(path, imported)
  const files = filesIn(imported)
  // Whoever tries all values knows the redacted text, and looks for a hash of what stood there.
  const hashes = new Set(Object.values(files).flatMap((bytes) => bytes.toString().match(/[0-9a-f]{64}/g) ?? []))
  expect(hashes.has(sha256(written(pin)))).toBe(false)
  expect(hashes.has(sha256(written('[redacted:pin]')))).toBe(true)
  for (const bundle of [path, imported]) {
    expect(await codesIn(bundle)).toEqual([])
    expect(await replayRun(bundle, { verify: 'full' })).toMatchObject({ ok: true, state: stateAt(run, run.time - 1) })
    const found = await verifyRun(bundle)
    expect(found).toMatchObject({
      stateHashesMatch: true,
      outputHashesMatch: false,
      chain: { failed: 0, unverifiable: 2 },
      outputHashes: { failed: 0, unverifiable: 1 },
    })
    const named = (await eventsIn(bundle))
      .map(({ payload }) => payload as { blob?: string; rawHash?: string })
      .flatMap(({ blob, rawHash }) => blob ?? rawHash ?? [])
    expect(named).toEqual(Array(2).fill(sha256(written('[redacted:pin]'))))
  }
  const again = join(freshDirectory(), 'again')
  expect(await exportBundle(path, again, { redact: { rules: [{ name: 'pin', path: '/pin' }] } })).toMatchObject({
    bundleId: info.bundleId,
  })
})

describe('rules', () => {
  const events = async (rule: RedactionRule): Promise<string> => {
    const path = join(freshDirectory(), 'b')
    await exportBundle(runWithSecrets('plain words').write(freshPath()), path, only(rule))
    return JSON.stringify(await eventsIn(path))
  }

  test('match by pattern, by a group of it, or by pointer', async () => {
    expect(await events({ name: 'words', pattern: 'plain words' })).toContain('failed: [redacted:words]')
    expect(await events({ name: 'half', pattern: 'failed: (?P<secret>plain words)' })).toContain(
      'failed: [redacted:half]',
    )
    expect(await events({ name: 'path', path: '/arguments/headers/*/authorization' })).toContain(
      '"authorization":"[redacted:path]"',
    )
    expect(await events({ name: 'deep', path: '/arguments/deep' })).toContain('[["[redacted:deep]"]]')
  })

  test('may be restricted to kinds or tools', async () => {
    expect(await events({ name: 'kind', pattern: '^failed.*', kinds: ['Error'] })).toContain('[redacted:kind]')
    expect(await events({ name: 'kind', pattern: '^failed.*', kinds: ['ToolCompleted'] })).not.toContain(
      '[redacted:kind]',
    )
    expect(await events({ name: 'tool', path: '/text', tools: ['http'] })).toContain('[redacted:tool]')
    expect(await events({ name: 'tool', path: '/text', tools: ['other'] })).not.toContain('[redacted:tool]')
  })

  test('that are invalid fail the export before anything is read or written', async () => {
    const destination = join(freshDirectory(), 'b')
    await eachCase<RedactionRule[]>(
      [
        [{ name: 'both', pattern: 'x', path: '/x' }],
        [{ name: 'neither' }],
        [{ name: '', pattern: 'x' }],
        [{ name: 'look', pattern: '(?=x)' }],
        [{ name: 'back', pattern: '(x)\\1' }],
        [{ name: 'open', pattern: '(' }],
        [{ name: 'pointer', path: 'no/slash' }],
        [
          { name: 'same', pattern: 'x' },
          { name: 'same', pattern: 'y' },
        ],
        [{ name: 'none', pattern: 'x', kinds: [] }],
        [{ name: ']', pattern: 'x' }],
      ],
      async (rules) => {
        const error = await rejection(exportBundle('/no/such/source', destination, { redact: { rules } }))
        expect(error).toMatchObject({ name: 'BundleError', code: 'InvalidRule' })
        expect(exists(destination)).toBe(false)
      },
    )
  })

  test('of the wrong type throw synchronously', async () => {
    await eachCase(
      [
        [null, 'options.redact'],
        [true, 'options.redact'],
        [[], 'options.redact'],
        ['x', 'options.redact'],
        [{ builtin: 1 }, 'options.redact.builtin'],
        [{ rules: {} }, 'options.redact.rules'],
        [{ rules: [1] }, 'options.redact.rules[0]'],
        [{ rules: [{ pattern: 'x' }] }, 'options.redact.rules[0].name'],
        [{ rules: [{ name: 'x', pattern: /x/ }] }, 'options.redact.rules[0].pattern'],
        [{ rules: [RULE, { name: 'x', path: 1 }] }, 'options.redact.rules[1].path'],
        [{ rules: [{ name: 'x', kinds: 'Error' }] }, 'options.redact.rules[0].kinds'],
        [{ rules: [{ name: 'x', tools: [1] }] }, 'options.redact.rules[0].tools'],
      ] as [unknown, string][],
      ([redact, argument]) => {
        expect(() => exportBundle('a', 'b', { redact } as ExportOptions)).toThrow(
          expect.objectContaining({ name: 'TypeError', message: expect.stringContaining(`${argument} must be`) }),
        )
      },
    )
  })

  test('that match in an id, a name or a state fail the export, without revealing the secret', async () => {
    const conflicts: ((run: PlainRun) => void)[] = [
      (run) => run.append('Heartbeat', { worker: SECRET, status: 'idle' }),
      (run) => run.append('Heartbeat', { worker: 'w1', status: SECRET }),
      (run) => run.append('ToolInvoked', { tool: SECRET, call: 'c', requestHash: 'q' }, { node: 'build' }),
      (run) => run.append('NodeFailed', { task: 'build#1', code: SECRET, message: 'm', willRetry: true }),
      (run) => run.append('Error', { code: 'E', message: 'm', recoverable: true, [SECRET]: 1 }),
    ]
    await eachCase(conflicts, async (put) => {
      const run = startedRun()
      advance(run, 'build#1', 'NodeStarted')
      put(run)
      const directory = freshDirectory()
      const error = await rejection(exportBundle(run.write(freshPath()), join(directory, 'b'), only(RULE)))
      expect(error).toMatchObject({ code: 'RedactionConflict', message: expect.stringContaining('mine') })
      expect(
        waysToWrite(SECRET).filter((way) => JSON.stringify(error).includes(way) || error.message.includes(way)),
      ).toEqual([])
      expect(filesIn(directory)).toEqual({})
    })
  })
})

describe('a second redaction', () => {
  test('by the same rules changes nothing', async () => {
    const directory = freshDirectory()
    const first = await exportBundle(runWithSecrets(SECRET).write(freshPath()), join(directory, 'a'), only(RULE))
    const again = await exportBundle(join(directory, 'a'), join(directory, 'b'), only(RULE))
    expect(again.bundleId).toBe(first.bundleId)
    expect(filesIn(join(directory, 'b'))).toEqual(filesIn(join(directory, 'a')))
    const without = await exportBundle(join(directory, 'a'), join(directory, 'c'), { redact: false })
    expect(without).toMatchObject({ bundleId: first.bundleId, redactions: first.redactions })
  })

  test('by more rules redacts more, and keeps the earlier redactions', async () => {
    const directory = freshDirectory()
    const run = runWithSecrets(SECRET)
    run.append('Error', { code: 'E', message: `and ${GITHUB}`, recoverable: true })
    const first = await exportBundle(run.write(freshPath()), join(directory, 'a'), only(RULE))
    const more = await exportBundle(join(directory, 'a'), join(directory, 'b'))
    expect(more.redactions).toBe(first.redactions + 1)
    const files = filesIn(join(directory, 'b'))
    expect([...foundIn(files, SECRET), ...foundIn(files, GITHUB)]).toEqual([])
    expect(await replayRun(join(directory, 'b'), { verify: 'full' })).toMatchObject({
      ok: true,
      state: stateAt(run, run.time - 1),
    })
  })
})

describe('a session', () => {
  const text = sessionOf([
    content(`my ${SECRET} here`),
    sessionEvent(`used ${GITHUB}`),
    content(JSON.stringify({ quoted: SECRET })),
    content('nothing'),
  ])

  test.each(FORMS)('as %s has its secrets replaced, and replays to the same structure', async (form) => {
    const directory = freshDirectory()
    writeFileSync(join(directory, 's.jsonl'), text)
    const path = join(directory, form)
    const info = await exportBundle(join(directory, 's.jsonl'), path, { redact: { rules: [RULE] } })
    expect(info.redactions).toBe(3)
    await importBundle(path, join(directory, 'imported'))
    const files = filesIn(join(directory, 'imported'))
    expect([...foundIn(files, SECRET), ...foundIn(files, GITHUB)]).toEqual([])
    expect(await verifyBundle(path)).toMatchObject({ ok: true, info: { redactions: 3 } })
    const [replay, original] = [await replaySession(path), await replaySession(join(directory, 's.jsonl'))]
    if (!replay.ok || !original.ok) throw new Error('neither may fail')
    expect(replay.history.map(({ blocks }) => (blocks[0] as { text: string }).text)).toEqual([
      'my [redacted:mine] here',
      '{"quoted":"[redacted:mine]"}',
      'nothing',
    ])
    expect({ ...replay, history: [], sessionEvents: [] }).toEqual({ ...original, history: [], sessionEvents: [] })
    expect(JSON.parse(files['redactions.json']!.toString()).lines.map(({ line }: { line: number }) => line)).toEqual([
      2, 3, 4,
    ])
  })
})

const HEX = fc.stringMatching(/^[0-9a-f]{12}$/)

test.prop(
  [
    anyRun(30),
    fc.array(fc.tuple(HEX, fc.nat(), fc.string({ unit: codePoint, maxLength: 10 })), { minLength: 1, maxLength: 4 }),
    fc.constantFrom(...FORMS),
  ],
  runs(30),
)(
  'any run with secrets anywhere in free text has none left, and replays to the same state',
  async (run, planted, form) => {
    const status = run.state.run.status
    fc.pre(status !== 'Completed' && status !== 'Failed')
    const secrets = planted.map(([hex, , text]) => `s3cr3t-${text.replaceAll('\n', '')}-${hex}`)
    for (const [at, secret] of secrets.entries()) {
      run.append('Error', {
        code: 'E',
        message: `x ${secret} y`,
        recoverable: true,
        more: { [`k${at}`]: [JSON.stringify(secret), secret] },
      })
      run.append('BlobStored', { blob: run.putBlob(`of ${secret}`), size: 1 })
    }
    await withRun(run, async (source) => {
      const path = join(freshDirectory(), form)
      await exportBundle(source, path, only({ name: 'mine', pattern: '(?s)s3cr3t-.*?-[0-9a-f]{12}' }))
      const directory = join(freshDirectory(), 'imported')
      await importBundle(path, directory)
      for (const secret of secrets) expect(foundIn(filesIn(directory), secret)).toEqual([])
      const replay = await replayRun(path, { verify: 'full' })
      if (!replay.ok) throw new Error(replay.error.message)
      expect(replay.state).toEqual(stateAt(run, run.time - 1))
      expect((await verifyRun(path)).chain.failed).toBe(0)
    })
  },
)

test('a partial bundle is redacted like a complete one', async () => {
  const run = runWithSecrets(SECRET)
  run.snapshot()
  run.append('Error', { code: 'E', message: `later ${SECRET}`, recoverable: true })
  const path = join(freshDirectory(), 'b')
  expect(await exportBundle(run.write(freshPath()), path, { fromSnapshot: 'latest', ...only(RULE) })).toMatchObject({
    partial: true,
    redactions: 1,
  })
  expect(foundIn(filesIn(path), SECRET)).toEqual([])
  expect(await replayRun(path, { verify: 'full' })).toMatchObject({ ok: true, state: stateAt(run, run.time - 1) })
  expect(bundles.codesOf((await verifyBundle(path)).problems)).toEqual([])
})
