/**
 * Compares two logs of a million events; the baseline is replaying one and then the other.
 *
 * Imported, it measures; started as a script, it is the process whose memory is measured.
 */
import { execFile } from 'node:child_process'
import { cpSync, readFileSync, renameSync, rmSync, statSync, writeFileSync, existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { diff, replayRun } from '../index.mjs'
import { inTurn, median, ratios, timed } from './measure.mjs'
import { peakOf } from './memory.mjs'
import { recordedRun } from './run-workloads.mjs'

const SELF = fileURLToPath(import.meta.url)
const logOf = (directory) => join(directory, 'events.cath-log')

export async function benchDiff({ rounds, scale, say }) {
  say('diff: recording a million events, three times')
  const run = await recordedRun(1e6 * scale)
  const [again, shifted] = [await recordedRun(1e6 * scale, 'again'), await recordedRun(1e6 * scale, 'shifted')]
  const changed = changedRun(again.directory)
  const other = await recordedRun(100, 'other')
  await check(run, again, shifted, changed, other)
  say('diff: comparing')
  const sides = {
    replays: () => timed(() => replayBoth(run, again)),
    again: () => timed(() => diff(run.directory, again.directory)),
    shifted: () => timed(() => diff(run.directory, shifted.directory)),
    full: () => timed(() => diff(run.directory, changed.directory, { full: true })),
    early: () => timed(() => diff(run.directory, other.directory)),
  }
  const measured = await inTurn(sides, rounds)
  const of = (name, key) => measured[name].map((one) => one[key])
  const side = (name, title, hasTarget) => ({
    title,
    hasTarget,
    ms: median(of(name, 'ms')),
    cpuMs: median(of(name, 'cpuMs')),
    ratio: ratios(of(name, 'ms'), of('replays', 'ms')),
  })
  return {
    events: run.events,
    bytes: [run, again].reduce((sum, { directory }) => sum + statSync(logOf(directory)).size, 0),
    replays: { ms: median(of('replays', 'ms')), cpuMs: median(of('replays', 'cpuMs')) },
    sides: [
      side('again', 'the same, recorded again', true),
      side('shifted', 'the same with other ids of calls, and all times shifted', true),
      side('full', 'one with an other output in the middle, `full: true`', false),
    ],
    early: median(of('early', 'ms')),
    memory: await memoryOf(run, again),
  }
}

/** A copy of the run with a different output in its middle. Its chain is broken, which a diff does not check. */
function changedRun(source) {
  const directory = `${source}.changed`
  if (!existsSync(directory)) {
    rmSync(`${directory}.part`, { recursive: true, force: true })
    cpSync(source, `${directory}.part`, { recursive: true })
    const log = readFileSync(logOf(source))
    const key = '"outputHash":"'
    const at = log.indexOf(key, log.length >> 1) + key.length
    log.write('0'.repeat(64), at, 'latin1')
    writeFileSync(logOf(`${directory}.part`), log)
    renameSync(`${directory}.part`, directory)
  }
  return { directory }
}

/** Checks the results: a fast comparison that misses something is worthless. */
async function check(run, again, shifted, changed, other) {
  const [none, nothing, found, early] = [
    await diff(run.directory, again.directory),
    await diff(run.directory, shifted.directory),
    await diff(run.directory, changed.directory, { full: true }),
    await diff(run.directory, other.directory),
  ]
  const isRight = none === null && nothing === null && found?.edits.length === 1 && early?.divergence_event === 0
  if (!isRight)
    throw new Error(`the runs do not compare as they should: ${JSON.stringify([none, nothing, found, early])}`)
}

async function replayBoth(...runs) {
  for (const { directory, events } of runs) {
    const replayed = await replayRun(directory, { verify: 'chain' })
    if (!replayed.ok || replayed.eventCount !== events) throw new Error(`${directory} does not replay`)
  }
}

async function memoryOf(left, right) {
  const { stdout } = await promisify(execFile)(process.execPath, ['--expose-gc', SELF, left.directory, right.directory])
  return JSON.parse(stdout).peak
}

if (process.argv[1] === SELF) {
  const [left, right] = process.argv.slice(2)
  process.stdout.write(JSON.stringify(await peakOf(() => diff(left, right))))
}
