/** `session-tape replay` of runs. */
import { generateKeyPairSync } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { replayRun } from '../../index.js'
import type { RunReplayOptions } from '../../index.js'
import { PlainRun } from '../support/plain-run-engine.mjs'
import { beside, complaintOf, errorOf, GOLDEN_RUN, HOSTILE, resultOf, shown, UNSAFE } from '../support/command-line'
import { completedRun, freshPath, logOf, runUntil, snapshotFile } from '../support/run-directory'

const FLAGS: [string[], RunReplayOptions][] = [
  [[], {}],
  [['--until', '9999'], { until: 9999 }],
  [['--from-snapshot'], { fromSnapshot: 'latest' }],
  [['--from-snapshot', 'snap_45', '--until', '100'], { fromSnapshot: 'snap_45', until: 100 }],
  [['--from-snapshot', 'snap_7'], { fromSnapshot: 'snap_7' }],
  [['--verify', 'full'], { verify: 'full' }],
]

describe('JSON', () => {
  test.each(FLAGS)('with %j is the result of replayRun', async (flags, options) => {
    const result = await resultOf(['replay', GOLDEN_RUN, ...flags])
    const expected = (await replayRun(GOLDEN_RUN, options)) as any
    expected.metrics.seconds = expect.any(Number)
    expect(result).toEqual({ kind: 'run', path: GOLDEN_RUN, ...expected })
  })

  test('of a damaged run is its result too, with exit code 1', async () => {
    const directory = completedRun().write(freshPath())
    const log = readFileSync(logOf(directory), 'utf8').split('\n')
    log[4] = log[4]!.replace('"w1"', '"w2"')
    writeFileSync(logOf(directory), log.join('\n'))
    const result = await resultOf(['replay', directory], 1)
    expect(result).toEqual({ kind: 'run', path: directory, ...(await replayRun(directory)) })
    expect(result).toMatchObject({
      ok: false,
      error: { code: 'ChainBroken', eventId: 'evt_4' },
      state: { coordinator: { logicalTime: 3 } },
    })
  })
})

describe('the text', () => {
  test('shows the state of the run', async () => {
    const directory = runUntil('NodeStarted').write(freshPath())
    const stdout = await shown(['replay', directory])
    expect(beside('Run', stdout)).toEqual(['run-7'])
    expect(beside('Status', stdout)).toEqual(['Running'])
    expect(beside('Replayed', stdout)).toEqual(['6 events, up to evt_5'])
    expect(beside('Nodes', stdout)).toEqual([
      'Pending 2 · Running 1',
      'build     Running',
      'announce  Pending',
      'test      Pending',
    ])
    expect(beside('Workers', stdout)).toEqual(['w1  idle  at build#1  0 completed', 'w2  idle  0 completed'])
    expect(stdout).toMatch(/ {2}6 events \([\d.]+ KiB\) read in [\d.]+ m?s, every hash of the log verified\n$/)
    expect(stdout).not.toContain('Warnings')
  })

  test('says from which snapshot and how far it was replayed', async () => {
    const stdout = await shown([
      'replay',
      GOLDEN_RUN,
      '--from-snapshot',
      'snap_45',
      '--until',
      '100',
      '--verify',
      'none',
    ])
    expect(beside('Replayed', stdout)).toEqual(['101 events, up to evt_100, from snap_45 on'])
    expect(stdout).toContain('55 events')
    expect(stdout).toContain('hashes not looked at')
  })

  test('warns of a snapshot that was skipped', async () => {
    const directory = completedRun().write(freshPath())
    writeFileSync(snapshotFile(directory, 'snap_9'), '{}')
    const stdout = await shown(['replay', directory, '--from-snapshot', 'snap_9'])
    expect(stdout).toMatch(/Warnings\n {4}! .*snap_9/)
  })

  test('of a damaged run says what is wrong and shows the last good state', async () => {
    const directory = completedRun().write(freshPath())
    const log = readFileSync(logOf(directory), 'utf8').split('\n')
    log[4] = log[4]!.replace('"w1"', '"w2"')
    writeFileSync(logOf(directory), log.join('\n'))
    const stdout = await shown(['replay', directory], {}, 1)
    expect(stdout).toMatch(
      /✗ ChainBroken .*\n {4}expected +[0-9a-f]{64}\n {4}found +[0-9a-f]{64}\n {4}Below: the state before it/,
    )
    expect(beside('Replayed', stdout)).toEqual(['up to evt_3'])
  })

  test('of a run that failed shows the failed node first, with the reason', async () => {
    const run = runUntil('NodeStarted')
    run.append('NodeFailed', { task: 'build#1', code: 'E_LINK', message: 'undefined symbol', willRetry: false })
    run.append('RunFailed', { code: 'E_LINK', message: 'no' })
    const stdout = await shown(['replay', run.write(freshPath())])
    expect(beside('Status', stdout)).toEqual(['Failed'])
    expect(beside('Nodes', stdout)[1]).toBe('build     Failed  E_LINK: undefined symbol')
  })

  test('escapes hostile content', async () => {
    const name = `n${HOSTILE}`
    const workflow = { name: `f${HOSTILE}`, version: HOSTILE, nodes: [{ id: name, kind: HOSTILE }] }
    const run = new PlainRun({ runId: `r${HOSTILE}`, workflow, scheduler: 'external' })
    const task = `${name}#1`
    const worker = `w${HOSTILE}`
    run.append('RunStarted', { workers: [{ id: worker, capabilities: [] }] })
    run.append('NodeScheduled', { task, dependsOn: [] })
    for (const kind of ['TaskAssigned', 'TaskAccepted'] as const) run.append(kind, { task, worker })
    run.append('NodeStarted', { task, worker, inputHash: HOSTILE })
    run.append('NodeFailed', { task, code: HOSTILE, message: HOSTILE, willRetry: false })
    const directory = run.write(freshPath())
    for (const command of ['replay', 'inspect', 'header', 'verify', 'trace']) {
      const stdout = await shown([command, directory, ...(command === 'trace' ? ['--events'] : [])])
      expect(stdout, command).not.toMatch(UNSAFE)
      if (command !== 'verify') expect(stdout, command).toContain('\\x1b[2J')
    }
  })
})

describe('trusted keys', () => {
  test('a snapshot is used only if one of them signed it', async () => {
    const { privateKey, publicKey } = generateKeyPairSync('ed25519')
    const signWith = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
    const run = runUntil('NodeStarted')
    run.snapshot({ signWith })
    const directory = run.write(freshPath())
    const other = generateKeyPairSync('ed25519').publicKey
    const file = (name: string, ...keys: (typeof publicKey)[]): string => {
      const path = join(directory, name)
      writeFileSync(path, keys.map((key) => key.export({ type: 'spki', format: 'pem' })).join('\n'))
      return path
    }
    const [own, foreign, both] = [
      file('own.pem', publicKey),
      file('other.pem', other),
      file('both.pem', other, publicKey),
    ]
    const from = async (...flags: string[]): Promise<string | null> =>
      (await resultOf(['replay', directory, '--from-snapshot', ...flags])).fromSnapshot
    expect(await from('--key', own)).toBe('snap_5')
    expect(await from('--key', foreign)).toBe(null)
    expect(await from('--key', foreign, '--key', own)).toBe('snap_5')
    expect(await from('--key', both)).toBe('snap_5')

    const secret = join(directory, 'secret.pem')
    writeFileSync(secret, signWith)
    const complaint = await complaintOf(['replay', directory, '--key', secret])
    expect(complaint).toBe(`${secret} holds no Ed25519 public key in PEM form (BEGIN PUBLIC KEY)`)
    expect((await errorOf(['replay', directory, '--key', join(directory, 'none.pem')])).code).toBe('ENOENT')
  })
})
