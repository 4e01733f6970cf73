// No work is done twice, and no needless work is done, as the system calls show.

import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { readFileSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { FORMS, SESSION, exportBundle, freshDirectory } from '../support/bundles.js'
import { PROGRAM } from '../support/command-line.js'
import { freshPath, startedRun } from '../support/run-directory.js'
import { writeSession } from '../support/session-file.js'

const INDEX = fileURLToPath(new URL('../../index.js', import.meta.url))

// Some containers do not permit tracing.
const canTrace = spawnSync('strace', ['-f', '-o', '/dev/null', 'true'], { stdio: 'ignore' }).status === 0

/** The system calls of these kinds that a program makes, as lines of strace with the paths of the files. */
function callsOf(kinds: string, args: string[]): string[] {
  const out = join(freshDirectory(), 'calls')
  const { status, stderr } = spawnSync(
    'strace',
    ['-f', '-y', '-s', '1', '-e', `trace=${kinds}`, '-o', out, process.execPath, ...args],
    { encoding: 'utf8' },
  )
  if (status !== 0) throw new Error(`ended with ${status}: ${stderr}`)
  return readFileSync(out, 'utf8')
    .split('\n')
    .filter((line) => !line.includes('+++'))
}

const doing = (code: string): string[] => [
  '-e',
  `const tape = require(${JSON.stringify(INDEX)}); (async () => { ${code} })()`,
]
const syncs = (args: string[]): string[] =>
  callsOf('fsync,fdatasync,sync_file_range,syncfs,sync', args).filter((line) => line.includes('sync'))

/** Number of bytes that a program reads of a file. */
function bytesRead(path: string, args: string[]): number {
  const calls = callsOf('read,pread64,preadv2,readv', args)
  // strace prints an interrupted call in two lines. The second, marked `resumed`, does not name the file and is matched by its thread.
  const pending = new Map<string, boolean>()
  let bytes = 0
  for (const line of calls) {
    const [thread = ''] = line.split(' ', 1)
    const isOfPath = line.includes('resumed>') ? pending.get(thread) === true : line.includes(`<${path}>`)
    if (line.includes('<unfinished')) pending.set(thread, isOfPath)
    else if (isOfPath) bytes += Number(/= (\d+)/.exec(line)?.[1] ?? 0)
  }
  return bytes
}

async function bundleOf(kind: 'run' | 'session', form: string): Promise<string> {
  const run = startedRun()
  // Incompressible, so that most of the bytes read are those of the archive's content.
  if (kind === 'run')
    run.append('BlobStored', { blob: run.putBlob(randomBytes(3 << 20).toString('base64')), size: 4 << 20 })
  const source =
    kind === 'run'
      ? run.write(freshPath())
      : writeSession(
          `${SESSION}${JSON.stringify({ v: 1, seq: 9, type: 'future', payload: { x: randomBytes(3 << 20).toString('base64') } })}\n`,
        )
  const path = join(freshDirectory(), form)
  await exportBundle(source, path, { redact: false })
  return path
}

describe.skipIf(!canTrace)('in a trace of system calls (where `strace` is permitted)', () => {
  test.each(['run', 'session'] as const)('reading an archive syncs nothing to the disk: %s', async (kind) => {
    const path = await bundleOf(kind, FORMS[1])
    const read = kind === 'run' ? 'replayRun' : 'replaySession'
    expect(
      syncs(doing(`const { ok } = await tape.${read}(${JSON.stringify(path)}); if (!ok) process.exitCode = 9`)),
    ).toEqual([])
    for (const command of ['replay', 'verify', 'inspect']) expect(syncs([PROGRAM, command, path])).toEqual([])
  })

  test.each(FORMS)('an import from %s syncs each file and each directory', async (form) => {
    const path = await bundleOf('run', form)
    const to = join(freshDirectory(), 'imported')
    const calls = syncs(doing(`await tape.importBundle(${JSON.stringify(path)}, ${JSON.stringify(to)})`))
    for (const name of ['manifest.json', 'events.cath-log', 'blobs/'])
      expect(calls.some((line) => line.includes(name))).toBe(true)
  })

  test.each(['run', 'session'] as const)('the command line reads an archive only once: %s', async (kind) => {
    const path = await bundleOf(kind, FORMS[1])
    const { size } = statSync(path)
    const bytes = bytesRead(path, [PROGRAM, 'verify', path])
    expect(bytes).toBeGreaterThanOrEqual(size)
    expect(bytes).toBeLessThan(size * 1.5)
    expect(bytesRead(path, [PROGRAM, 'inspect', path])).toBeLessThan(size * 1.5)
  })

  test('the command line reads a blob of a directory only once', async () => {
    const path = await bundleOf('run', FORMS[0])
    const blobs = readdirSync(join(path, 'blobs'), { recursive: true, encoding: 'utf8' }).map((name) =>
      join(path, 'blobs', name),
    )
    const blob = blobs.find((name) => statSync(name).isFile() && statSync(name).size > 1 << 20)!
    expect(bytesRead(blob, [PROGRAM, 'verify', path])).toBe(statSync(blob).size)
  })
})
