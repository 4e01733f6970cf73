// The addon and the plain implementation, each on bundles made by the other: of any run and any session, intact or damaged.

import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fc, test } from '../support/property'
import { expect } from 'vitest'
import { filesOfRun, filesOfSession, problemsOf, sealed } from '../support/plain-bundle.mjs'
import type { Files } from '../support/plain-bundle.mjs'
import {
  FORMS,
  VERSION,
  archiveOf,
  exportBundle,
  filesIn,
  freshDirectory,
  importBundle,
  verifyBundle,
  writeArchive,
  writeFiles,
} from '../support/bundles.js'
import { anyRun } from '../support/run-arbitraries.js'
import { withRun } from '../support/run-directory.js'
import { anyEvents, anyString, runs } from '../support/session-arbitraries.js'
import { sessionOf, writeSession } from '../support/session-file.js'

test.prop([anyRun(50)], runs(40))('the addon exports any run as the plain writer does, byte for byte', (run) =>
  withRun(run, async (source) => {
    const bundle = join(freshDirectory(), FORMS[0])
    const info = await exportBundle(source, bundle)
    const files = filesIn(bundle)
    expect(files).toEqual(filesOfRun(run, { version: VERSION }))
    expect(problemsOf(files)).toEqual([])
    expect(JSON.parse(files['manifest.json']!.toString()).bundleId).toBe(info.bundleId)
    rmSync(bundle, { recursive: true })
  }),
)

test.prop([anyEvents], runs(40))('the addon exports any session as the plain writer does', async (events) => {
  const file = writeSession(sessionOf(events))
  const bundle = join(freshDirectory(), FORMS[0])
  await exportBundle(file, bundle)
  const parseable = readFileSync(file, 'utf8')
    .split('\n')
    .every((line) => line === '' || isJson(line))
  if (parseable) expect(filesIn(bundle)).toEqual(filesOfSession(readFileSync(file, 'utf8'), { version: VERSION }))
  expect(problemsOf(filesIn(bundle))).toEqual([])
  expect(filesIn(bundle)['session.jsonl']!.equals(readFileSync(file))).toBe(true)
  rmSync(file)
})

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/** Changes the files of a bundle. Returns `undefined` if the change does not apply to them. */
type Mishap = (files: Files, at: number, text: string) => Files | undefined

const pathAt = (files: Files, at: number): string => Object.keys(files)[at % Object.keys(files).length]!
const without = (files: Files, path: string): Files =>
  Object.fromEntries(Object.entries(files).filter(([name]) => name !== path))
const MADE = ['manifest.json', 'manifest.sha256']

const mishaps: Record<string, Mishap> = {
  nothing: (files) => files,
  lost: (files, at) => without(files, pathAt(files, at)),
  cut: (files, at) => ({ ...files, [pathAt(files, at)]: files[pathAt(files, at)]!.subarray(0, at % 50) }),
  flipped: (files, at) => {
    const path = pathAt(files, at)
    const data = Buffer.from(files[path]!)
    if (data.length === 0) return undefined
    data[at % data.length]! ^= 1 + (at % 255)
    return { ...files, [path]: data }
  },
  appended: (files, at, text) => ({
    ...files,
    [pathAt(files, at)]: Buffer.concat([files[pathAt(files, at)]!, Buffer.from(text)]),
  }),
  added: (files, at, text) => ({ ...files, [`added-${at % 3}`]: Buffer.from(text) }),
  resealed: (files) => sealed(files),
  lostAndResealed: (files, at) =>
    MADE.includes(pathAt(files, at)) ? undefined : sealed(without(files, pathAt(files, at))),
  addedAndResealed: (files, at, text) => sealed({ ...files, [`added-${at % 3}`]: text }),
  flippedAndResealed: (files, at) => {
    const path = pathAt(files, at)
    const data = Buffer.from(files[path]!)
    if (MADE.includes(path) || data.length === 0) return undefined
    data[at % data.length]! ^= 1
    // A log without any newline has no lines to count.
    return path === 'events.cath-log' && data.indexOf(10) < 0 ? undefined : sealedOrNot({ ...files, [path]: data })
  },
  linesSwapped: (files, at) => {
    const lines = files['events.cath-log']!.toString().split('\n').slice(0, -1)
    const place = at % Math.max(1, lines.length - 1)
    ;[lines[place], lines[place + 1]] = [lines[place + 1]!, lines[place]!]
    return lines.length < 2
      ? undefined
      : sealedOrNot({ ...files, 'events.cath-log': Buffer.from(lines.map((line) => `${line}\n`).join('')) })
  },
}

function sealedOrNot(files: Files): Files | undefined {
  try {
    return sealed(files)
  } catch {
    return undefined
  }
}

test.prop(
  [anyRun(25), fc.constantFrom(...Object.keys(mishaps)), fc.nat(), anyString, fc.constantFrom(...FORMS)],
  runs(150),
)('both agree on whether a bundle verifies, whatever happened to it', async (run, mishap, at, text, form) => {
  const files = mishaps[mishap]!(filesOfRun(run, { version: VERSION }), at, text)
  fc.pre(files !== undefined)
  const path = form === FORMS[0] ? writeFiles(join(freshDirectory(), 'd'), files) : writeArchive(archiveOf(files))
  const { ok, problems } = await verifyBundle(path)
  const plain = problemsOf(files)
  expect({ ok, problems }).toMatchObject(plain.length === 0 ? { ok: true, problems: [] } : { ok: false })
  const imported = join(freshDirectory(), 'imported')
  const outcome = await importBundle(path, imported).then(
    () => 'imported',
    (error: { code: string }) => error.code,
  )
  expect(outcome).toBe(ok ? 'imported' : problems[0]!.code)
  if (ok)
    expect(filesIn(imported)).toEqual(Object.fromEntries(Object.entries(files).sort(([a], [b]) => (a < b ? -1 : 1))))
})

test.prop([fc.uint8Array({ maxLength: 2000 }), fc.constantFrom('', 'zstd', 'tar')], runs(200))(
  'any bytes are refused with codes',
  async (bytes, prefix) => {
    const magic = {
      '': Buffer.alloc(0),
      zstd: Buffer.from([0x28, 0xb5, 0x2f, 0xfd]),
      tar: Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x50]),
    }[prefix]!
    const path = writeArchive(Buffer.concat([magic, bytes]))
    const { ok, info, problems } = await verifyBundle(path)
    expect({ ok, info }).toEqual({ ok: false, info: null })
    expect(problems.length).toBeGreaterThan(0)
    rmSync(path)
  },
)

test.prop(
  [
    fc.array(
      fc.tuple(
        fc.constantFrom(
          'manifest.json',
          'metadata.json',
          'redactions.json',
          'manifest.sig',
          'events.cath-log',
          'session.jsonl',
          'snapshot.cath-snap',
        ),
        fc.json(),
      ),
      { maxLength: 5 },
    ),
  ],
  runs(100),
)("arbitrary documents in place of a bundle's files do not verify", async (documents) => {
  const directory = writeFiles(join(freshDirectory(), 'd'), Object.fromEntries(documents))
  writeFileSync(join(directory, 'manifest.sha256'), '')
  expect((await verifyBundle(directory)).ok).toBe(false)
  rmSync(directory, { recursive: true })
})
