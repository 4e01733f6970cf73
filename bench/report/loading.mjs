/** Loading the package, all runtimes side by side. */
import { section, time } from './format.mjs'
import { sideBySide } from './side-by-side.mjs'

const TARGET_MS = 4

const TITLES = {
  require: "`require('session-tape')`",
  import: "`import('session-tape')` as an ES module",
  addon: 'the addon alone, by `process.dlopen`',
  replay: '`require`, and `replaySession` of 20 records',
}

export function loadingReport(runtimes) {
  const rows = Object.entries(TITLES).map(([task, title]) => ({
    title,
    of: (figures) => figures[task],
    show: ({ ms, lowest, cpuMs }) => `${time(ms)}, lowest ${time(lowest)}, processor ${time(cpuMs)}`,
    ...(task === 'require' && { target: `≤ ${TARGET_MS} ms`, isMet: ({ ms }) => ms <= TARGET_MS }),
  }))
  return section(
    'Loading',
    'In fresh processes, with the files in the page cache; medians.',
    sideBySide('what', runtimes, rows),
  )
}
