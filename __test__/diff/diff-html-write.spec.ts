// Writing the comparison page: its content, that it is written completely or not at all, and that it is self-contained.

import { createHash } from 'node:crypto'
import { execFileSync } from 'node:child_process'
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, relative } from 'node:path'
import { fc, test } from '../support/property'
import { describe, expect } from 'vitest'
import { anyString, runs } from '../support/session-arbitraries.js'
import {
  aRun,
  aSession,
  difference,
  freshPath,
  islandsOf,
  part,
  partedRuns,
  partedSessions,
  say,
  writeDiffPage,
  type Sides,
} from '../support/diff-html.js'

const { ROW_KINDS } = part('diff/align')

const tape = createRequire(import.meta.url)('../../index.js') as Record<
  string,
  (...args: unknown[]) => Promise<unknown>
>

async function pageOf(sides: Sides): Promise<string> {
  const out = freshPath('.html')
  await writeDiffPage(out, sides)
  return readFileSync(out, 'utf8')
}

const namesIn = (directory: string): string[] => readdirSync(directory)

describe('the page', () => {
  test('holds the events of both sides with their payloads', async () => {
    const { left, right, diff } = await partedRuns()
    const { data, payloads } = islandsOf(await pageOf({ left, right, diff }))
    expect(data.left).toMatchObject({ given: left, id: 'run-001', count: 17 })
    expect(data.right).toMatchObject({ given: right, id: 'run-002', count: 19 })
    const lines = readFileSync(join(left, 'events.cath-log'), 'utf8').trimEnd().split('\n')
    expect(payloads.left.map(([payload]) => payload)).toEqual(lines.map((line) => JSON.parse(line).payload))
    expect(data.right.events.map(([place, kind]: unknown[]) => [place, kind])).toContainEqual([5, 'Heartbeat'])
  })

  test('has the divergence in one row, after the events that were not compared', async () => {
    const { left, right, diff } = await partedRuns()
    const { data } = islandsOf(await pageOf({ left, right, diff }))
    const rows = data.rows.map(([kind, l, r]: number[]) => [ROW_KINDS[kind!], l, r])
    expect(rows.filter(([kind]: unknown[]) => kind === 'divergence')).toEqual([['divergence', 14, 16]])
    expect(rows.filter(([kind]: unknown[]) => kind === 'apart')).toEqual([
      ['apart', -1, 5],
      ['apart', -1, 13],
    ])
  })

  test('shows hashed outputs once where their hashes differ', async () => {
    const { left, right, diff } = await partedRuns(['the price is 212.4', 'the price is 215.9'])
    const { data } = islandsOf(await pageOf({ left, right, diff }))
    expect(data.divergence.fields).toHaveLength(1)
    expect(data.divergence.fields[0]).toMatchObject({ path: '/payload/outputHash', also: ['/payload/rawHash'] })
    expect(data.divergence.fields[0].blob).toEqual({
      left: { text: 'the price is 212.4', size: 18, isWhole: true },
      right: { text: 'the price is 215.9', size: 18, isWhole: true },
    })
  })

  test('shows the beginning of a large blob, and no blob that is not text', async () => {
    const large = await partedRuns([`${'é'.repeat(60_000)}1`, `${'é'.repeat(60_000)}2`])
    const { blob } = islandsOf(await pageOf(large)).data.divergence.fields[0]
    expect(blob.left).toEqual({ text: 'é'.repeat(32_768), size: 120_001, isWhole: false })
    const { left, right, diff } = await partedRuns()
    const [{ left: hash }] = diff.fields as { left: string }[]
    writeFileSync(join(left, 'blobs', hash!.slice(0, 2), hash!), Buffer.from([0xff, 0xfe, 0x00]))
    expect(islandsOf(await pageOf({ left, right, diff })).data.divergence.fields[0].blob).toBeUndefined()
  })

  test('takes a list that holds a hash for a value, not for a hash', async () => {
    const { left, right, diff } = await partedRuns(['one', 'two'])
    const [field] = diff.fields as [{ path: string; left: unknown }]
    const fields = [{ ...field, left: [field.left] }]
    const { data } = islandsOf(await pageOf({ left, right, diff: { ...diff, fields } }))
    expect(data.divergence.fields[0]).toMatchObject({ path: field.path })
    expect(data.divergence.fields[0].blob).toBeUndefined()
  })

  test('of equal executions says so', async () => {
    const [left, right] = [await aRun('a', 'x'), await aRun('b', 'x')]
    const html = await pageOf({ left, right, diff: null })
    expect(html).toContain('are equal: nothing that matters differs')
    expect(islandsOf(html).data).toMatchObject({ divergence: null })
  })

  test('counts the records of a session as a replay does: not blank lines, null, or lines that do not parse', async () => {
    const path = aSession('s', [say('human', 'one')])
    appendFileSync(
      path,
      '\n  \nnull\n{"torn":\n[1,2]\n{"no":"type"}\n{"v":1,"type":"content","payload":{"content":{"speaker":"ai","blocks":[]}}}\r\n{"torn',
    )
    const { data, payloads } = islandsOf(await pageOf({ left: path, right: path, diff: null }))
    expect(data.left.events.map(([place, kind]: unknown[]) => [place, kind])).toEqual([
      [0, 'session_start'],
      [1, 'human'],
      [2, '(no type)'],
      [3, '(no type)'],
      [4, 'ai'],
    ])
    expect(payloads.left.slice(2).map(([payload]) => payload)).toEqual([
      [1, 2],
      { no: 'type' },
      { content: { speaker: 'ai', blocks: [] } },
    ])
  })

  test('goes as far as a damaged log can be read, and says where that ends', async () => {
    const { left, right, diff } = await partedRuns()
    appendFileSync(join(right, 'events.cath-log'), '{"v":1,"not":"an event"}\n')
    const { data } = islandsOf(await pageOf({ left, right, diff }))
    expect(data.right.count).toBe(19)
    expect(data.right.problem).toBe("An event has no field 'time'")
    expect(data.left.problem).toBe(null)
  })

  test('of long executions holds the windows that matter, and counts the events left out', async () => {
    const { left, right, diff } = partedSessions(3000, 1500)
    const out = freshPath('.html')
    const written = await writeDiffPage(out, {
      left,
      right,
      diff,
      limits: { events: 1000, head: 20, around: 50, tail: 10 },
    })
    const { data } = islandsOf(readFileSync(out, 'utf8'))
    // The divergence, fifty on either side, the beginning, the end, and the ancestors, which are among those already.
    expect(written).toMatchObject({ events: { left: 3001, right: 3001 }, shown: { left: 131, right: 131 } })
    const gaps = data.rows.filter(([kind]: number[]) => ROW_KINDS[kind!] === 'gap')
    expect(gaps.map(([, l, r]: number[]) => [l, r])).toEqual([
      [1430, 1430],
      [1440, 1440],
    ])
  })

  test('keeps the beginning and the end of a long text, and says how much is missing', async () => {
    const path = aSession('s', [say('human', `${'a'.repeat(50_000)}END`)])
    const [payload, cuts] = islandsOf(await pageOf({ left: path, right: path, diff: null })).payloads.left[1]
    const { text } = payload.content.blocks[0]
    expect(text).toMatch(/^a+END$/)
    expect(cuts).toEqual([{ path: '/content/blocks/0/text', left: 50_003 - text.length, what: 'text', at: 3072 }])
  })

  test.prop(
    [
      fc.array(
        fc.oneof(anyString, fc.constantFrom('</script><script>alert(1)</script>', '<!--<script>', '\u2028', '"&<>\'')),
        { minLength: 1, maxLength: 5 },
      ),
    ],
    runs(40),
  )('preserves any text, none of which becomes markup', async (texts) => {
    const path = aSession(
      texts[0] || 's',
      texts.map((text) => say(text, text)),
    )
    const diff = difference({
      at: 1,
      right: 1,
      prefix: 'rec',
      fields: [{ path: texts[0], left: texts, right: texts[0] }],
      affected: texts,
      cause: texts[0]!,
    })
    const html = await pageOf({ left: path, right: path, diff })
    const { data, payloads } = islandsOf(html)
    const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value))
    expect(payloads.left.slice(1).map(([payload]) => payload.content.blocks[0].text)).toEqual(plain(texts))
    expect(data.divergence.affected).toEqual(plain(texts))
    // The same elements as in a page of harmless text, and no others.
    expect(html.match(/<[a-z!/]+/gi)).toEqual((await frame).match(/<[a-z!/]+/gi))
  })

  /** A page of harmless text. */
  const frame = (async () => {
    const path = aSession('s', [say('human', 'x')])
    return pageOf({ left: path, right: path, diff: difference({ at: 1, right: 1, prefix: 'rec' }) })
  })()
})

describe('the page is self-contained', () => {
  test('its policy allows its own script and style, and nothing more', async () => {
    const html = await pageOf(await partedRuns())
    const policy = /<meta http-equiv="Content-Security-Policy" content="([^"]*)">/.exec(html)![1]!
    const directives = Object.fromEntries(policy.split('; ').map((directive) => directive.split(/ (.*)/s).slice(0, 2)))
    const hash = (element: RegExp): string =>
      `'sha256-${createHash('sha256').update(element.exec(html)![1]!).digest('base64')}'`
    expect(directives).toEqual({
      'default-src': "'none'",
      'script-src': hash(/<script>([^]*?)<\/script>/),
      'style-src': hash(/<style>([^]*?)<\/style>/),
      'img-src': 'data:',
      'connect-src': "'none'",
      'base-uri': "'none'",
      'form-action': "'none'",
      'require-trusted-types-for': "'script'",
      'trusted-types': "'none'",
    })
  })

  test('it names no other file and no address, except namespaces', async () => {
    const html = await pageOf(await partedRuns())
    expect(html.match(/\b(?:src|href|action|srcset|poster)\s*=\s*["'][^"']*/g)).toEqual([
      expect.stringMatching(/^href="data:image\/svg\+xml,/),
    ])
    expect(html).not.toMatch(/@import|url\(|\bfetch\(|XMLHttpRequest|WebSocket|sendBeacon|EventSource|import\(/)
    expect((html.match(/https?:\/\/[^'"`\s]+/g) ?? []).filter((url) => !url.startsWith('http://www.w3.org/'))).toEqual(
      [],
    )
  })

  test('it creates no markup from strings', () => {
    const view = new URL('../../packages/cli/html/view/', import.meta.url)
    for (const name of readdirSync(view.pathname, { recursive: true })
      .map(String)
      .filter((each) => each.endsWith('.mjs'))) {
      expect(readFileSync(new URL(name, view), 'utf8'), name).not.toMatch(
        /innerHTML|dangerouslySetInnerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|setHTML|\beval\b|new Function|srcdoc/,
      )
    }
  })
})

describe('the file', () => {
  test('is the same for the same inputs, at any time and place', async () => {
    const { left, right, diff } = await partedRuns()
    const first = freshPath('.html')
    await writeDiffPage(first, { left, right, diff })
    const program = `require(${JSON.stringify(new URL('../../packages/cli/html/diff/index.js', import.meta.url).pathname)}).writeDiffPage('again.html', JSON.parse(process.argv[1]))`
    const elsewhere = freshPath()
    mkdirSync(elsewhere)
    execFileSync(process.execPath, ['-e', program, JSON.stringify({ left, right, diff })], {
      cwd: elsewhere,
      env: { ...process.env, TZ: 'Pacific/Auckland', LANG: 'de_DE.UTF-8', HOME: elsewhere },
    })
    expect(readFileSync(join(elsewhere, 'again.html')).equals(readFileSync(first))).toBe(true)
  })

  test('contains no paths but those that were given', async () => {
    const { left, right, diff } = await partedRuns()
    const program = `require(${JSON.stringify(new URL('../../packages/cli/html/diff/index.js', import.meta.url).pathname)}).writeDiffPage('page.html', JSON.parse(process.argv[1]))`
    const cwd = dirname(left)
    execFileSync(
      process.execPath,
      ['-e', program, JSON.stringify({ left: relative(cwd, left), right: relative(cwd, right), diff })],
      { cwd },
    )
    const html = readFileSync(join(cwd, 'page.html'), 'utf8')
    expect(html).not.toContain(cwd)
    expect(html).toContain(relative(cwd, left))
  })

  test('atomically replaces an existing file, and leaves no other file', async () => {
    const directory = freshPath()
    mkdirSync(directory)
    const out = join(directory, 'page.html')
    writeFileSync(out, 'what was there')
    const before = statSync(out).ino
    const written = await writeDiffPage(out, await partedRuns())
    expect(namesIn(directory)).toEqual(['page.html'])
    expect(statSync(out)).toMatchObject({ size: written.bytes })
    expect(statSync(out).ino).not.toBe(before)
  })

  test('is not written if a side cannot be read, and an existing file is kept', async () => {
    const directory = freshPath()
    mkdirSync(directory)
    const out = join(directory, 'page.html')
    writeFileSync(out, 'what was there')
    const { left, diff } = await partedRuns()
    await expect(writeDiffPage(out, { left, right: join(directory, 'missing'), diff })).rejects.toMatchObject({
      code: 'ENOENT',
    })
    await expect(writeDiffPage(out, { left, right: aSession('s', []), diff })).rejects.toMatchObject({
      code: 'KindMismatch',
    })
    expect(namesIn(directory)).toEqual(['page.html'])
    expect(readFileSync(out, 'utf8')).toBe('what was there')
  })

  test('rejects with the reason if it cannot be written', async () => {
    const sides = await partedRuns()
    await expect(writeDiffPage(join(freshPath(), 'page.html'), sides)).rejects.toMatchObject({ code: 'ENOENT' })
    const directory = freshPath()
    mkdirSync(directory)
    await expect(writeDiffPage(directory, sides)).rejects.toMatchObject({
      code: expect.stringMatching(/EISDIR|EEXIST|ENOTEMPTY|EPERM/),
    })
    expect(namesIn(directory)).toEqual([])
    expect(namesIn(dirname(directory)).filter((name) => name.endsWith('.tmp'))).toEqual([])
  })

  test.skipIf(process.platform === 'win32')('is written to, not replaced, if it is a pipe or a device', async () => {
    const link = freshPath()
    symlinkSync('/dev/null', link)
    await writeDiffPage(link, await partedRuns())
    expect(statSync(link).isCharacterDevice()).toBe(true)
    expect(statSync('/dev/null').isCharacterDevice()).toBe(true)
  })

  test('is not left behind by an abort, before or during the work, which rejects with its reason', async () => {
    const { left, right, diff } = partedSessions(5000, 4000)
    const directory = freshPath()
    mkdirSync(directory)
    for (const after of [-1, 0, 1, 3, 10, 30]) {
      const controller = new AbortController()
      const reason = new Error(`enough after ${after}`)
      if (after < 0) controller.abort(reason)
      else setTimeout(() => controller.abort(reason), after)
      await expect(
        writeDiffPage(join(directory, 'page.html'), { left, right, diff, signal: controller.signal }),
      ).rejects.toBe(reason)
      expect(namesIn(directory)).toEqual([])
    }
  })
})

test('an abort is noticed while a side is read, not only afterwards', async () => {
  const { left, right, diff } = partedSessions(5000, 4000)
  const controller = new AbortController()
  const { signal } = controller
  let looks = 0
  const throwIfAborted = () => {
    if (++looks === 100) controller.abort(new Error('enough'))
    AbortSignal.prototype.throwIfAborted.call(signal)
  }
  Object.assign(signal, { throwIfAborted })
  const out = freshPath('.html')
  await expect(writeDiffPage(out, { left, right, diff, signal })).rejects.toThrow('enough')
  expect(looks).toBeLessThan(110)
  expect(existsSync(out)).toBe(false)
})

describe('names that every object has', () => {
  test.each(['constructor', 'valueOf', '__proto__', 'hasOwnProperty'])(
    '%s is treated like any unknown cause, kind or note',
    async (name) => {
      const { left, right, diff } = partedSessions(4, 2)
      const { divergence } = islandsOf(
        await pageOf({
          left,
          right,
          diff: { ...diff, likely_cause: name, kind: name, fields: [{ path: name, left: 1, right: 2, note: name }] },
        }),
      ).data
      expect(divergence).toMatchObject({ cause: name, because: '', says: name })
      expect(divergence.fields).toEqual([expect.not.objectContaining({ note: expect.anything() })])
    },
  )
})

describe('bundles', () => {
  test('a sealed session is read from its directory', async () => {
    const session = freshPath('.cath-bundle')
    mkdirSync(session)
    cpSync(aSession('sealed', [say('human', 'hello')]), join(session, 'session.jsonl'))
    writeFileSync(join(session, 'manifest.json'), '{}')
    expect(islandsOf(await pageOf({ left: session, right: session, diff: null })).data.left).toMatchObject({
      id: 'sealed',
      given: session,
    })
  })

  test('an archive is unpacked, shown by its own path, and the unpacked files are removed', async ({ skip }) => {
    skip(tape['exportBundle'] === undefined, 'this build of the addon has no bundles')
    const { left, right, diff } = await partedRuns()
    const archive = freshPath('.cath-bundle.tar.zst')
    await tape['exportBundle']!(right, archive, { redact: false })
    const directory = freshPath()
    mkdirSync(directory)
    const before = process.env['TMPDIR']
    process.env['TMPDIR'] = directory
    try {
      const { data } = islandsOf(await pageOf({ left, right: archive, diff }))
      expect(data.right).toMatchObject({ given: archive, id: 'run-002', count: 19 })
    } finally {
      if (before === undefined) delete process.env['TMPDIR']
      else process.env['TMPDIR'] = before
    }
    expect(existsSync(directory) && namesIn(directory)).toEqual([])
  })
})
