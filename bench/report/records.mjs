/** Every record of a session, all runtimes side by side. */
import { section, size, time, times } from './format.mjs'
import { sideBySide } from './side-by-side.mjs'

const TARGET = 1.5

export function recordsReport(runtimes) {
  const compare = (show, target) => {
    const row = ({ name, title, bytes }) => ({
      title: `${title} (${size(bytes)})`,
      of: (figures) => figures.find((one) => one.name === name),
      show,
      ...target,
    })
    return sideBySide('workload', runtimes, runtimes[0].figures.map(row))
  }
  return section(
    'Records',
    'The plain loop is readline and `JSON.parse` of each line. Both loops saw the same records, key order included. The speedup of `readSessionRecords`:',
    compare(({ ratio }) => times(ratio), { target: `≥ ${TARGET}×`, isMet: ({ ratio }) => ratio.median >= TARGET }),
    'The same with `history: true`, for which the file is read twice:',
    compare(({ historyRatio }) => times(historyRatio)),
    'The ratio of the processor times of all threads:',
    compare(({ cpuRatio }) => times(cpuRatio)),
    'Times of the plain loop / `readSessionRecords`, and the longest delay of the event loop:',
    compare(({ ms, stops }) => `${time(ms.plain)} / ${time(ms.addon)}, ${time(stops.addon)}`),
  )
}
