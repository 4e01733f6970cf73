// keep, archive and restore; and every other command on an archived session.

import { readFileSync, readdirSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect } from 'vitest'
import { test } from '../support/property'
import { acquireSessionLock, archiveSession } from '../../index.js'
import { content } from '../support/session-file.js'
import { checkpoint, sessionWith } from '../support/project-files.js'
import { directoryOf } from '../support/file-directory.js'
import { sessionTape as run } from '../support/command-line.js'

function aged(ages: Record<string, number>): string {
  const directory = directoryOf()
  for (const [id, days] of Object.entries(ages)) {
    const path = join(directory, `session-${id}.jsonl`)
    writeFileSync(
      path,
      sessionWith(id, content(`${id} `.repeat(4000)), ...(id === 'checkpoint' ? [checkpoint('c', 'n')] : [])),
    )
    const time = Date.now() / 1000 - days * 86_400
    utimesSync(path, time, time)
  }
  return directory
}

describe('keep', () => {
  test('archives what was not touched for a week and says what that freed', async () => {
    const directory = aged({ old: 30, young: 1 })
    const dry = await run(['keep', directory, '--dry-run'])
    expect(dry).toMatchObject({ code: 0, stderr: '' })
    expect(dry.stdout).toContain('1 session would be archived')
    expect(dry.stdout).toContain('nothing was changed')
    expect(readdirSync(directory).sort()).toStrictEqual(['session-old.jsonl', 'session-young.jsonl'])
    const kept = await run(['keep', directory])
    expect(kept.stdout).toMatch(/1 session archived\n {2}session-old\.jsonl\.zst .* → .*\n\n {2}2 sessions, .* freed\n/)
    expect(readdirSync(directory).sort()).toStrictEqual(['session-old.jsonl.zst', 'session-young.jsonl'])
  })

  test('names every file in a dry run, and none of a package manager', async () => {
    const ids = Array.from({ length: 45 }, (_, n) => `old${n}`)
    const directory = aged(Object.fromEntries(ids.map((id) => [id, 30])))
    const left = join(directory, '.session-tape-abcdef.archive')
    for (const [path, content] of [
      [left, 'x'],
      [join(directory, 'composer.lock'), '{"packages":[]}'],
    ] as const) {
      writeFileSync(path, content)
      const time = Date.now() / 1000 - 3 * 86_400
      utimesSync(path, time, time)
    }
    writeFileSync(join(directory, 'session-old7.jsonl.receipt.jsonl'), '{"format":"claude"}')
    expect((await run(['keep', directory, '--dry-run', '--delete-after', '9d'])).stdout).toMatch(
      /session-old7\.jsonl .*\n {4}with session-old7\.jsonl\.receipt\.jsonl\n/,
    )
    const { stdout } = await run(['keep', directory, '--dry-run'])
    for (const id of ids) expect(stdout).toContain(`session-${id}.jsonl`)
    expect(stdout).toContain(`left-overs to remove: 1 temporary file\n  ${left}\n`)
    expect(stdout).not.toContain('composer.lock')
    expect(JSON.parse((await run(['keep', directory, '--dry-run', '--json'])).stdout)).toMatchObject({
      removedFiles: [left],
    })
  })

  test('takes every part of the policy as an option', async () => {
    const directory = aged({ a: 400, checkpoint: 300, b: 20, c: 3 })
    const lock = await acquireSessionLock(directory, 'b')
    const args = [
      'keep',
      directory,
      directoryOf(),
      '--archive-after',
      '2d',
      '--delete-after',
      '200d',
      '--min-age',
      '1d',
      '--json',
    ]
    const { code, stdout } = await run(args)
    const found = JSON.parse(stdout)
    expect([code, found.dryRun, found.deleted.length, found.archived.length, found.sessions]).toStrictEqual([
      0,
      false,
      1,
      2,
      4,
    ])
    expect(found.left.map(({ reason }: { reason: string }) => reason)).toStrictEqual(['HasCheckpoints', 'InUse'])
    await lock.release()
    const limited = await run([
      'keep',
      directory,
      '--archive-after',
      'never',
      '--max-bytes',
      '1KB',
      '--max-sessions',
      '1',
    ])
    expect([limited.code, limited.stdout.includes('--delete-to-fit deletes the oldest')]).toStrictEqual([1, true])
    const fitted = await run(['keep', directory, '--max-sessions', '2', '--delete-to-fit'])
    expect([fitted.code, readdirSync(directory).sort()]).toStrictEqual([
      0,
      ['session-c.jsonl.zst', 'session-checkpoint.jsonl.zst'],
    ])
  })

  test.each([
    [['--archive-after', '7'], 'It must be a number of hours, days or weeks'],
    [['--max-bytes', '4 apples'], 'It must be a number of bytes'],
    [['--max-sessions', '-1'], 'It must be an integer'],
  ])('refuses %j', async (options, message) => {
    const { code, stderr } = await run(['keep', directoryOf(), ...options])
    expect(code).toBe(2)
    expect(stderr).toContain(message)
  })
})

test('archive and restore convert each path, and go on after a failure', async () => {
  const directory = aged({ a: 1, b: 1 })
  const [a, b, none] = ['a', 'b', 'none'].map((id) => join(directory, `session-${id}.jsonl`)) as [
    string,
    string,
    string,
  ]
  const before = readFileSync(b)
  const archived = await run(['archive', a, none, b])
  expect([archived.code, archived.stdout.split('\n').map((line) => line[0])]).toStrictEqual([
    2,
    ['✓', '✗', '✓', undefined],
  ])
  expect(archived.stdout).toContain('ENOENT')
  expect(readdirSync(directory).sort()).toStrictEqual(['session-a.jsonl.zst', 'session-b.jsonl.zst'])
  const restored = await run(['restore', `${a}.zst`, b, '--json'])
  expect([restored.code, JSON.parse(restored.stdout)]).toMatchObject([
    0,
    [{ filePath: a }, { filePath: b, bytes: before.length }],
  ])
  expect(readFileSync(b).equals(before)).toBe(true)
})

describe('an archived session is taken by', () => {
  const expectSame = async (args: (path: string) => string[], clean = (text: string) => text) => {
    const directory = aged({ s: 1 })
    const path = join(directory, 'session-s.jsonl')
    const before = await run(args(path))
    const { filePath } = await archiveSession(path)
    for (const given of [path, filePath]) {
      const after = await run(args(given))
      expect([after.code, clean(after.stdout.replaceAll(filePath, path)), after.stderr]).toStrictEqual([
        before.code,
        clean(before.stdout),
        '',
      ])
    }
  }

  test.each([
    ['replay', ['--json']],
    ['verify', []],
    ['header', []],
    ['view', ['--text']],
  ])('%s', async (command, options) => {
    await expectSame((path) => [command, path, ...options])
  })

  test('inspect, which says that it is one', async () => {
    await expectSame(
      (path) => ['inspect', path],
      (text) => text.replace(/Form .*\n.*/, ''),
    )
    const directory = aged({ s: 1 })
    await archiveSession(join(directory, 'session-s.jsonl'))
    expect((await run(['inspect', join(directory, 'session-s.jsonl')])).stdout).toContain('an archive (.zst)')
    expect((await run(['sessions', directory])).stdout).toContain(', archived ')
  })

  test('view as a page, diff, and bundle export', async () => {
    const directory = aged({ s: 1 })
    const path = join(directory, 'session-s.jsonl')
    await archiveSession(path)
    const out = join(directoryOf(), 'page.html')
    expect((await run(['view', path, '--html', out])).code).toBe(0)
    expect(readFileSync(out, 'utf8')).toContain('s s s s')
    expect(await run(['diff', path, `${path}.zst`])).toMatchObject({ code: 0 })
    const bundle = join(directoryOf(), 'bundle.tar.zst')
    expect((await run(['bundle', 'export', path, bundle])).code).toBe(0)
    expect((await run(['bundle', 'verify', bundle])).code).toBe(0)
  })
})
