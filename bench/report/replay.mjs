/** Replays of sessions, all runtimes side by side. */
import { section, size, stop, time, times } from './format.mjs';
import { sideBySide } from './side-by-side.mjs';

const RATIO_TARGETS = { compacted: 20, plain: 4, small: 4, tiny: 2.5 };
/** A frame of a screen. */
const STOP_TARGET_MS = 16;
const MEMORY_TARGET = 64 << 20;

export function replayReport(runtimes) {
  const compare = (show, target) => sideBySide('workload', runtimes, rowsOf(runtimes, show, target));
  return section(
    'Replay',
    `The plain engine is readline and \`JSON.parse\` a line, on the same runtime. Both sides gave deep-equal results, key order included, before
they were timed. How many times as fast \`replaySession\` is:`,
    compare(({ ratio }) => times(ratio), {
      shown: ({ shape }) => `≥ ${RATIO_TARGETS[shape]}×`,
      isMet: ({ shape, ratio }) => ratio.median >= RATIO_TARGETS[shape],
    }),
    'The plain engine / `replaySession`:',
    compare(({ ms }) => `${time(ms.plain)} / ${time(ms.addon)}`),
    'The ratio of the processor time of all threads. What other programs do on the machine is not in it:',
    compare(({ cpuRatio }) => times(cpuRatio)),
    `The longest stop of the event loop during \`replaySession\`: median of the rounds / worst of all, and in brackets the worst of a loop that
waited for a timer, in the same rounds. The watcher looks every millisecond, so a loop without any stop shows 1 ms. The worst decides.`,
    compare(({ stops }) => `${stop(stops.addon)} (${stops.idle.worst.toFixed(1)})`, {
      shown: () => `≤ ${STOP_TARGET_MS} ms`,
      isMet: ({ stops }) => stops.addon.worst <= STOP_TARGET_MS,
    }),
    'The longest stop during the plain engine:',
    compare(({ stops }) => stop(stops.plain)),
    `Peak memory of \`replaySession\` over what the process had before (processes of their own, median of three) / the plain engine's. In brackets
the peak without what the result still holds when all garbage is collected, which is what the target is for.`,
    compare(({ memory }) => `${size(memory.addon.peak)} / ${size(memory.plain.peak)} (${size(memory.addon.over)})`, {
      shown: () => `≤ ${size(MEMORY_TARGET)}`,
      isMet: ({ memory }) => memory.addon.over <= MEMORY_TARGET,
    }),
  );
}

/** A row for each workload. */
function rowsOf(runtimes, show, target) {
  const workloads = runtimes[0].figures;
  return workloads.map((workload) => ({
    title: `${workload.title} (${size(workload.bytes)})`,
    of: (figures) => figures.find(({ name }) => name === workload.name),
    show,
    target: target?.shown(workload),
    isMet: target?.isMet,
  }));
}
