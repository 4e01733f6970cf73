/** Replays of sessions, all runtimes side by side. */
import { section, size, stop, time, times } from './format.mjs'
import { sideBySide } from './side-by-side.mjs'

const RATIO_TARGETS = { compacted: 20, plain: 4, small: 4, tiny: 2.5 }
/** The duration of a frame at 60 Hz. */
const STOP_TARGET_MS = 16
const MEMORY_TARGET = 64 << 20

export function replayReport(runtimes) {
  const compare = (show, target) => sideBySide('workload', runtimes, rowsOf(runtimes, show, target))
  return section(
    'Replay',
    `The plain engine is readline and \`JSON.parse\` of each line, on the same runtime. Both sides gave deep-equal results, key order included, before
they were timed. Of a session with edits it applies each one to the whole history, so that row has no target. The speedup of \`replaySession\`:`,
    compare(({ ratio }) => times(ratio), {
      shown: ({ shape }) => (shape in RATIO_TARGETS ? `≥ ${RATIO_TARGETS[shape]}×` : undefined),
      isMet: ({ shape, ratio }) => ratio.median >= RATIO_TARGETS[shape],
    }),
    'Times of the plain engine / `replaySession`:',
    compare(({ ms }) => `${time(ms.plain)} / ${time(ms.addon)}`),
    'The ratio of the processor times of all threads, which exclude that of other programs on the machine:',
    compare(({ cpuRatio }) => times(cpuRatio)),
    `The longest delay of the event loop during \`replaySession\`: median of the rounds / maximum of all, and in parentheses the maximum of a loop that
only waited for a timer, in the same rounds. The delay is sampled every millisecond, so a loop without any delay shows 1 ms. The target is for the
maximum.`,
    compare(({ stops }) => `${stop(stops.addon)} (${stops.idle.worst.toFixed(1)})`, {
      shown: () => `≤ ${STOP_TARGET_MS} ms`,
      isMet: ({ stops }) => stops.addon.worst <= STOP_TARGET_MS,
    }),
    'The longest delay of the event loop during a replay by the plain engine:',
    compare(({ stops }) => stop(stops.plain)),
    `Peak memory of \`replaySession\` above what the process used before (in separate processes, median of three) / that of the plain engine. In
parentheses the peak without the memory that the result still holds after a garbage collection; the target is for this figure.`,
    compare(({ memory }) => `${size(memory.addon.peak)} / ${size(memory.plain.peak)} (${size(memory.addon.over)})`, {
      shown: () => `≤ ${size(MEMORY_TARGET)}`,
      isMet: ({ memory }) => memory.addon.over <= MEMORY_TARGET,
    }),
  )
}

/** A row for each workload. */
function rowsOf(runtimes, show, target) {
  const workloads = runtimes[0].figures
  return workloads.map((workload) => ({
    title: `${workload.title} (${size(workload.bytes)})`,
    of: (figures) => figures.find(({ name }) => name === workload.name),
    show,
    target: target?.shown(workload),
    isMet: target?.isMet,
  }))
}
