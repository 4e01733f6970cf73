/** Headers of many sessions, all runtimes side by side. */
import { grouped, section, time, times } from './format.mjs'
import { sideBySide } from './side-by-side.mjs'

const TARGET = 5

export function headersReport(runtimes) {
  const { files, rows } = runtimes[0].figures
  const compare = (show, target) => {
    const row = ({ title }) => ({
      title,
      of: (figures) => figures.rows.find((one) => one.title === title),
      show,
      ...target,
    })
    return sideBySide('method', runtimes, rows.map(row))
  }
  return section(
    `Headers of ${grouped(files)} files`,
    'The files are in the page cache. The plain engine reads each through readline, in the same loop or in a pool of the same size.',
    compare(({ ratio }) => times(ratio), { target: `≥ ${TARGET}×`, isMet: ({ ratio }) => ratio.median >= TARGET }),
    'Times of readline / session-tape, and the longest delay of the event loop:',
    compare(({ plainMs, addonMs, stop }) => `${time(plainMs)} / ${time(addonMs)}, ${time(stop)}`),
  )
}
