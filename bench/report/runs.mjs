/** Runs, on one runtime. */
import { section, table, met, times, time, size, grouped } from './format.mjs';

const RUN_TARGET = 1e6;
const VERIFY_TARGET = 1.2;
const APPEND_TARGET = 1.25;

export function runsReport(runtime, { events, bytes, levels, memory, append }) {
  return section(
    `Runs, ${runtime}`,
    `A run of ${grouped(events)} events, ${Math.round(bytes / events)} bytes a line. *Wall* decides; processor time is that of all threads.`,
    table(
      ['`replayRun`', 'wall', 'processor', 'events/s', 'against `none`', 'target', 'met'],
      levels.map(({ verify, ms, cpuMs, perSecond, overhead }) => [
        `\`verify: '${verify}'\``,
        time(ms),
        time(cpuMs),
        grouped(Math.round(perSecond / 1000) * 1000),
        verify === 'none' ? '—' : times(overhead),
        ...runTarget(verify, perSecond, overhead),
      ]),
    ),
    'Peak memory over what the process had before, the state included: closed calls stay in it, ended tasks too.',
    table(
      ['events', 'log', '`none`', '`full`', '`full`, bytes an event'],
      memory.map((run) => [
        grouped(run.events),
        size(run.bytes),
        size(run.peak.none),
        size(run.peak.full),
        (run.peak.full / run.events).toFixed(0),
      ]),
    ),
    `\`RunRecorder.append\`, ${grouped(append[0].events)} events in bursts of 100 until all is handed to the system. What an event costs must not grow with the graph:`,
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
  );
}

function runTarget(verify, perSecond, overhead) {
  if (verify === 'none') return [`≥ ${grouped(RUN_TARGET)} events/s`, met(perSecond >= RUN_TARGET)];
  if (verify === 'full') return [`≤ ${VERIFY_TARGET}×`, met(overhead.median <= VERIFY_TARGET)];
  return ['—', '—'];
}
