/** Runs, on one runtime. */
import { section, table, met, times, time, size, grouped } from './format.mjs'

const PARSE_TARGET = 4
/** Events per second, for a run of at least `LONG_RUN` events. */
const RUN_TARGET = 2e6
const LONG_RUN = 900_000
const VERIFY_TARGET = 1.25
const APPEND_TARGET = 1.25

export function runsReport(runtime, { replays, memory, append }) {
  const { events, bytes } = replays.at(-1)
  return section(
    `Runs, ${runtime}`,
    `\`replayRun\` of runs of ${Math.round(bytes / events)} bytes per line, against \`JSON.parse\` of their lines alone. The targets are for *wall*; *processor* is the time of all threads.`,
    table(
      [
        'events',
        '`verify`',
        'wall',
        'processor',
        'events/s',
        'against `JSON.parse`',
        'against `none`',
        'target',
        'met',
      ],
      replays.flatMap(({ events, levels }) =>
        levels.map((level) => [
          grouped(events),
          `\`${level.verify}\``,
          time(level.ms),
          time(level.cpuMs),
          grouped(Math.round(level.perSecond / 1000) * 1000),
          times(level.parse),
          level.verify === 'none' ? '—' : times(level.overhead),
          ...runTarget(events, level),
        ]),
      ),
    ),
    'Peak memory above what the process used before, including the state, which keeps closed calls and ended tasks:',
    table(
      ['events', 'log', '`none`', '`full`', '`full`, bytes per event'],
      memory.map((run) => [
        grouped(run.events),
        size(run.bytes),
        size(run.peak.none),
        size(run.peak.full),
        (run.peak.full / run.events).toFixed(0),
      ]),
    ),
    `\`RunRecorder.append\`, ${grouped(append[0].events)} events in bursts of 100 until everything is passed to the operating system. The cost of an event must not grow with the graph:`,
    table(
      ['nodes', 'events/s', 'in the call, µs', 'thread, µs', 'thread, against 10 nodes', 'target', 'met'],
      append.map(({ nodes, perSecond, callMicros, threadMicros, against }) => [
        grouped(nodes),
        grouped(Math.round(perSecond / 100) * 100),
        callMicros.toFixed(1),
        threadMicros.toFixed(1),
        nodes === append[0].nodes ? '—' : times(against),
        nodes === append[0].nodes ? '—' : `≤ ${APPEND_TARGET}×`,
        nodes === append[0].nodes ? '—' : met(against.median <= APPEND_TARGET),
      ]),
    ),
  )
}

function runTarget(events, { verify, perSecond, parse, overhead }) {
  if (verify === 'full') return [`≤ ${VERIFY_TARGET}×`, met(overhead.median <= VERIFY_TARGET)]
  if (verify !== 'none') return ['—', '—']
  const isFast = parse.median >= PARSE_TARGET
  if (events < LONG_RUN) return [`≥ ${PARSE_TARGET}×`, met(isFast)]
  return [`≥ ${PARSE_TARGET}×, ≥ ${grouped(RUN_TARGET)} events/s`, met(isFast && perSecond >= RUN_TARGET)]
}
