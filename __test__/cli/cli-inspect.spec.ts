/** `session-tape inspect`: describes whatever is at a path. */
import { cpSync, mkdirSync, readFileSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fc, test as property } from '../support/property'
import { codePoint } from '../support/code-points'
import { describe, expect, test } from 'vitest'
import { openSession, readSessionHeader, replayRun } from '../../index.js'
import { beside, complaintOf, GOLDEN_RUN, resultOf, SAMPLE, sessionTape, shown, UNSAFE } from '../support/command-line'
import { completedRun, freshPath, logOf, runUntil } from '../support/run-directory'
import { content, rewind, session, sessionDirectory, START_PAYLOAD, writeSession } from '../support/session-file'

describe('a session', () => {
  test('is described by its header, times, counts and size', async () => {
    const result = await resultOf(['inspect', SAMPLE])
    const opened = await openSession(SAMPLE)
    if (!opened.ok) throw new Error(opened.error)
    const { metadata, lastSeq, eventCount, historyLength } = opened.session
    opened.session.close()
    expect(result).toEqual({
      path: SAMPLE,
      kind: 'session',
      form: 'file',
      damaged: false,
      size: statSync(SAMPLE).size,
      header: await readSessionHeader(SAMPLE),
      metadata,
      lastSeq,
      historyLength,
      sequenceCorrupt: false,
      checkpoints: [],
      events: {
        count: eventCount,
        byKind: {
          session_start: 1,
          session_event: 4,
          content: 39,
          provider_switch: 1,
          compressed: 1,
          directories_changed: 1,
          usage: 1,
          rewind: 1,
        },
        firstTime: '2026-02-11T08:41:03.412Z',
        lastTime: '2026-02-11T08:47:02.312Z',
      },
      damage: [],
      notes: ["Line 38: unknown event type 'usage', skipping"],
    })
  })

  test('is shown as text', async () => {
    const stdout = await shown(['inspect', SAMPLE])
    expect(beside('Form', stdout)).toEqual(['a file'])
    expect(beside('Model', stdout)).toEqual(['anthropic / claude-sonnet-4-5'])
    expect(beside('Events', stdout)[0]).toBe('49')
    expect(beside('Last', stdout)).toEqual(['2026-02-11 08:47:02 UTC (5 min 59 s)'])
    expect(beside('History', stdout)).toEqual(['15 items'])
    expect(stdout).toContain('Damage        none found')
  })

  test('has exit code 1 if it is damaged, and lists the damage', async () => {
    const filePath = writeSession(session(content('x'), '{"damaged', ['content', {}], ['future', {}], rewind(1)))
    const result = await resultOf(['inspect', filePath], 1)
    expect(result.damage).toEqual([
      'Line 3: failed to parse JSON',
      'Line 4: malformed content event, skipping',
      'Replay: 1 malformed events skipped',
      expect.stringContaining('of known events are malformed'),
      expect.stringContaining('of lines are unparseable'),
    ])
    expect(result.notes).toEqual(["Line 5: unknown event type 'future', skipping"])
    const stdout = await shown(['inspect', filePath], {}, 1)
    expect(stdout).toContain('Damaged\n    ✗ Line 3: failed to parse JSON\n')
  })

  test('is damaged without a session_start', async () => {
    const filePath = writeSession('{"v":1}\n')
    const result = await resultOf(['inspect', filePath], 1)
    expect(result).toMatchObject({
      kind: 'session',
      damaged: true,
      header: null,
      error: 'Missing or corrupt session_start event',
    })
    expect(await shown(['inspect', filePath], {}, 1)).toContain('✗ Missing or corrupt session_start event')
  })
})

describe('a run', () => {
  test('is described by its workflow, state, counts, snapshots and blobs', async () => {
    const result = await resultOf(['inspect', GOLDEN_RUN])
    const replayed = await replayRun(GOLDEN_RUN)
    const events = readFileSync(logOf(GOLDEN_RUN), 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
    const byKind: Record<string, number> = {}
    for (const { kind } of events) byKind[kind] = (byKind[kind] ?? 0) + 1
    expect(result).toMatchObject({
      path: GOLDEN_RUN,
      kind: 'run',
      form: 'directory',
      damaged: false,
      size: statSync(logOf(GOLDEN_RUN)).size,
      header: events[0].payload,
      runId: 'golden-1',
      status: 'Completed',
      logicalTime: replayed.state!.coordinator.logicalTime,
      events: { count: events.length, byKind, firstTime: events[0].ts, lastTime: events.at(-1).ts },
      nodes: { Completed: 23, Skipped: 2 },
      workers: Object.keys(replayed.state!.workers).length,
      warnings: [],
    })
    expect(result.snapshots.map(({ snapshot, signed }: any) => [snapshot, signed])).toEqual([
      ['snap_45', true],
      ['snap_164', false],
      ['snap_266', false],
    ])
    expect(result.blobs).toEqual({ count: 24, bytes: 744 })
  })

  test('is shown as text', async () => {
    const stdout = await shown(['inspect', completedRun().write(freshPath())])
    expect(beside('Form', stdout)).toEqual(['a directory, not sealed'])
    expect(beside('Workflow', stdout)).toEqual(['release 1.2.0'])
    expect(beside('Scheduler', stdout)).toEqual(['round-robin'])
    expect(beside('Status', stdout)).toEqual(['Completed'])
    expect(beside('Nodes', stdout)).toEqual(['Completed 2 · Skipped 1'])
    expect(beside('Snapshots', stdout)).toHaveLength(2)
    expect(stdout).toContain('Damage        none found')
  })

  test('has exit code 1 if it is damaged, and counts the events before the damage', async () => {
    const directory = completedRun().write(freshPath())
    const log = readFileSync(logOf(directory), 'utf8').split('\n')
    log[7] = 'not an event'
    writeFileSync(logOf(directory), log.join('\n'))
    const result = await resultOf(['inspect', directory], 1)
    expect(result).toMatchObject({ damaged: true, error: { code: 'NotAJsonLine' }, events: { count: 7 } })
    expect(await shown(['inspect', directory], {}, 1)).toMatch(/Damaged\n {2}✗ NotAJsonLine /)
  })

  test('is not damaged with a torn last line, as a crash leaves it', async () => {
    const run = runUntil('NodeStarted')
    const directory = run.write(freshPath())
    writeFileSync(logOf(directory), `${run.log}{"v":1,"ti`)
    const result = await resultOf(['inspect', directory])
    expect(result.events.count).toBe(run.events.length)
    expect(result.warnings).toHaveLength(1)
  })

  const lost: [what: string, lose: (blob: string) => void][] = [
    ['a link that leads nowhere', (blob) => (rmSync(blob), symlinkSync('nowhere', blob))],
    ['a directory', (blob) => (rmSync(blob), mkdirSync(blob))],
    [
      'in a directory of blobs that is a file',
      (blob) => (rmSync(dirname(dirname(blob)), { recursive: true }), writeFileSync(dirname(dirname(blob)), '')),
    ],
  ]

  test.skipIf(process.platform === 'win32').each(lost)(
    'is described, with its damage, if a blob is %s',
    async (_, lose) => {
      const directory = freshPath()
      cpSync(GOLDEN_RUN, directory, { recursive: true })
      const [folder] = readdirSync(join(directory, 'blobs'))
      const [hash] = readdirSync(join(directory, 'blobs', folder!))
      lose(join(directory, 'blobs', folder!, hash!))
      const result = await resultOf(['inspect', directory], 1)
      expect(result).toMatchObject({ kind: 'run', damaged: true, error: { code: 'BlobMissing' } })
      expect(result.blobs.count).toBeLessThan(24)
      const verified = await resultOf(['verify', directory], 1)
      expect(verified.run.blobs.firstFailure ?? verified.run.outputHashes.firstFailure).toMatchObject({
        code: 'BlobMissing',
      })
    },
  )

  test('is described if something else has the name of a snapshot', async () => {
    const directory = completedRun().write(freshPath())
    mkdirSync(join(directory, 'snapshots', 'snap_1.cath-snap'))
    expect((await resultOf(['inspect', directory])).snapshots.map(({ snapshot }: any) => snapshot)).not.toContain(
      'snap_1',
    )
  })
})

describe('anything', () => {
  test('else is not recognised', async () => {
    expect(await complaintOf(['inspect', process.execPath])).toContain('is neither a session, nor a run, nor a bundle')
    expect(await complaintOf(['inspect', dirname(process.execPath)])).toContain('holds neither a run nor a bundle')
  })

  const validSession = session(content('x'), rewind(1))
  const validLog = completedRun().log
  const damaged = (text: string): fc.Arbitrary<Uint8Array> =>
    fc.tuple(fc.nat(text.length), fc.nat(8), fc.uint8Array({ maxLength: 8 })).map(([at, cut, bytes]) => {
      const whole = Buffer.from(text)
      return Buffer.concat([whole.subarray(0, at), bytes, whole.subarray(at + cut)])
    })
  const anyBytes = fc.oneof(
    fc.uint8Array({ maxLength: 300 }),
    fc.string({ unit: codePoint }).map((text) => Buffer.from(text)),
    damaged(validSession),
    fc
      .jsonValue()
      .map((payload) => Buffer.from(`${JSON.stringify({ v: 1, seq: 1, type: 'session_start', payload })}\n`)),
    fc
      .dictionary(
        fc.constantFrom(...Object.keys(START_PAYLOAD)),
        fc.oneof(fc.jsonValue(), fc.constant({ toString: {} })),
      )
      .map((changes) =>
        Buffer.from(`${JSON.stringify({ type: 'session_start', payload: { ...START_PAYLOAD, ...changes } })}\n`),
      ),
    fc.uint8Array({ maxLength: 100 }).map((bytes) => Buffer.concat([Buffer.from([0x28, 0xb5, 0x2f, 0xfd]), bytes])),
  )
  const COMMANDS = [['inspect'], ['replay'], ['verify'], ['header'], ['trace', '--events']]

  /** Expects a command to end with a result or an error, as JSON and as text, without control characters from the file. */
  async function endsWell(path: string, command: string[]): Promise<void> {
    const [asJson, asText] = await Promise.all([
      sessionTape([...command, path, '--json']),
      sessionTape([...command, path]),
    ])
    expect([0, 1, 2], asJson.stderr).toContain(asJson.code)
    expect(asText.code).toBe(asJson.code)
    for (const line of `${asJson.stdout}${asJson.stderr}`.split('\n').slice(0, -1))
      expect(JSON.parse(line)).toBeTypeOf('object')
    expect(`${asJson.stdout}${asJson.stderr}${asText.stdout}${asText.stderr}`).not.toMatch(UNSAFE)
    // The warning about a line without a `type` calls it 'undefined' on purpose.
    const said = asText.stderr.replaceAll("unknown event type 'undefined'", '')
    expect(said).not.toMatch(/\n\s+at |\bis not a function\b|\bundefined\b/)
    expect(asJson.stderr).not.toContain('"Unexpected"')
  }

  property.prop([anyBytes, fc.constantFrom('.jsonl', '', '.tar.zst'), fc.constantFrom(...COMMANDS)], { numRuns: 60 })(
    'in a file ends with a result or an error, never with a stack trace',
    async (bytes, extension, command) => {
      const path = join(sessionDirectory(), `anything${extension}`)
      writeFileSync(path, bytes)
      await endsWell(path, command)
    },
  )

  property.prop([damaged(validLog), fc.constantFrom(...COMMANDS)], { numRuns: 30 })(
    'in the log of a run does so too',
    async (bytes, command) => {
      const directory = completedRun().write(freshPath())
      writeFileSync(logOf(directory), bytes)
      await endsWell(directory, command)
      rmSync(directory, { recursive: true })
    },
  )
})
