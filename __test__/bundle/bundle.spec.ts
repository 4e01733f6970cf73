// Bundles of runs and sessions, as a directory and as an archive: they verify, can be imported, and replay to the original state.

import {
  appendFileSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { BundleInfo, Progress } from '../../index.js'
import { filesOfRun, filesOfSession, problemsOf } from '../support/plain-bundle.mjs'
import type { Files } from '../support/plain-bundle.mjs'
import * as bundles from '../support/bundles.js'
import {
  FORMS,
  VERSION,
  exportBundle,
  filesIn,
  freshDirectory,
  importBundle,
  meaningOf,
  rejection,
  sources,
  verifyBundle,
} from '../support/bundles.js'
import { completedRun, logOf } from '../support/run-directory.js'

const cases = FORMS.flatMap((form) => (['run', 'session'] as const).map((kind) => ({ kind, form })))
const sourceOf = (kind: string): string => sources().find((one) => one.kind === kind)!.source

describe.each(cases)('a $kind as $form', ({ kind, form }) => {
  test('is sealed, verified, imported and replayed', async () => {
    const [source, directory] = [sourceOf(kind), freshDirectory()]
    const before = kind === 'run' ? filesIn(source) : readFileSync(source)
    const [bundle, imported] = [join(directory, form), join(directory, 'imported')]
    const info = await exportBundle(source, bundle)
    expect(info).toMatchObject({
      kind,
      path: bundle,
      redactions: 0,
      partial: false,
      bundleId: expect.stringMatching(/^[0-9a-f]{64}$/),
    })
    expect(await verifyBundle(bundle)).toEqual({ ok: true, info, problems: [] })
    expect(await importBundle(bundle, imported)).toEqual({ ...info, path: imported })
    expect(await verifyBundle(imported)).toEqual({ ok: true, info: { ...info, path: imported }, problems: [] })
    expect(problemsOf(filesIn(imported))).toEqual([])
    for (const path of [bundle, imported]) expect(await meaningOf(kind, path)).toEqual(await meaningOf(kind, source))
    expect(readdirSync(directory).sort()).toEqual([form, 'imported'])
    expect(kind === 'run' ? filesIn(source) : readFileSync(source)).toEqual(before)
  })

  test('is the bundle that the format describes, with the counts of its contents', async () => {
    const bundle = join(freshDirectory(), form)
    const info = await exportBundle(sourceOf(kind), bundle)
    const expected =
      kind === 'run'
        ? filesOfRun(completedRun(), { version: VERSION })
        : filesOfSession(bundles.SESSION, { version: VERSION })
    const manifest = JSON.parse(expected['manifest.json']!.toString())
    expect(info.bundleId).toBe(manifest.bundleId)
    const listed = Object.values<{ size: number }>(manifest.files)
    const bytes = listed.reduce((sum, { size }) => sum + size, 0)
    expect(info).toMatchObject({ files: listed.length, bytes, events: manifest.log.count })
    if (form === FORMS[0]) expect(filesIn(bundle)).toEqual(expected)
  })

  test('reports progress, and finally the total', async () => {
    const directory = freshDirectory()
    const bundle = join(directory, form)
    const told: Progress[][] = []
    const onProgress = () => {
      const list: Progress[] = []
      told.push(list)
      return (progress: Progress) => list.push(progress)
    }
    await exportBundle(sourceOf(kind), bundle, { onProgress: onProgress() })
    await verifyBundle(bundle, { onProgress: onProgress() })
    await importBundle(bundle, join(directory, 'imported'), { onProgress: onProgress() })
    for (const list of told) {
      const last = list.at(-1)!
      expect(last.bytes).toBe(last.total)
      expect(last.bytes).toBeGreaterThan(0)
      expect(last.files).toBe(kind === 'run' ? 10 : 4)
      for (const [at, { bytes }] of list.entries()) expect(bytes).toBeGreaterThanOrEqual(list[at - 1]?.bytes ?? 0)
    }
  })

  test('does not replace what is at the destination', async () => {
    const source = sourceOf(kind)
    const bundle = join(freshDirectory(), 'good')
    await exportBundle(source, bundle)
    const obstacles: ((path: string) => void)[] = [
      (path) => writeFileSync(path, 'mine'),
      (path) => mkdirSync(path),
      (path) => symlinkSync('/nowhere', path),
    ]
    for (const put of obstacles) {
      const directory = freshDirectory()
      const path = join(directory, form)
      put(path)
      const before = bundles.filesIn(directory)
      expect(await rejection(exportBundle(source, path))).toMatchObject({
        name: 'BundleError',
        code: 'DestinationExists',
      })
      expect(await rejection(importBundle(bundle, path))).toMatchObject({ code: 'DestinationExists' })
      expect(readdirSync(directory)).toEqual([form])
      if (put === obstacles[0]) expect(bundles.filesIn(directory)).toEqual(before)
    }
  })
})

describe('sources', () => {
  test('that are neither runs nor sessions are refused with a code, and nothing is created', async () => {
    const directory = freshDirectory()
    writeFileSync(join(directory, 'text'), 'hello\n')
    mkdirSync(join(directory, 'empty'))
    const destination = join(directory, 'b.cath-bundle')
    for (const [source, code] of [
      ['text', 'NotABundle'],
      ['empty', 'NotABundle'],
      ['none', 'ENOENT'],
      ['text/none', 'ENOTDIR'],
    ] as const) {
      expect(await rejection(exportBundle(join(directory, source), destination))).toMatchObject({ code })
    }
    expect(await rejection(exportBundle(sourceOf('run'), join(directory, 'no', 'such', 'b')))).toMatchObject({
      code: 'ENOENT',
    })
    expect(readdirSync(directory).sort()).toEqual(['empty', 'text'])
  })

  test('a damaged log is not sealed', async () => {
    const source = sourceOf('run')
    const log = readFileSync(logOf(source))
    log[log.length - 5]! ^= 1
    writeFileSync(logOf(source), log)
    const error = await rejection(exportBundle(source, join(freshDirectory(), 'b')))
    expect(error).toMatchObject({ code: 'SourceInvalid', path: 'events.cath-log' })
  })

  test('a changed or missing blob is not sealed', async () => {
    const source = sourceOf('run')
    const path = completedBlob()
    const destination = join(freshDirectory(), 'b')
    appendFileSync(join(source, path), 'x')
    expect(await rejection(exportBundle(source, destination))).toMatchObject({ code: 'BlobNameMismatch', path })
    rmSync(join(source, path))
    expect(await rejection(exportBundle(source, destination))).toMatchObject({ code: 'BlobMissing', path })
  })

  /** The path of the blob with the tool's output. */
  function completedBlob(): string {
    const { rawHash } = JSON.parse(completedRun().events.find(({ kind }) => kind === 'ToolCompleted')!.payload)
    return `blobs/${rawHash.slice(0, 2)}/${rawHash}`
  }

  test('a torn line is not part of a run', async () => {
    const source = sourceOf('run')
    const destination = join(freshDirectory(), 'b')
    appendFileSync(logOf(source), '{"v":1,"time":')
    const { bundleId } = await exportBundle(source, destination)
    expect(bundleId).toBe(manifestOf(filesOfRun(completedRun(), { version: VERSION })).bundleId)
  })

  test("other files in a run's directory are not part of it", async () => {
    const source = sourceOf('run')
    writeFileSync(join(source, 'notes.txt'), 'mine')
    writeFileSync(join(source, 'blobs', 'readme'), 'mine')
    const destination = join(freshDirectory(), 'b')
    await exportBundle(source, destination)
    expect(filesIn(destination)).toEqual(filesOfRun(completedRun(), { version: VERSION }))
  })

  test('an imported bundle is exported again to the same bundle', async () => {
    const directory = freshDirectory()
    const first = await exportBundle(sourceOf('run'), join(directory, 'a'))
    await importBundle(join(directory, 'a'), join(directory, 'b'))
    const again = await exportBundle(join(directory, 'b'), join(directory, 'c'))
    expect(again.bundleId).toBe(first.bundleId)
    expect(filesIn(join(directory, 'c'))).toEqual(filesIn(join(directory, 'a')))
    expect(await exportBundle(join(directory, 'c'), join(directory, 'd.tar.zst'))).toMatchObject({
      bundleId: first.bundleId,
    })
  })
})

const manifestOf = (files: Files): BundleInfo => JSON.parse(files['manifest.json']!.toString())

describe('a moved bundle', () => {
  test('is the same bundle, even through a link', async () => {
    const directory = freshDirectory()
    const { bundleId } = await exportBundle(sourceOf('run'), join(directory, 'a'))
    renameSync(join(directory, 'a'), join(directory, 'b'))
    symlinkSync('b', join(directory, 'link'))
    for (const name of ['b', 'link']) {
      expect(await verifyBundle(join(directory, name))).toMatchObject({ ok: true, info: { bundleId } })
    }
  })
})
