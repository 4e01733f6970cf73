/** `session-tape verify` of runs and sessions. Bundles: cli-bundle.spec.ts. */
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fc, test as property } from '../support/property'
import { describe, expect, test } from 'vitest'
import { replaySession, verifyRun } from '../../index.js'
import { GOLDEN_RUN, resultOf, SAMPLE, shown } from '../support/command-line'
import { completedRun, freshPath, logOf, runUntil } from '../support/run-directory'
import { compressed, content, rewind, session, writeSession } from '../support/session-file'

describe('a run', () => {
  test('has the result of verifyRun as JSON', async () => {
    for (const directory of [
      GOLDEN_RUN,
      completedRun().write(freshPath()),
      runUntil('NodeStarted').write(freshPath()),
    ]) {
      const run = await verifyRun(directory)
      expect(run.ok).toBe(true)
      expect(await resultOf(['verify', directory])).toEqual({ path: directory, ok: true, kind: 'run', run })
    }
  })

  test('is shown as a table', async () => {
    const stdout = await shown(['verify', GOLDEN_RUN])
    expect(stdout).toMatch(/ {2}✓ Log +268 +0 +0 /)
    expect(stdout).toMatch(/ {2}✓ Outputs +23 +0 +0 /)
    expect(stdout).toMatch(/\n {2}sound\n$/)
    expect(await shown(['verify', runUntil('NodeStarted').write(freshPath())])).toMatch(/ {2}– Outputs +0 +0 +0 /)
  })

  test('has exit code 1 if it is damaged, and shows the first failure of each check', async () => {
    const directory = completedRun().write(freshPath())
    const log = readFileSync(logOf(directory), 'utf8').split('\n')
    log[4] = log[4]!.replace('"w1"', '"w2"')
    writeFileSync(logOf(directory), log.join('\n'))
    const result = await resultOf(['verify', directory], 1)
    expect(result).toEqual({ path: directory, ok: false, kind: 'run', run: await verifyRun(directory) })
    const stdout = await shown(['verify', directory], {}, 1)
    expect(stdout).toMatch(/ {2}✗ Log .*\n {6}ChainBroken: /)
    expect(stdout).toMatch(/\n {2}damaged\n$/)
  })

  test('with a stored blob that is gone or changed is damaged, also for inspect and on its page', async () => {
    const run = runUntil('NodeStarted')
    const blob = run.putBlob('stored')
    run.append('BlobStored', { blob, size: 6 })
    for (const [code, change] of [
      ['BlobCorrupt', (path: string) => writeFileSync(path, 'Stored')],
      ['BlobMissing', rmSync],
    ] as const) {
      const directory = run.write(freshPath())
      expect(await resultOf(['inspect', directory])).toMatchObject({ damaged: false })
      change(join(directory, 'blobs', blob.slice(0, 2), blob))
      expect(await resultOf(['verify', directory], 1)).toMatchObject({
        ok: false,
        run: { blobs: { checked: 1, failed: 1, firstFailure: { code } } },
      })
      expect(await resultOf(['inspect', directory], 1)).toMatchObject({ damaged: true, error: { code } })
      expect(await shown(['verify', directory], {}, 1)).toMatch(new RegExp(` {2}✗ Blobs +1 +1 .*\\n {6}${code}: `))
      const page = join(directory, '..', 'page.html')
      await shown(['view', directory, '--html', page])
      expect(readFileSync(page, 'utf8')).toMatch(
        new RegExp(`"blobs",\\{"checked":1,"failed":1,"unverifiable":0,"failure":\\{"code":"${code}"`),
      )
    }
  })

  test('has exit code 1 if something in it is unverifiable', async () => {
    const directory = completedRun().write(freshPath())
    rmSync(join(directory, 'workflow.json'))
    const result = await resultOf(['verify', directory], 1)
    expect(result.run.dag).toMatchObject({ failed: 0, unverifiable: 1 })
    expect(await shown(['verify', directory], {}, 1)).toMatch(/ {2}\? Graph +\d +0 +1 /)
  })
})

describe('a session', () => {
  test('is sound if its replay has no warnings', async () => {
    const filePath = writeSession(session(content('x'), compressed('y'), rewind(1)))
    expect(await resultOf(['verify', filePath])).toEqual({
      path: filePath,
      ok: true,
      kind: 'session',
      session: { ok: true, eventCount: 4, lastSeq: 4, damage: [], notes: [] },
    })
    expect(await shown(['verify', filePath])).toMatch(/ {2}4 events replayed\n\n {2}sound\n$/)
  })

  test('is sound with events of unknown types, which newer programs write', async () => {
    const { session: found } = await resultOf(['verify', SAMPLE])
    expect(found).toMatchObject({ ok: true, damage: [], notes: ["Line 38: unknown event type 'usage', skipping"] })
  })

  const lines = [content('x'), rewind(1), ['future', {}] as const, '{"torn', ['content', {}] as const, '7', 'null']
  property.prop([fc.array(fc.constantFrom(...lines), { maxLength: 12 })], { numRuns: 25 })(
    'is damaged exactly if its replay warns of anything but unknown types',
    async (events) => {
      const filePath = writeSession(session(content('first'), ...events, content('last')))
      const { warnings } = await replaySession(filePath)
      const damage = warnings.filter((warning) => !warning.includes('unknown event type'))
      const { session: found } = await resultOf(['verify', filePath], damage.length > 0 ? 1 : 0)
      expect(found).toMatchObject({ ok: damage.length === 0, damage })
      expect([...found.damage, ...found.notes].sort()).toEqual([...warnings].sort())
    },
  )
})
