// The same source gives the same bytes and the same id, wherever and whenever it is exported, and common tools can read the result.

import { spawnSync } from 'node:child_process'
import { chmodSync, cpSync, mkdirSync, readFileSync, readdirSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fc, test } from '../support/property'
import { describe, expect } from 'vitest'
import type { BundleInfo } from '../../index.js'
import {
  FORMS,
  exportBundle,
  filesIn,
  freshDirectory,
  hasTool,
  importBundle,
  sources,
  verifyBundle,
  writeFiles,
} from '../support/bundles.js'
import { childReport } from '../support/processes.js'
import { completedRun, freshPath } from '../support/run-directory.js'
import { runs } from '../support/session-arbitraries.js'

const [run, session] = sources().map(({ source }) => source) as [string, string]

interface Report {
  value: BundleInfo
}

/** The bytes of an archive, or the files of a directory by their paths. */
const bytesOf = (path: string): unknown => (statSync(path).isDirectory() ? filesIn(path) : readFileSync(path))

describe.each(FORMS)('%s', (form) => {
  const destinationOf = (): string => join(freshDirectory(), form)

  async function exported(source: string): Promise<{ bundleId: string; bytes: unknown }> {
    const destination = destinationOf()
    const { bundleId } = await exportBundle(source, destination)
    return { bundleId, bytes: bytesOf(destination) }
  }

  test('is the same from another process with another time zone, umask, locale and home directory', async () => {
    for (const source of [run, session]) {
      const here = await exported(source)
      const destination = destinationOf()
      // Bun creates this directory.
      const home = join(freshDirectory(), 'home')
      const wrapper = ['env', 'TZ=Pacific/Kiritimati', 'LC_ALL=tr_TR.UTF-8', `HOME=${home}`, 'USER=nobody']
      const { value } = await childReport<Report>('child-bundle.mjs', ['export', source, destination, '077'], {
        wrapper,
      })
      expect({ bundleId: value.bundleId, bytes: bytesOf(destination) }).toEqual(here)
    }
  })

  test('is the same with relative paths', async () => {
    const here = await exported(session)
    const directory = freshDirectory()
    cpSync(session, join(directory, 'session.jsonl'))
    const before = process.cwd()
    process.chdir(directory)
    try {
      const { bundleId, path } = await exportBundle('session.jsonl', form)
      expect(path).toBe(form)
      expect({ bundleId, bytes: bytesOf(form) }).toEqual(here)
      expect(await verifyBundle(form)).toMatchObject({ ok: true })
    } finally {
      process.chdir(before)
    }
  })

  test.prop(
    [fc.array(fc.nat(), { minLength: 20, maxLength: 20 }), fc.date({ min: new Date(0), noInvalidDate: true })],
    runs(6),
  )('depends neither on the order and times of its files, nor on their permissions', async (order, date) => {
    const files = Object.entries(filesIn(run)).map((entry, at) => ({ entry, key: order[at]! }))
    files.sort((a, b) => a.key - b.key)
    const copy = writeFiles(freshPath(), Object.fromEntries(files.map(({ entry }) => entry)))
    for (const path of Object.keys(filesIn(copy))) {
      utimesSync(join(copy, path), date, date)
      chmodSync(join(copy, path), 0o400 | (order[0]! & 0o377))
    }
    expect(await exported(copy)).toEqual(await exported(run))
  })
})

test('an archive has the same id as the directory, and reveals nothing about its origin', async () => {
  const directory = freshDirectory()
  const ids = []
  for (const form of FORMS) ids.push((await exportBundle(run, join(directory, form))).bundleId)
  expect(ids[0]).toBe(ids[1])
  const text = Object.entries(filesIn(join(directory, FORMS[0])))
    .map(([path, data]) => `${path}\n${data}`)
    .join('\n')
  for (const word of [directory, dirname(run), tmpdir(), hostname(), process.version]) expect(text).not.toContain(word)
})

test('a higher level compresses the same bundle further', async () => {
  const directory = freshDirectory()
  const sizes = []
  for (const level of [1, 3, 19, 22]) {
    const path = join(directory, `${level}.tar.zst`)
    await exportBundle(run, path, { level })
    sizes.push(statSync(path).size)
    expect(await verifyBundle(path)).toMatchObject({
      ok: true,
      info: { bundleId: (await verifyBundle(join(directory, '1.tar.zst'))).info!.bundleId },
    })
  }
  expect(sizes[2]).toBeLessThan(sizes[0]!)
})

describe('common tools', () => {
  const failsAs = (command: string, args: string[], cwd: string): string => {
    const { status, stdout, stderr } = spawnSync(command, args, { cwd, encoding: 'utf8' })
    return status === 0 ? '' : `${command} ${args.join(' ')}: ${stdout}${stderr}`
  }

  test.skipIf(!hasTool('sha256sum'))('sha256sum -c accepts manifest.sha256 (needs sha256sum)', async () => {
    for (const source of [run, session]) {
      const bundle = join(freshDirectory(), 'b')
      await exportBundle(source, bundle)
      expect(failsAs('sha256sum', ['-c', '--strict', 'manifest.sha256'], bundle)).toBe('')
      const lines = readFileSync(join(bundle, 'manifest.sha256'), 'utf8').trimEnd().split('\n')
      const paths = lines.map((line) => line.slice(66))
      expect(paths.sort()).toEqual(
        Object.keys(filesIn(bundle))
          .filter((path) => path !== 'manifest.sha256')
          .sort(),
      )
      writeFileSync(join(bundle, 'metadata.json'), '{}')
      expect(failsAs('sha256sum', ['-c', '--strict', 'manifest.sha256'], bundle)).toContain('metadata.json: FAILED')
    }
  })

  test.skipIf(!hasTool('tar') || !hasTool('zstd'))(
    'tar --zstd -xf extracts an archive, and an archive packed by tar is a bundle (needs tar and zstd)',
    async () => {
      for (const source of [run, session]) {
        const directory = freshDirectory()
        const [bundle, archive] = [join(directory, 'b'), join(directory, 'b.tar.zst')]
        const { bundleId } = await exportBundle(source, bundle)
        await exportBundle(source, archive)
        mkdirSync(join(directory, 'unpacked'))
        expect(failsAs('tar', ['--zstd', '-xf', archive, '-C', join(directory, 'unpacked')], directory)).toBe('')
        expect(filesIn(join(directory, 'unpacked'))).toEqual(filesIn(bundle))
        expect(failsAs('zstd', ['-t', archive], directory)).toBe('')
        expect(failsAs('tar', ['--zstd', '-cf', join(directory, 'again.tar.zst'), '-C', bundle, '.'], directory)).toBe(
          '',
        )
        expect(
          failsAs(
            'tar',
            ['--zstd', '--format=ustar', '-cf', join(directory, 'ustar.tar.zst'), '-C', bundle, ...readdirSync(bundle)],
            directory,
          ),
        ).toBe('')
        for (const name of ['again.tar.zst', 'ustar.tar.zst']) {
          expect(await verifyBundle(join(directory, name))).toMatchObject({ ok: true, info: { bundleId } })
          await importBundle(join(directory, name), join(directory, `from-${name}`))
          expect(filesIn(join(directory, `from-${name}`))).toEqual(filesIn(bundle))
        }
      }
    },
  )
})

test('the files of a bundle have the permissions that the umask allows', async () => {
  const directory = freshDirectory()
  const before = process.umask(0o027)
  try {
    for (const form of FORMS) await exportBundle(completedRun().write(freshPath()), join(directory, form))
  } finally {
    process.umask(before)
  }
  expect(FORMS.map((form) => statSync(join(directory, form)).mode & 0o777)).toEqual([0o750, 0o640])
  expect(statSync(join(directory, FORMS[0], 'manifest.json')).mode & 0o777).toBe(0o640)
})
