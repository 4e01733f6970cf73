/** Formats figures as Markdown. */

export const section = (title, ...parts) => [`## ${title}`, ...parts].join('\n\n')

export function table(head, rows) {
  const line = (cells) => `| ${cells.join(' | ')} |`
  return [line(head), `|${head.map(() => '---').join('|')}|`, ...rows.map(line)].join('\n')
}

export const met = (yes, partly) => (yes ? 'yes' : partly ? `**no** (${partly})` : '**no**')
export const times = ({ median, lowest, highest }) =>
  `${median.toFixed(2)}× (${lowest.toFixed(2)}–${highest.toFixed(2)})`
export const time = (ms) =>
  ms < 1 ? `${(ms * 1000).toFixed(0)} µs` : ms < 100 ? `${ms.toFixed(1)} ms` : `${grouped(Math.round(ms))} ms`
export const stop = ({ median, worst }) => `${median.toFixed(1)} / ${worst.toFixed(1)} ms`
export const size = (bytes) =>
  Math.abs(bytes) < 1 << 20 ? `${(bytes / 1024).toFixed(0)} KiB` : `${(bytes / 2 ** 20).toFixed(1)} MiB`
export const megabytes = (bytes) => `${grouped(Math.round(bytes / 1e6))} MB`
export const grouped = (n) => n.toLocaleString('en-US').replaceAll(',', ' ')
