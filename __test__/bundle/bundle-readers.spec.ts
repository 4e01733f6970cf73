// Every function that reads a run or a session also reads its bundle, in either form, and leaves no unpacked files behind.

import { readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fc, test } from '../support/property'
import { codePoint } from '../support/code-points'
import { afterEach, beforeAll, beforeEach, describe, expect } from 'vitest'
import { filesOfRun, sealed } from '../support/plain-bundle.mjs'
import * as bundles from '../support/bundles.js'
import {
  FORMS,
  VERSION,
  archiveOf,
  exportBundle,
  filesIn,
  freshDirectory,
  openSession,
  readRunEvents,
  replayRun,
  replaySession,
  sources,
  tape,
  verifyBundle,
  verifyRun,
  writeArchive,
  writeFiles,
} from '../support/bundles.js'
import { childReport, isLinux } from '../support/processes.js'
import { anyRun } from '../support/run-arbitraries.js'
import { completedRun, stateAt, withRun, eventsIn } from '../support/run-directory.js'
import { anyEvents, runs } from '../support/session-arbitraries.js'
import { PROJECT_HASH, content, rewind, sessionDirectory, sessionOf, writeSession } from '../support/session-file.js'
import { expectSame } from '../support/same-replay.js'

const RUN = completedRun()
const [run, session] = sources().map(({ source }) => source) as [string, string]
const made: Record<string, { run: string; session: string }> = {}
beforeAll(async () => {
  for (const form of FORMS) {
    const paths = { run: join(freshDirectory(), form), session: join(freshDirectory(), form) }
    await exportBundle(run, paths.run)
    await exportBundle(session, paths.session)
    made[form] = paths
  }
})

let temporary: ReturnType<typeof bundles.ownTemporaryDirectory>
beforeEach(() => {
  temporary = bundles.ownTemporaryDirectory()
})
afterEach(() => temporary.restore())

/** A run whose log is delivered in several batches. */
function longRun() {
  const long = completedRun()
  const again = long.events.length
  const run2 = new (long.constructor as new (config: object) => typeof long)({ runId: 'long', workflow: long.workflow })
  run2.append('RunStarted', { workers: [] })
  for (let n = 0; n < 3000; n++)
    run2.append('Error', { code: 'E', message: 'x'.repeat(200 + again), recoverable: true })
  return run2
}

describe.each(FORMS)('%s', (form) => {
  test('of a session is opened, its items read on demand until it is closed', async () => {
    const path = made[form]!.session
    const opened = await openSession(path)
    if (!opened.ok) throw new Error(opened.error)
    const { history } = (await replaySession(session)) as { history: unknown[] }
    expect(await opened.session.items(-1)).toEqual(history.slice(-1))
    const read = []
    for await (const one of opened.session) read.push(one)
    expect(read).toEqual(history)
    expect(temporary.entries()).toHaveLength(form === FORMS[1] ? 1 : 0)
    opened.session.close()
    expect(temporary.entries()).toEqual([])
    await expect(opened.session.items()).rejects.toMatchObject({ code: 'ESESSIONCLOSED' })
  })

  test('an iteration that is left early, or never begun, leaves nothing unpacked', async () => {
    const path = join(freshDirectory(), form)
    await withRun(longRun(), (source) => exportBundle(source, path))
    for await (const { logicalTime } of readRunEvents(path)) if (logicalTime === 2) break
    expect(temporary.entries()).toEqual([])
    const iterator = readRunEvents(path)
    expect(temporary.entries()).toEqual([])
    await iterator.next()
    expect(temporary.entries()).toHaveLength(form === FORMS[1] ? 1 : 0)
    await expect(iterator.throw(new Error('mine'))).rejects.toThrow('mine')
    expect(temporary.entries()).toEqual([])
    await readRunEvents(path).return(undefined)
    expect((await eventsIn(path)).length).toBe(3002)
    expect(temporary.entries()).toEqual([])
  })

  test('an abort rejects with its reason, and leaves nothing unpacked', async () => {
    const { run: ofRun, session: ofSession } = made[form]!
    const reason = new Error('mine')
    for (const read of [
      () => replayRun(ofRun, { signal: AbortSignal.abort(reason) }),
      () => replaySession(ofSession, undefined, { signal: AbortSignal.abort(reason) }),
    ]) {
      await expect(read()).rejects.toBe(reason)
      expect(temporary.entries()).toEqual([])
    }
    for (const start of [
      (signal: AbortSignal) => replayRun(ofRun, { signal }),
      (signal: AbortSignal) => verifyRun(ofRun, { signal }),
      (signal: AbortSignal) => replaySession(ofSession, undefined, { signal }),
      (signal: AbortSignal) => openSession(ofSession, undefined, { signal }),
    ]) {
      const controller = new AbortController()
      const reading = start(controller.signal)
      controller.abort(reason)
      await expect(reading).rejects.toBe(reason)
      await until(() => temporary.entries().length === 0)
    }
  })

  test('of the other kind is refused', async () => {
    expect(await replaySession(made[form]!.run)).toMatchObject({
      ok: false,
      error: expect.stringMatching(/^Failed to read bundle: .* of a run/),
    })
    expect(await replayRun(made[form]!.session)).toMatchObject({ ok: false })
    expect(await verifyRun(made[form]!.session)).toMatchObject({ ok: false })
    await expect(eventsIn(made[form]!.session)).rejects.toBeInstanceOf(Error)
    expect(temporary.entries()).toEqual([])
  })
})

/** Waits for an effect of another thread. */
async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 5))
}

describe('a bundle that does not verify', () => {
  const damaged = { ...filesOfRun(RUN, { version: VERSION }), 'workflow.json': Buffer.from('{}') }
  const bad = {
    [FORMS[0]]: () => writeFiles(join(freshDirectory(), 'd'), damaged),
    [FORMS[1]]: () => writeArchive(archiveOf(damaged)),
  }

  test.each(FORMS)('as %s is refused by every reader, with the reason', async (form) => {
    const path = bad[form]!()
    const { problems } = await verifyBundle(path)
    const error = {
      code: 'WrongSize',
      path: 'workflow.json',
      message: expect.stringContaining('workflow.json'),
      problems,
    }
    expect(await replayRun(path)).toEqual({ ok: false, error, state: null, warnings: [] })
    const verification = await verifyRun(path)
    expect(verification).toMatchObject({
      ok: false,
      dagMatch: false,
      chain: { checked: 1, failed: 1, firstFailure: error },
    })
    const failure = await readRunEvents(path)
      .next()
      .catch((thrown: unknown) => thrown)
    expect(failure).toBeInstanceOf(Error)
    expect(failure).toMatchObject(error)
    expect(temporary.entries()).toEqual([])
  })

  test('of a session fails with its code', async () => {
    const files = filesIn(made[FORMS[0]]!.session)
    const path = writeArchive(archiveOf({ ...files, 'metadata.json': Buffer.from('{}') }))
    for (const read of [replaySession, openSession]) {
      const result = await read(path)
      expect(result).toMatchObject({
        ok: false,
        error: expect.stringMatching(/^Failed to read bundle: .*metadata\.json.*\(WrongSize\)$/),
        warnings: [],
      })
    }
    expect(temporary.entries()).toEqual([])
  })

  test('because it is missing fails with ENOENT, because it is not an archive with NotABundle', async () => {
    const missing = join(freshDirectory(), 'none.tar.zst')
    expect(await replayRun(missing)).toMatchObject({
      ok: false,
      error: { code: 'ENOENT', syscall: 'open', path: missing },
    })
    expect(await replaySession(missing)).toEqual({
      ok: false,
      error: `Failed to read file: ENOENT: no such file or directory, open '${missing}'`,
      warnings: [],
    })
    const text = writeArchive(Buffer.from('neither an archive nor a recording'))
    expect(await replaySession(text)).toMatchObject({ ok: false, error: expect.stringMatching(/\(NotABundle\)$/) })
  })

  test("where nothing can be unpacked is the system's error", async () => {
    temporary.restore()
    const before = process.env['TMPDIR']
    process.env['TMPDIR'] = join(freshDirectory(), 'none')
    try {
      expect(await replayRun(made[FORMS[1]]!.run)).toMatchObject({
        ok: false,
        error: { code: 'ENOENT', syscall: 'mkdir' },
      })
      expect(await replayRun(made[FORMS[0]]!.run)).toMatchObject({ ok: true })
    } finally {
      if (before === undefined) delete process.env['TMPDIR']
      else process.env['TMPDIR'] = before
    }
  })
})

describe('a sealed log with an illegal transition', () => {
  test('verifies as a bundle if its hashes match, but its replay fails', async () => {
    // A valid chain with an illegal transition, which the checks of a bundle do not look for.
    const { logWith } = await import('../support/run-directory.js')
    const log = logWith(RUN, 'NodeScheduled', { task: 'build#2', dependsOn: [] })
    const files = sealed({
      ...filesOfRun(RUN, { version: VERSION }),
      'events.cath-log': log,
      'metadata.json': filesOfRun(RUN, { version: VERSION })
        ['metadata.json']!.toString()
        .replace(/"events":\d+/, `"events":${RUN.time + 1}`),
    })
    const path = writeArchive(archiveOf(files))
    expect(await verifyBundle(path)).toMatchObject({ ok: true })
    expect(await replayRun(path)).toMatchObject({
      ok: false,
      error: { code: 'AfterEnd', time: RUN.time },
      state: stateAt(RUN, RUN.time - 1),
    })
    expect(await verifyRun(path)).toMatchObject({ ok: false, chain: { firstFailure: { code: 'AfterEnd' } } })
  })
})

describe('headers', () => {
  test("of a bundle's directory are those of its session, and an archive has none", async () => {
    const [directory, archive] = FORMS.map((form) => made[form]!.session) as [string, string]
    const header = await tape.readSessionHeader(session)
    expect(header).toMatchObject({ projectHash: PROJECT_HASH })
    expect(await tape.readSessionHeader(directory)).toEqual(header)
    expect(await tape.readSessionHeader(archive)).toBeNull()
    expect(await tape.readSessionHeader(made[FORMS[0]]!.run)).toBeNull()
    expect(await tape.readSessionHeaders([directory, session, archive, freshDirectory()])).toEqual([
      header,
      header,
      null,
      null,
    ])
  })
})

describe.skipIf(!isLinux)('unpacked files are removed when the process ends (Linux)', () => {
  const [ofRun, ofSession] = [() => made[FORMS[1]]!.run, () => made[FORMS[1]]!.session]
  test.each(['exitWhileReading', 'endWhileReading'])('%s', async (ending) => {
    const directory = freshDirectory()
    const report = await childReport<{ unpacked: number }>('child-bundle.mjs', [
      ending,
      ofRun(),
      ofSession(),
      directory,
    ])
    expect(report.unpacked).toBe(2)
    expect(readdirSync(directory)).toEqual([])
  })

  test('with the worker that read it', async () => {
    const directory = freshDirectory()
    const report = await childReport('child-bundle.mjs', ['terminatedWorker', ofRun(), ofSession(), directory])
    expect(report).toEqual({ unpacked: 2, left: 0 })
  })

  test('and with a garbage collection, if it was never closed', async () => {
    const directory = freshDirectory()
    const report = await childReport('child-bundle.mjs', ['forgotten', ofSession(), directory], {
      execArgv: ['--expose-gc'],
    })
    expect(report).toEqual({ unpacked: 1, left: 0 })
  })
})

test.prop([anyRun(50), fc.constantFrom(...FORMS), fc.nat()], runs(40))(
  'any run reads from its bundle as from its directory',
  (any, form, at) =>
    withRun(any, async (source) => {
      const path = join(freshDirectory(), form)
      await exportBundle(source, path)
      const time = at % any.time
      const replay = await replayRun(path, { until: time, verify: 'full', fromSnapshot: 'latest' })
      if (!replay.ok) throw new Error(replay.error.message)
      expectSame(replay.state, stateAt(any, time), { keyOrder: false })
      expectSame(await verifyRun(path), await verifyRun(source))
      expectSame(await eventsIn(path, { from: time }), await eventsIn(source, { from: time }))
      expect(temporary.entries()).toEqual([])
      rmSync(path, { recursive: true })
    }),
)

test.prop([anyEvents, fc.constantFrom(...FORMS), fc.string({ unit: codePoint, maxLength: 20 })], runs(40))(
  'any session reads from its bundle as from its file, whatever a crash left at its end',
  async (events, form, torn) => {
    const file = writeSession(sessionOf([content('first'), ...events, rewind(1)]) + torn)
    const path = join(freshDirectory(), form)
    await exportBundle(file, path)
    expectSame(
      await replaySession(path, undefined, { auditTrail: true }),
      await replaySession(file, undefined, { auditTrail: true }),
    )
    const until = { throughSeq: 2 }
    expectSame(await replaySession(path, PROJECT_HASH, until), await replaySession(file, PROJECT_HASH, until))
    expectSame(await replaySession(path, 'another'), await replaySession(file, 'another'))
    rmSync(file)
    rmSync(path, { recursive: true })
    expect(temporary.entries()).toEqual([])
  },
)

test('a large session is delivered completely, although its unpacked file is removed by then', async () => {
  const file = join(sessionDirectory(), 'large.jsonl')
  writeFileSync(file, sessionOf(Array.from({ length: 20_000 }, (_, n) => content(`${n} ${'é'.repeat(300)}`))))
  const path = join(freshDirectory(), 'large.tar.zst')
  await exportBundle(file, path)
  const [ofBundle, ofFile] = [await replaySession(path), await replaySession(file)]
  expect(temporary.entries()).toEqual([])
  expectSame(ofBundle, ofFile)
})
