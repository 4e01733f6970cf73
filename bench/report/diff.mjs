/** Diffs of runs. */
import { section, table, met, times, time, size, grouped } from './format.mjs';

const DIFF_TARGET = 1.2;

export function diffReport({ events, bytes, replays, sides, early, memory }) {
  return section(
    'Diff',
    `Two runs of ${grouped(events)} events each, ${size(bytes)} together, compared to their ends, beside \`replayRun\` of one and then of the other
(\`verify: 'chain'\`), which takes ${time(replays.ms)} (${time(replays.cpuMs)} of processor time).`,
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
    `Two that part at their first event take ${time(early)}. Peak memory over what the process had before: ${size(memory)}.`,
  );
}
