/** Sessions of other programs, all runtimes side by side. */
import { section, size, time, times } from './format.mjs'
import { sideBySide } from './side-by-side.mjs'

export function agentsReport(runtimes) {
  const compare = (show, of = (one) => one) => {
    const row = ({ name, title, bytes }) => ({
      title: `${title} (${size(bytes)})`,
      of: (figures) => of(figures.find((one) => one.name === name)),
      show,
    })
    return sideBySide('session', runtimes, runtimes[0].figures.map(row))
  }
  return section(
    'Sessions of other programs',
    `The plain loop parses every record (readline and \`JSON.parse\` of each line, or of the document) and builds the same items; both had the same speakers
and blocks. The speedup of \`replaySession\`:`,
    compare(({ ratio }) => times(ratio)),
    'The ratio of the processor times of all threads:',
    compare(({ cpuRatio }) => times(cpuRatio)),
    'Times of the plain loop / `replaySession`, which makes no receipt, and the longest delay of the event loop:',
    compare(({ ms, stops }) => `${time(ms.plain)} / ${time(ms.replay)}, ${time(stops.replay)}`),
    `Imports: times of the plain loop that also writes the items with \`JSON.stringify\` / \`importSession\`, which writes all events and a receipt with the
SHA-256 of every record, and syncs both; the ratio:`,
    compare(({ ms, importRatio }) => `${time(ms.plainImport)} / ${time(ms.import)}, ${times(importRatio)}`),
    'Every record through `convertSession`, with its events and its entry of the receipt as JavaScript values:',
    compare(({ ms }) => time(ms.receipt)),
  )
}
