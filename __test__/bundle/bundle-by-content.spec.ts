// Every function that reads a file recognises it by its content, not by its name.

import { copyFileSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import {
  FORMS,
  SESSION,
  exportBundle,
  freshDirectory,
  importBundle,
  openSession,
  replayRun,
  replaySession,
  sources,
  tape,
  verifyBundle,
  verifyRun,
} from '../support/bundles.js'
import { resultOf } from '../support/command-line.js'
import { childReport } from '../support/processes.js'
import { eventsIn } from '../support/run-directory.js'

const { readSessionHeader, readSessionHeaders, listSessions, traceAncestors, diff } = tape
const [run, session] = sources().map(({ source }) => source) as [string, string]
let sealedRun: string
let sealedSession: string
beforeAll(async () => {
  ;[sealedRun, sealedSession] = [join(freshDirectory(), FORMS[1]), join(freshDirectory(), FORMS[1])]
  await exportBundle(run, sealedRun)
  await exportBundle(session, sealedSession)
})

function renamed(path: string, name: string): string {
  const to = join(freshDirectory(), name)
  copyFileSync(path, to)
  return to
}

describe.each(['x.tzst', 'x.jsonl', 'x', 'x.cath-bundle'])('an archive named %s', (name) => {
  test('of a run is read as a run', async () => {
    const path = renamed(sealedRun, name)
    expect((await verifyBundle(path)).ok).toBe(true)
    expect(await replayRun(path)).toMatchObject({ ok: true, state: (await replayRun(run)).state })
    expect(await verifyRun(path)).toEqual(await verifyRun(run))
    expect(await eventsIn(path)).toEqual(await eventsIn(run))
    expect(await traceAncestors(path, 'evt_3')).toEqual(await traceAncestors(run, 'evt_3'))
    expect(await diff(path, run)).toBe(null)
    expect(await diff(run, path)).toBe(null)
    await importBundle(path, join(freshDirectory(), 'imported'))
    const { bundleId } = await exportBundle(path, join(freshDirectory(), 'again'))
    expect(bundleId).toBe((await verifyBundle(sealedRun)).info!.bundleId)
    expect(await readSessionHeader(path)).toBe(null)
    expect(await replaySession(path)).toMatchObject({
      ok: false,
      error: expect.stringContaining('it is the bundle of a run'),
    })
  })

  test('of a session is read as a session', async () => {
    const path = renamed(sealedSession, name)
    expect(await replaySession(path)).toEqual(await replaySession(session))
    const opened = await openSession(path)
    if (!opened.ok) throw new Error(opened.error)
    expect(opened.session.historyLength).toBe(2)
    opened.session.close()
    // An archive has no lines, so it has no header.
    const header = await readSessionHeader(session)
    expect(await readSessionHeader(path)).toBe(null)
    expect(await readSessionHeaders([path, session, path])).toEqual([null, header, null])
    expect(await diff(path, session)).toBe(null)
    expect(await traceAncestors(path, 'rec_1')).toEqual(await traceAncestors(session, 'rec_1'))
    const { bundleId } = await exportBundle(path, join(freshDirectory(), 'again'))
    expect(bundleId).toBe((await verifyBundle(sealedSession)).info!.bundleId)
    expect(await replayRun(path)).toMatchObject({ ok: false, error: { code: 'NotABundle' } })
  })

  test('is recognised by the command line', async () => {
    const [ofRun, ofSession] = [renamed(sealedRun, name), renamed(sealedSession, name)]
    for (const command of ['verify', 'inspect', 'replay']) {
      expect(await resultOf([command, ofRun])).toMatchObject({ kind: 'run' })
      expect(await resultOf([command, ofSession])).toMatchObject({ kind: 'session' })
    }
    expect(await resultOf(['header', ofSession])).toMatchObject([
      { kind: 'session', header: { provider: 'anthropic' } },
    ])
    expect(await resultOf(['bundle', 'verify', ofRun])).toMatchObject({ ok: true })
    expect(await resultOf(['diff', ofRun, run])).toBe(null)
  })
})

describe('a path named like an archive', () => {
  test('may be a session', async () => {
    for (const data of [SESSION, `\ufeff${SESSION}`, `  ${SESSION}`]) {
      const path = join(freshDirectory(), 'x.cath-bundle.tar.zst')
      writeFileSync(path, data)
      expect(await replaySession(path)).toEqual(await replaySession(session))
      expect(await readSessionHeader(path)).toEqual(await readSessionHeader(session))
      expect(await diff(path, session)).toBe(null)
      expect((await verifyBundle(path)).problems).toMatchObject([{ code: 'NotABundle' }])
      const bundle = join(freshDirectory(), 'b')
      await exportBundle(path, bundle)
      expect(await replaySession(bundle)).toEqual(await replaySession(session))
      expect(await resultOf(['verify', path])).toMatchObject({ ok: true, kind: 'session' })
    }
  })

  test('may be the directory of a bundle', async () => {
    const directory = join(freshDirectory(), 'x.tar.zst')
    await importBundle(sealedRun, directory)
    expect(await replayRun(directory)).toMatchObject({ ok: true })
    expect((await verifyRun(directory)).ok).toBe(true)
    expect(await eventsIn(directory)).toEqual(await eventsIn(run))
  })

  test('is reported as NotABundle if it is none of these', async () => {
    for (const data of ['', 'no archive', '\x28\xb5']) {
      const path = join(freshDirectory(), 'x.tar.zst')
      writeFileSync(path, data, 'latin1')
      expect(await replayRun(path)).toMatchObject({ ok: false, error: { code: 'NotABundle' } })
      expect(await replaySession(path)).toMatchObject({ ok: false, error: expect.stringContaining('NotABundle') })
    }
  })
})

test('a listing reports archives named like sessions as unreadable', async () => {
  const directory = freshDirectory()
  copyFileSync(sealedSession, join(directory, 'a.jsonl'))
  copyFileSync(session, join(directory, 'b.jsonl'))
  copyFileSync(sealedRun, join(directory, 'c.jsonl'))
  copyFileSync(sealedSession, join(directory, 'd.tar.zst'))
  mkdirSync(join(directory, 'e.jsonl'))
  const { sessions, unreadable } = await listSessions(directory)
  expect(sessions.map(({ filePath }) => filePath).sort()).toEqual([join(directory, 'b.jsonl')])
  expect(unreadable.map(({ filePath }) => filePath)).toEqual(
    ['a.jsonl', 'c.jsonl', 'e.jsonl'].map((name) => join(directory, name)),
  )
})

describe('the end of the process', () => {
  test.each(['session.jsonl', 'x'])(
    'is listened for only by readers of archives, whatever the name (%s)',
    async (name) => {
      const path = name === 'x' ? renamed(sealedSession, name) : session
      expect(await childReport('child-bundle.mjs', ['listeners', path])).toEqual({
        ok: true,
        added: name === 'x' ? 1 : 0,
      })
    },
  )

  test.each(['exitAtOnce', 'exitSoon'])('leaves no partly unpacked files: %s', async (scenario) => {
    const directory = freshDirectory()
    for (let round = 0; round < 5; round++) {
      expect(await childReport('child-bundle.mjs', [scenario, renamed(sealedRun, 'x'), directory])).toEqual({
        unpacked: 0,
      })
      expect(readdirSync(directory)).toEqual([])
    }
  })
})
