// Bundles when something goes wrong: aborts, full disks, missing permissions, processes that end or are killed. Whatever happens, the
// destination holds a whole bundle or none, and existing files are untouched.

import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  closeSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { fc, test } from '../support/property'
import { beforeAll, describe, expect } from 'vitest'
import type { BundleError, BundleInfo, Progress } from '../../index.js'
import {
  FORMS,
  exists,
  exportBundle,
  filesIn,
  freshDirectory,
  importBundle,
  rejection,
  tape,
  verifyBundle,
} from '../support/bundles.js'
import { childReport, isLinux, mountNamespace, runChild, unprivileged } from '../support/processes.js'
import { runs } from '../support/session-arbitraries.js'
import { content, sessionOf } from '../support/session-file.js'

/** A session of some megabytes, so that its export takes a while. */
let large: string
let largeArchive: string
let largeRun: string
beforeAll(async () => {
  const directory = freshDirectory()
  large = join(directory, 'session.jsonl')
  const texts = Array.from({ length: 4000 }, (_, n) =>
    Array.from({ length: 200 }, (_, m) => (n * 7919 + m * m * 104729) % 99991).join(' '),
  )
  writeFileSync(large, sessionOf(texts.map((text) => content(text))))
  largeArchive = join(directory, 'large.cath-bundle.tar.zst')
  await exportBundle(large, largeArchive)
  largeRun = join(directory, 'run')
  const run = new tape.RunRecorder({
    directory: largeRun,
    runId: 'r',
    workflow: { name: 'w', version: '1', nodes: [] },
    scheduler: 'external',
  })
  run.append({ kind: 'RunStarted', payload: { workers: [] } })
  for (let n = 0; n < 200; n++)
    run.append({ kind: 'BlobStored', payload: { blob: run.putBlob(`${texts[n]} ${n}`), size: 1 } })
  await run.dispose()
  await exportBundle(largeRun, join(directory, 'run.cath-bundle.tar.zst'))
})

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

describe('an abort', () => {
  const reason = new Error('mine')

  test.each(FORMS)('before the work begins leaves nothing (%s)', async (form) => {
    const directory = freshDirectory()
    const signal = AbortSignal.abort(reason)
    expect(await rejection(exportBundle(large, join(directory, form), { signal }))).toBe(reason)
    expect(await rejection(importBundle(largeArchive, join(directory, form), { signal }))).toBe(reason)
    expect(await rejection(verifyBundle(largeArchive, { signal }))).toBe(reason)
    expect(
      await rejection(exportBundle('/nowhere', join(directory, form), { signal: AbortSignal.abort() })),
    ).toMatchObject({ name: 'AbortError' })
    expect(readdirSync(directory)).toEqual([])
  })

  test.prop([fc.constantFrom(...FORMS), fc.integer({ min: 0, max: 300 }), fc.boolean()], runs(25))(
    'at any time leaves a whole bundle, or nothing once the promise has rejected',
    async (form, ms, imports) => {
      const directory = freshDirectory()
      const [controller, path] = [new AbortController(), join(directory, form)]
      const { signal } = controller
      const work = imports ? importBundle(largeArchive, path, { signal }) : exportBundle(large, path, { signal })
      const settled = work.then(
        (info) => ({ info }),
        (error: unknown) => ({ error, left: readdirSync(directory) }),
      )
      if (ms > 0) await pause(ms)
      controller.abort(reason)
      const outcome = await settled
      if ('info' in outcome) {
        expect(await verifyBundle(path)).toMatchObject({ ok: true, info: { bundleId: outcome.info.bundleId } })
        expect(readdirSync(directory)).toEqual([form])
      } else {
        expect(outcome).toEqual({ error: reason, left: [] })
      }
      rmSync(directory, { recursive: true })
    },
  )

  test('of one export does not stop another, and leaves no listener on its signal', async () => {
    const directory = freshDirectory()
    const controller = new AbortController()
    const listeners: string[] = []
    const { addEventListener, removeEventListener } = controller.signal
    const signal = Object.assign(controller.signal, {
      addEventListener: (...args: Parameters<AbortSignal['addEventListener']>) => (
        listeners.push('+'), addEventListener.apply(controller.signal, args)
      ),
      removeEventListener: (...args: Parameters<AbortSignal['removeEventListener']>) => (
        listeners.push('-'), removeEventListener.apply(controller.signal, args)
      ),
    })
    const [stopped, goesOn] = [
      exportBundle(large, join(directory, 'a'), { signal }),
      exportBundle(large, join(directory, 'b')),
    ]
    controller.abort(reason)
    expect(await rejection(stopped)).toBe(reason)
    expect(await goesOn).toMatchObject({ kind: 'session' })
    expect(readdirSync(directory)).toEqual(['b'])
    expect(listeners).toEqual(['+', '-'])
  })
})

test('progress is reported at most ten times a second, except for the last report', async () => {
  const times: number[] = []
  const told: Progress[] = []
  // Reports that accumulate while the thread is busy must not arrive all at once.
  const busy = setInterval(() => {
    for (const until = performance.now() + 350; performance.now() < until; );
  }, 400)
  // A third of the lines, because this level is slow; not fewer, because a fast machine must take long enough for two reports.
  const session = join(freshDirectory(), 'session.jsonl')
  writeFileSync(
    session,
    readFileSync(large, 'utf8')
      .split(/(?<=\n)/)
      .filter((_, line) => line % 3 === 0)
      .join(''),
  )
  await exportBundle(session, join(freshDirectory(), 'b.tar.zst'), {
    level: 15,
    onProgress: (progress) => {
      times.push(performance.now())
      told.push(progress)
    },
  })
  clearInterval(busy)
  const gaps = times.slice(1, -1).map((time, at) => time - times[at]!)
  for (const gap of gaps) expect(gap).toBeGreaterThan(99)
  expect(times.length).toBeGreaterThan(1)
  const bytes = told.map((progress) => progress.bytes)
  expect(bytes).toEqual(bytes.toSorted((one, other) => one - other))
  expect(new Set(told.map(({ total }) => total))).toEqual(new Set([statSync(session).size]))
  expect(bytes.at(-1)).toBe(statSync(session).size)
})

test('of concurrent exports and imports to one destination one succeeds, and the others fail with DestinationExists', async () => {
  for (const form of FORMS) {
    const path = join(freshDirectory(), form)
    const settled = await Promise.allSettled([
      exportBundle(large, path),
      exportBundle(large, path),
      importBundle(largeArchive, path),
    ])
    expect(settled.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    const errors = settled.flatMap((one) => (one.status === 'rejected' ? [one.reason.code] : []))
    expect(errors).toEqual(['DestinationExists', 'DestinationExists'])
    expect(await verifyBundle(path)).toMatchObject({ ok: true })
  }
})

test('a source that changes while it is exported is not sealed', async () => {
  const directory = freshDirectory()
  const file = join(directory, 'session.jsonl')
  writeFileSync(file, sessionOf(Array.from({ length: 500 }, () => content('x'.repeat(5000)))))
  const handle = openSync(file, 'r+')
  const codes = new Set<string>()
  for (let tries = 0; tries < 200 && !codes.has('SourceChanged'); tries++) {
    const destination = join(directory, `b${tries}`)
    let done = false
    const work = exportBundle(file, destination)
      .then(
        () => 'sealed',
        (error: BundleError) => error.code,
      )
      .finally(() => (done = true))
    for (let byte = 0; !done; byte++) {
      // Inside a text, so that the file remains a session.
      writeSync(handle, byte % 2 ? 'y' : 'z', 2_000_000)
      await new Promise((resolve) => setImmediate(resolve))
    }
    const code = await work
    codes.add(code)
    expect(exists(destination)).toBe(code === 'sealed')
  }
  closeSync(handle)
  expect(codes).toContain('SourceChanged')
  expect(readdirSync(directory).filter((name) => name.startsWith('.new-'))).toEqual([])
})

interface Settled {
  value?: BundleInfo
  error?: BundleError
}

describe.skipIf(mountNamespace === null)('a disk that is full (needs a mount name space)', () => {
  const inNamespace = <T>(args: string[]): Promise<T> =>
    childReport<T>('child-bundle.mjs', args, { wrapper: mountNamespace! })

  test('an export fails with ENOSPC, and frees the space again', async () => {
    for (const source of [large, largeRun]) {
      const reports = await inNamespace<(Settled & { left: string[]; isFree: boolean })[]>([
        'full',
        source,
        join(freshDirectory(), 'mount'),
        '64k',
      ])
      for (const { error, left, isFree } of reports) {
        expect(error).toMatchObject({
          name: 'BundleError',
          code: 'ENOSPC',
          syscall: expect.any(String),
          message: expect.stringContaining('ENOSPC'),
        })
        expect({ left, isFree }).toEqual({ left: [], isFree: true })
      }
    }
  })

  test("an import, and a replay of what can't be unpacked, as well", async () => {
    const bundle = join(freshDirectory(), 'b.tar.zst')
    await exportBundle(largeRun, bundle)
    const report = await inNamespace<{ imported: Settled; replay: unknown; left: string[]; isFree: boolean }>([
      'fullImport',
      bundle,
      join(freshDirectory(), 'mount'),
      '64k',
    ])
    expect(report.imported.error).toMatchObject({ name: 'BundleError', code: 'ENOSPC' })
    expect(report.imported.error).not.toHaveProperty('problems')
    expect(report.replay).toMatchObject({ ok: false, error: { code: 'ENOSPC' }, state: null })
    expect(report).toMatchObject({ left: [], isFree: true })
  })
})

describe.skipIf(unprivileged === null)('permissions (as a user to whom they apply)', () => {
  test('missing for a file or directory reject with the error of the system, and nothing is created', async () => {
    const directory = freshDirectory()
    const [unreadable, closed, good, readonly] = ['unreadable', 'closed', 'good', 'readonly'].map((name) =>
      join(directory, name),
    ) as [string, string, string, string]
    for (const path of [unreadable, closed, good]) await exportBundle(largeRun, path)
    mkdirSync(readonly)
    if (unprivileged!.uid !== undefined)
      spawnSync('chown', ['-R', `${unprivileged!.uid}:${unprivileged!.uid}`, directory])
    chmodSync(join(unreadable, 'dag.json'), 0o000)
    chmodSync(closed, 0o000)
    chmodSync(readonly, 0o555)
    const report = await childReport<Record<string, Settled>>(
      'child-bundle.mjs',
      ['unprivileged', unreadable, closed, readonly, good],
      unprivileged!,
    )
    chmodSync(closed, 0o755)
    chmodSync(readonly, 0o755)
    for (const name of ['unreadable', 'unreadableImport', 'closed', 'exported', 'imported', 'archived']) {
      expect({ name, error: report[name]!.error }).toMatchObject({
        name,
        error: { name: 'BundleError', code: 'EACCES', syscall: expect.any(String), path: expect.any(String) },
      })
    }
    expect(report['unreadableReplay']).toMatchObject({ ok: false, error: { code: 'EACCES' } })
    expect(report['left']).toEqual([])
    expect(report['good']!.value).toMatchObject({ ok: true })
    expect(readdirSync(directory).sort()).toEqual(['closed', 'good', 'readonly', 'unreadable'])
  })
})

describe.skipIf(!isLinux)('a process that ends (Linux)', () => {
  test.each(FORMS)('by SIGKILL during an export leaves a whole bundle or none (%s)', async (form) => {
    let killed = 0
    for (let ms = 0; ms <= 300; ms += 30) {
      const directory = freshDirectory()
      const path = join(directory, form)
      const ended = await runChild('child-bundle.mjs', ['exportSlowly', large, path], {
        onLine: (line, kill) => line === 'begun' && setTimeout(() => kill('SIGKILL'), ms),
      })
      if (ended.signal !== 'SIGKILL') continue
      killed += 1
      if (exists(path)) {
        expect(await verifyBundle(path)).toMatchObject({ ok: true })
      } else {
        // Leftovers are recognisable by their names, and do not block the next export.
        for (const name of readdirSync(directory)) expect(name).toMatch(/^\.new-.*\.tmp$/)
        expect(await exportBundle(large, path)).toMatchObject({ kind: 'session' })
      }
    }
    expect(killed).toBeGreaterThan(0)
  })

  test.each(FORMS)('by process.exit in the midst of an export leaves nothing (%s)', async (form) => {
    const directory = freshDirectory()
    await childReport('child-bundle.mjs', ['exitDuringExport', large, join(directory, form)])
    const left = readdirSync(directory)
    expect(left.filter((name) => name !== form)).toEqual([])
    if (left.length > 0) expect(await verifyBundle(join(directory, form))).toMatchObject({ ok: true })
  })

  test('by process.exit in the midst of an import, or of unpacking for a reader, leaves nothing', async () => {
    const [directory, temporary] = [freshDirectory(), freshDirectory()]
    await childReport('child-bundle.mjs', ['exitDuringImport', largeArchive, directory])
    expect(readdirSync(directory).filter((name) => name !== 'imported')).toEqual([])
    await childReport('child-bundle.mjs', ['exitDuringReplay', largeArchive, temporary])
    expect(readdirSync(temporary)).toEqual([])
  })
})

test('an imported bundle shares no files with its source', async () => {
  const directory = freshDirectory()
  await exportBundle(largeRun, join(directory, 'a'))
  await importBundle(join(directory, 'a'), join(directory, 'b'))
  writeFileSync(join(directory, 'b', 'workflow.json'), 'mine')
  expect(await verifyBundle(join(directory, 'a'))).toMatchObject({ ok: true })
  expect(filesIn(join(directory, 'a'))['workflow.json']!.toString()).not.toBe('mine')
})
