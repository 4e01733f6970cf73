// Shared by the specs about bundles: sources, bundles made from them or by hand, and the files that are left on disk.

import { spawnSync } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { existsSync, lstatSync, mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { expect } from 'vitest'
import type * as SessionTape from '../../index.js'
import type { BundleError, BundleProblem } from '../../index.js'
import { filesOfTar, tarOf, zstdOf } from './plain-bundle.mjs'
import type { Files } from './plain-bundle.mjs'
import { completedRun } from './run-directory.js'
import { content, session } from './session-file.js'
import { directoryOfSpec } from './spec-scope.js'

// Required, not imported: the facade must run as Node runs it, untouched by the test runner's transforms.
const require = createRequire(import.meta.url)
export const tape = require('../../index.js') as typeof SessionTape
export const {
  exportBundle,
  verifyBundle,
  importBundle,
  replayRun,
  verifyRun,
  readRunEvents,
  replaySession,
  openSession,
} = tape
export const VERSION: string = require('../../package.json').version

const root = directoryOfSpec('session-tape-bundle-')
let directories = 0

/** A new empty directory that any user may enter; removed at the end of the spec file. */
export function freshDirectory(): string {
  const directory = join(root(), String(++directories))
  mkdirSync(directory, { mode: 0o755 })
  return directory
}

/** File names that select the two forms of a bundle: directory and archive. */
export const FORMS = ['b.cath-bundle', 'b.cath-bundle.tar.zst'] as const

export const SESSION = session(content('héllo'), content('wörld', 'ai'))

/** A run's directory with blobs and snapshots, and a session's file. */
export function sources(): { kind: 'run' | 'session'; source: string }[] {
  const directory = freshDirectory()
  writeFileSync(join(directory, 'session.jsonl'), SESSION)
  return [
    { kind: 'run', source: completedRun().write(join(directory, 'run')) },
    { kind: 'session', source: join(directory, 'session.jsonl') },
  ]
}

/** Writes the files of a bundle below `directory`. */
export function writeFiles(directory: string, files: Record<string, string | Uint8Array>): string {
  mkdirSync(directory, { recursive: true })
  for (const [path, data] of Object.entries(files)) {
    mkdirSync(dirname(join(directory, path)), { recursive: true })
    writeFileSync(join(directory, path), data)
  }
  return directory
}

/** Writes bytes under the name of an archive, in a directory of their own. */
export function writeArchive(bytes: Uint8Array): string {
  const path = join(freshDirectory(), 'made.cath-bundle.tar.zst')
  writeFileSync(path, bytes)
  return path
}

/** An archive of exactly these files. */
export const archiveOf = (files: Files): Buffer => zstdOf(tarOf(Object.entries(files)))

/** All files below a directory, by path, in order. */
export function filesIn(directory: string): Files {
  const files: Files = {}
  const names = readdirSync(directory, { recursive: true, encoding: 'utf8' }).sort()
  for (const name of names) {
    const path = join(directory, name)
    if (lstatSync(path).isFile()) files[name.replaceAll('\\', '/')] = readFileSync(path)
  }
  return files
}

export const hasTool = (name: string): boolean => spawnSync(name, ['--version'], { stdio: 'ignore' }).status === 0

/** The files of a bundle in either form. An archive is decompressed by the `zstd` tool. */
export function filesOfBundle(path: string): Files {
  if (statSync(path).isDirectory()) return filesIn(path)
  const { stdout, status } = spawnSync('zstd', ['-dc', path], { maxBuffer: 1 << 28 })
  if (status !== 0) throw new Error(`zstd refuses ${path}`)
  return filesOfTar(stdout)
}

/** The distinct codes of the problems, sorted. */
export function codesOf(problems: readonly BundleProblem[]): string[] {
  return [...new Set(problems.map(({ code }) => code))].sort()
}

export async function codesIn(path: string, options?: SessionTape.VerifyBundleOptions): Promise<string[]> {
  const { ok, problems } = await verifyBundle(path, options)
  expect(ok).toBe(problems.length === 0)
  return codesOf(problems)
}

/** The error with which a promise rejects. Throws if it resolves. */
export async function rejection(promise: Promise<unknown>): Promise<BundleError> {
  const settled = await promise.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  )
  if ('value' in settled) throw new Error(`resolved to ${JSON.stringify(settled.value)}`)
  return settled.error as BundleError
}

/** The part of a replay's result that does not depend on where it was read from. */
export async function meaningOf(kind: 'run' | 'session', path: string): Promise<unknown> {
  if (kind === 'session') {
    const replay = await replaySession(path)
    if (!replay.ok) throw new Error(replay.error)
    return replay
  }
  const replay = await replayRun(path, { verify: 'full' })
  if (!replay.ok) throw new Error(`${replay.error.code}: ${replay.error.message}`)
  return { state: replay.state, eventCount: replay.eventCount }
}

/** Makes a new directory the system's temporary directory, to observe what is unpacked into it. `restore` undoes this. */
export function ownTemporaryDirectory(): { entries: () => string[]; restore: () => void } {
  const directory = freshDirectory()
  const before = process.env['TMPDIR']
  process.env['TMPDIR'] = directory
  return {
    // Specs may create directories of their own there, too.
    entries: () => readdirSync(directory).filter((name) => !name.startsWith('session-tape-')),
    restore: () => {
      if (before === undefined) delete process.env['TMPDIR']
      else process.env['TMPDIR'] = before
    },
  }
}

export interface Keys {
  privateKey: string
  publicKey: string
}

/** A new key pair, as Node's `crypto` generates it. */
export function newKeys(): Keys {
  return generateKeyPairSync('ed25519', {
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    publicKeyEncoding: { type: 'spki', format: 'pem' },
  })
}

export const exists = (path: string): boolean => existsSync(path)
