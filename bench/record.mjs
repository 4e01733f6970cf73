/** Recording: events of 500 bytes, in bursts like those of a CLI, compared with loggers. */
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { SessionRecordingService } from '../index.mjs'
import { collectGarbage, inTurn, median, ratios, threadWork } from './measure.mjs'
import { RIVALS, sessionTape, stringifyAlone } from './recorders.mjs'
import { DATA, RECORD_WORKLOADS, contentPayloads } from './workloads.mjs'

const DIRECTORY = join(DATA, 'record')

/** Events in one turn of the event loop. */
const BURST = 100

/** Measures the workloads one after the other, with ASCII or wide texts. The competitors record wide texts only. */
export async function benchRecord({ rounds, scale, workloads, say }) {
  const results = []
  for (const workload of RECORD_WORKLOADS.filter(({ name }) => workloads.includes(name))) {
    const rivals = workload.alphabet === 'wide' ? RIVALS : {}
    results.push(await benchWorkload(workload, rivals, Math.round(50_000 * scale), rounds, say))
  }
  return results
}

async function benchWorkload({ name: workload, alphabet }, rivals, events, rounds, say) {
  const payloads = contentPayloads(1000, alphabet)
  const sides = { tape: sessionTape(SessionRecordingService), stringify: stringifyAlone, ...rivals }
  say(`recording: ${events} events, ${alphabet}, ${Object.keys(sides).length} ways`)
  const tasks = Object.entries(sides).map(([name, side]) => {
    const howMany = side.slow ? Math.round(events / 10) : events
    return [name, () => recordAll(side, payloads, howMany)]
  })
  const measured = await inTurn(Object.fromEntries(tasks), rounds)
  const perEvent = (name, key) => measured[name].map((one) => one[key])
  return {
    name: workload,
    alphabet,
    events,
    lineBytes: median(perEvent('tape', 'lineBytes')),
    rows: Object.entries(sides).map(([name, side]) => ({
      name,
      title: side.title,
      writesNothing: side.writesNothing === true,
      perSecond: median(perEvent(name, 'perSecond')),
      callMicros: median(perEvent(name, 'callMicros')),
      threadMicros: median(perEvent(name, 'threadMicros')),
    })),
    threadRatio: ratios(perEvent('tape', 'threadMicros'), perEvent('stringify', 'threadMicros')),
    rivals: FASTEST.filter(([, names]) => names.every((name) => name in rivals)).map(([title, names]) => ({
      title,
      speedup: fewestTimes(
        perEvent('tape', 'perSecond'),
        names.map((name) => perEvent(name, 'perSecond')),
      ),
    })),
  }
}

/** The competitors that must be beaten, in all of their variants. */
const FASTEST = [
  ['sonic-boom', ['sonicSync', 'sonicAsync']],
  ['pino', ['pinoSync', 'pinoAsync']],
]

/** How many times as fast as the fastest variant of the competitor. */
const fewestTimes = (ours, variants) =>
  variants.map((theirs) => ratios(ours, theirs)).reduce((worst, one) => (one.median < worst.median ? one : worst))

/** @returns the cost of one event: `callMicros` within the call, `threadMicros` of the JavaScript thread in total */
async function recordAll(side, payloads, events) {
  collectGarbage()
  const recorder = side.start(DIRECTORY)
  const before = threadWork()
  const started = performance.now()
  let inCalls = 0
  for (let i = 0; i < events; ) {
    const burstEnd = Math.min(i + BURST, events)
    const burstStarted = performance.now()
    for (; i < burstEnd; i++) {
      const wait = recorder.write(payloads[i % payloads.length])
      if (wait !== undefined) await wait
    }
    inCalls += performance.now() - burstStarted
    await nextTurn()
  }
  const written = await recorder.finish()
  const ms = performance.now() - started
  const thread = threadWork(before)
  const lineBytes = side.writesNothing ? 0 : checkFile(written, side, payloads, events)
  return {
    perSecond: (events / ms) * 1000,
    callMicros: (inCalls / events) * 1000,
    threadMicros: (thread.ms / events) * 1000,
    lineBytes,
  }
}

/** Checks that no event was lost or altered, and deletes the file. Returns the average length of a line in bytes. */
function checkFile(filePath, side, payloads, events) {
  const text = readFileSync(filePath, 'utf8')
  rmSync(filePath)
  const lines = text.trimEnd().split('\n')
  if (lines.length !== events + (side.extraLines ?? 0)) {
    throw new Error(`${side.title} wrote ${lines.length} lines for ${events} events`)
  }
  const expected = JSON.stringify(payloads[(events - 1) % payloads.length])
  if (JSON.stringify(JSON.parse(lines.at(-1)).payload) !== expected)
    throw new Error(`${side.title} wrote another last event`)
  return Buffer.byteLength(text) / lines.length
}
