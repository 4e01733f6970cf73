/** Diffs of runs. */
import { section, table, met, times, time, size, grouped } from './format.mjs'

const DIFF_TARGET = 1.2

export function diffReport({ events, bytes, replays, sides, early, memory }) {
  return section(
    'Diff',
    `Two runs of ${grouped(events)} events each, ${size(bytes)} together, compared to their ends. \`replayRun\` of one and then of the other
(\`verify: 'chain'\`) takes ${time(replays.ms)} (${time(replays.cpuMs)} of processor time).`,
    table(
      ['`diff` of a run and', 'wall', 'processor', 'against both replays', 'target', 'met'],
      sides.map(({ title, ms, cpuMs, ratio, hasTarget }) => [
        title,
        time(ms),
        time(cpuMs),
        times(ratio),
        hasTarget ? `≤ ${DIFF_TARGET}×` : '—',
        hasTarget ? met(ratio.median <= DIFF_TARGET) : '—',
      ]),
    ),
    `Two runs that diverge at their first event take ${time(early)}. Peak memory above what the process used before: ${size(memory)}.`,
  )
}
