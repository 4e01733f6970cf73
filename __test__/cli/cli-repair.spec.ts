/** `session-tape repair`, and the hint at it where damage is reported. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { acquireSessionLock, cleanUpLocks, replaySession, SessionRecordingService } from '../../index.js'
import { PROGRAM, complaintOf, errorOf, resultOf, sessionTape, shown } from '../support/command-line'
import { directoryOf } from '../support/file-directory'
import { content, envelope, PROJECT_HASH, start } from '../support/session-file'

const NAME = 'session-2026-02-11T16-00-abcdefgh.jsonl'
const LINES = [start({ sessionId: 'abcdefgh-1' }), content('one'), content('two'), content('three')].map((event, at) =>
  envelope(at + 1, event),
)
const WHOLE = `${LINES.join('\n')}\n`
/** The second record is torn, and the third one fused onto it. */
const DAMAGED = `${LINES[0]}\n${LINES[1]!.slice(0, 60)}${LINES[2]}\n${LINES[3]}\n`
const TORN = `${LINES[0]!.slice(0, 60)}\n${LINES.slice(1).join('\n')}\n`

const damaged = (bytes: string | Uint8Array = DAMAGED) => {
  const directory = directoryOf({ [NAME]: bytes })
  return { directory, source: join(directory, NAME) }
}

describe('repair', () => {
  test('says what it recovered, what is lost, and where the result is', async () => {
    const { directory, source } = damaged()
    const destination = join(directory, 'new.jsonl')
    const page = await shown(['repair', source, destination])
    expect(page).toContain(`Result        ${destination}`)
    expect(page).toContain('Records       3')
    expect(page).toContain('Recovered     1 record')
    expect(page).toContain('Lost          60 bytes')
    expect(page).toContain(
      `Fragments     at ${(LINES[0]!.length + 1).toLocaleString('en-US')}: 60 bytes, an object that breaks off`,
    )
    expect((await replaySession(destination, PROJECT_HASH, { strict: true })).warnings).toEqual([])
    expect(readFileSync(source, 'utf8')).toBe(DAMAGED)
  })

  test('as JSON is the receipt; without a destination it is beside the source', async () => {
    const { directory, source } = damaged(gzipSync(WHOLE))
    const receipt = await resultOf(['repair', source])
    expect(receipt).toMatchObject({
      destination: join(directory, NAME.replace('.jsonl', '.repaired.jsonl')),
      changed: true,
      recovered: 4,
      dryRun: false,
    })
    expect(await resultOf(['repair', receipt.destination, '--dry-run'])).toMatchObject({ changed: false, dryRun: true })
    expect(readdirSync(directory)).toHaveLength(2)
    expect(await errorOf(['repair', source])).toMatchObject({ code: 'DestinationExists' })
  })

  test('needs a project if the first line is lost', async () => {
    const { directory, source } = damaged(TORN)
    expect(await errorOf(['repair', source, join(directory, 'new')])).toMatchObject({ code: 'NoStart', path: source })
    const page = await shown([
      'repair',
      source,
      join(directory, 'new'),
      '--project',
      'p1',
      '--session',
      's1',
      '--receipt',
      join(directory, 'receipt'),
    ])
    expect(page).toContain('a session_start was made up')
    expect(JSON.parse(readFileSync(join(directory, 'new'), 'utf8').split('\n')[0]!).payload).toMatchObject({
      sessionId: 's1',
      projectHash: 'p1',
    })
    expect(readFileSync(join(directory, 'receipt'), 'utf8').split('\n')).toHaveLength(6)
  })

  test('refuses what makes no sense', async () => {
    const { directory, source } = damaged()
    for (const args of [[source, 'x', '--in-place'], [source, '--in-place', '--dry-run'], []]) {
      expect(await errorOf(['repair', ...args])).toMatchObject({ code: 'Usage' })
    }
    expect(await complaintOf(['repair', join(directory, 'none')])).toContain('there is nothing at')
    expect(await errorOf(['repair', directory])).toMatchObject({ code: 'NotRecognised' })
  })
})

describe('repair --in-place', () => {
  test('keeps the damaged file beside the repaired one', async () => {
    const { directory, source } = damaged()
    const { mode } = statSync(source)
    const { kept, destination, recovered } = await resultOf(['repair', source, '--in-place'])
    expect([destination, recovered]).toEqual([source, 1])
    expect(kept).toMatch(/\.jsonl\.damaged-\d{4}-\d\d-\d\dT[\d-]+Z$/)
    expect(readFileSync(kept, 'utf8')).toBe(DAMAGED)
    expect(await replaySession(source, PROJECT_HASH, { strict: true })).toMatchObject({ ok: true, warnings: [] })
    expect(statSync(source).mode).toBe(mode)
    expect(readdirSync(directory)).toHaveLength(2)
    expect(await resultOf(['repair', source, '--in-place'])).toMatchObject({ changed: false, kept: null })
    expect(readdirSync(directory)).toHaveLength(2)
  })

  test('is refused while the session is in use', async () => {
    const { directory, source } = damaged()
    const lock = await acquireSessionLock(directory, 'abcdefgh-1')
    expect(await errorOf(['repair', source, '--in-place'])).toMatchObject({ code: 'Locked' })
    await lock.release()
    const torn = damaged(TORN)
    const other = await acquireSessionLock(torn.directory, 'abcdefgh')
    expect(await errorOf(['repair', torn.source, '--in-place', '--project', 'p'])).toMatchObject({ code: 'Locked' })
    await other.release()
    expect(readFileSync(torn.source, 'utf8')).toBe(TORN)
    const { workspaceDirs, provider, model } = { workspaceDirs: [], provider: 'a', model: 'm' }
    const recorder = new SessionRecordingService({
      sessionId: 'x',
      projectHash: PROJECT_HASH,
      chatsDir: directory,
      workspaceDirs,
      provider,
      model,
      exclusive: true,
    })
    recorder.recordContent({ speaker: 'human', blocks: [] })
    await recorder.flush()
    expect(await errorOf(['repair', recorder.getFilePath()!, '--in-place'])).toMatchObject({ code: 'Locked' })
    await recorder.dispose()
  })

  test.skipIf(process.platform === 'win32')(
    'that was killed leaves the damaged file, and nothing that is not cleaned up',
    async () => {
      const { directory, source } = damaged(DAMAGED + `${LINES[3]}\n`.repeat(400_000))
      const before = readFileSync(source)
      const child = spawn(process.execPath, [PROGRAM, 'repair', source, '--in-place'], { stdio: 'ignore' })
      const isUnfinished = (name: string) => name.startsWith('.')
      while (!readdirSync(directory).some(isUnfinished)) await setTimeout(2)
      child.kill('SIGKILL')
      await once(child, 'exit')
      expect(readFileSync(source).equals(before)).toBe(true)
      const left = readdirSync(directory).filter((name) => name !== NAME && !name.endsWith('.lock'))
      expect(left.filter(isUnfinished)).toHaveLength(1)
      for (const name of left) utimesSync(join(directory, name), 0, 0)
      await cleanUpLocks(directory)
      expect(readdirSync(directory)).toEqual([NAME])
      // The lock that it has left is that of a dead process.
      expect(await resultOf(['repair', source, '--in-place'])).toMatchObject({ changed: true, recovered: 1 })
    },
  )

  test('is not for compressed files', async () => {
    const directory = directoryOf({ 'a.jsonl.gz': gzipSync(WHOLE) })
    expect(await errorOf(['repair', join(directory, 'a.jsonl.gz'), '--in-place'])).toMatchObject({ code: 'Usage' })
  })
})

describe('where damage is reported, a line says what repair recovers', () => {
  const hint = (source: string, option = '', records = '1 record') =>
    `session-tape repair ${source}${option} recovers ${records}`

  test('by inspect', async () => {
    const { source } = damaged()
    expect(await shown(['inspect', source], {}, 1)).toContain(hint(source))
    expect(await resultOf(['inspect', source], 1)).toMatchObject({ damaged: true, repair: hint(source) })
    const torn = damaged(TORN)
    expect(await resultOf(['inspect', torn.source], 1)).toMatchObject({
      repair: hint(torn.source, ' --project HASH', '3 records'),
    })
  })

  test('by replay', async () => {
    const { source } = damaged()
    expect(await shown(['replay', source])).toContain(hint(source))
    const torn = damaged(TORN)
    expect(await complaintOf(['replay', torn.source], 1)).toContain(hint(torn.source, ' --project HASH', '3 records'))
  })

  test('by sessions', async () => {
    const { directory, source } = damaged(TORN)
    expect((await sessionTape(['sessions', directory])).stdout).toContain(hint(source, ' --project HASH', '3 records'))
  })

  test('but not where there is nothing to recover', async () => {
    for (const bytes of [WHOLE, `${WHOLE}{"torn`, `${LINES[0]}\nnonsense\n${LINES[2]}\n`]) {
      const { directory, source } = damaged(bytes)
      mkdirSync(join(directory, 'x'))
      writeFileSync(join(directory, 'foreign.jsonl'), '{"type":"x"}\n')
      for (const args of [
        ['inspect', source],
        ['replay', source],
        ['sessions', directory],
      ]) {
        expect((await sessionTape(args)).stdout).not.toContain('session-tape repair')
      }
    }
  })
})
