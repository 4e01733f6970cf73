/**
 * Runs: replaying with and without verification, the memory for it, and the cost of an event for the recorder, however many nodes there are.
 *
 * Imported, it measures; started as a script, it is the process whose memory is measured.
 */
import { execFile } from 'node:child_process'
import { readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { replayRun, verifyRun } from '../index.mjs'
import { collectGarbage, inTurn, median, ratios, threadWork, timed } from './measure.mjs'
import { peakOf } from './memory.mjs'
import { endlessRun, linesOf, recordedRun } from './run-workloads.mjs'
import { DATA } from './workloads.mjs'

const SELF = fileURLToPath(import.meta.url)
const LEVELS = ['none', 'chain', 'full']
const EVENTS = [1000, 175_000, 1e6]
/** A run with fewer events than this is replayed several times in a row. */
const EVENTS_AT_LEAST = 50_000
/** Maximum number of lines that are strings at the same time. */
const LINES_AT_ONCE = 50_000
const NODES = [10, 1000, 100_000]
const BURST = 100

export async function benchRuns({ rounds, scale, say, large }) {
  const replays = []
  let run
  for (const events of EVENTS) {
    say(`runs: recording ${events} events`)
    run = await recordedRun(events * scale)
    await checkRun(run)
    say('runs: replay')
    replays.push(await benchLevels(run, rounds))
  }
  const memory = [await memoryOf(run)]
  if (large) memory.push(await largeMemory(10e6 * scale, say))
  say('runs: append')
  return { replays, memory, append: await benchAppend(Math.round(70_000 * scale), rounds) }
}

/** Checks the run: a fast replay that misses something is worthless. */
async function checkRun({ directory, events }) {
  const found = await verifyRun(directory)
  const checked = [found.chain, found.stateHashes].map((check) => check.checked)
  const isWhole =
    found.ok && found.scheduleMatch && found.outputHashesMatch && checked.every((count) => count === events)
  if (!isWhole) throw new Error(`${directory} does not verify: ${JSON.stringify(found)}`)
}

async function benchLevels({ directory, events }, rounds) {
  const times = Math.ceil(EVENTS_AT_LEAST / events)
  const side = (verify) => async () => {
    const { ms, cpuMs } = await timed(async () => {
      for (let n = 0; n < times; n++) {
        const { ok, eventCount } = await replayRun(directory, { verify })
        if (!ok || eventCount !== events) throw new Error(`${directory} does not replay (${verify})`)
      }
    })
    return { ms: ms / times, cpuMs: cpuMs / times }
  }
  const log = join(directory, 'events.cath-log')
  const sides = Object.fromEntries(LEVELS.map((verify) => [verify, side(verify)]))
  const measured = await inTurn({ parse: () => ({ ms: parseAll(log, times) / times }), ...sides }, rounds)
  const ms = (verify) => measured[verify].map((one) => one.ms)
  return {
    events,
    bytes: statSync(log).size,
    parseMs: median(ms('parse')),
    levels: LEVELS.map((verify) => ({
      verify,
      ms: median(ms(verify)),
      cpuMs: median(measured[verify].map((one) => one.cpuMs)),
      perSecond: (events / median(ms(verify))) * 1000,
      parse: ratios(ms('parse'), ms(verify)),
      overhead: ratios(ms(verify), ms('none')),
    })),
  }
}

/** The time in milliseconds that `JSON.parse` takes for all lines, `times` times, without reading, splitting lines and creating strings. */
function parseAll(log, times) {
  const bytes = readFileSync(log)
  collectGarbage()
  let ms = 0
  for (let start = 0; start < bytes.length; ) {
    const lines = []
    for (; start < bytes.length && lines.length < LINES_AT_ONCE; ) {
      const end = bytes.indexOf(10, start)
      lines.push(bytes.toString('utf8', start, end))
      start = end + 1
    }
    const started = performance.now()
    for (let n = 0; n < times; n++) for (const line of lines) JSON.parse(line)
    ms += performance.now() - started
  }
  return ms
}

async function memoryOf({ directory, events }) {
  const peak = {}
  for (const verify of ['none', 'full']) {
    const { stdout } = await promisify(execFile)(process.execPath, ['--expose-gc', SELF, verify, directory])
    peak[verify] = JSON.parse(stdout).peak
  }
  return { events, bytes: statSync(join(directory, 'events.cath-log')).size, peak }
}

async function largeMemory(events, say) {
  say('runs: memory of ten million events')
  const run = await recordedRun(events)
  try {
    return await memoryOf(run)
  } finally {
    rmSync(run.directory, { recursive: true })
  }
}

async function benchAppend(events, rounds) {
  const directory = join(DATA, 'run-endless')
  const side = (nodes) => () => appendAll(directory, nodes, events)
  const measured = await inTurn(Object.fromEntries(NODES.map((nodes) => [`n${nodes}`, side(nodes)])), rounds)
  rmSync(directory, { recursive: true, force: true })
  const of = (nodes, key) => measured[`n${nodes}`].map((one) => one[key])
  return NODES.map((nodes) => ({
    nodes,
    events,
    perSecond: median(of(nodes, 'perSecond')),
    callMicros: median(of(nodes, 'callMicros')),
    threadMicros: median(of(nodes, 'threadMicros')),
    against: ratios(of(nodes, 'threadMicros'), of(NODES[0], 'threadMicros')),
  }))
}

/** Appends events in bursts, like `record.mjs`, until everything was handed to the system. */
async function appendAll(directory, nodes, events) {
  const { recorder, events: source } = endlessRun(directory, nodes)
  const list = Array.from({ length: events }, () => source.next().value)
  await recorder.flush()
  collectGarbage()
  const before = threadWork()
  const started = performance.now()
  let inCalls = 0
  for (let i = 0; i < events; ) {
    const burstEnd = Math.min(i + BURST, events)
    const burstStarted = performance.now()
    for (; i < burstEnd; i++) recorder.append(list[i])
    inCalls += performance.now() - burstStarted
    await nextTurn()
  }
  await recorder.flush()
  const ms = performance.now() - started
  const thread = threadWork(before)
  await recorder.dispose()
  if (linesOf(directory) !== events + 2) throw new Error(`${directory} does not have every event`)
  return {
    perSecond: (events / ms) * 1000,
    callMicros: (inCalls / events) * 1000,
    threadMicros: (thread.ms / events) * 1000,
  }
}

if (process.argv[1] === SELF) {
  const [verify, directory] = process.argv.slice(2)
  await replayRun(directory, { verify, until: 1000 })
  process.stdout.write(JSON.stringify(await peakOf(() => replayRun(directory, { verify }))))
}
