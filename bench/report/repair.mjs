/** Repair of damaged sessions. */
import { grouped, megabytes, met, section, table, time, times } from './format.mjs'

export function repairReport({ bytes, torn, ms, cpuMs, ratio, braces }) {
  const row = (what, size, one) => [
    what,
    megabytes(size),
    time(one.ms),
    time(one.cpuMs),
    `${(size / one.ms / 1000).toFixed(0)} MB/s`,
  ]
  return section(
    'Repair',
    `\`repairSession\`, the strict replay of the result included: ${times(ratio)} the time of \`replaySession\` of the same file.`,
    table(
      ['what', 'source', 'time', 'processor time', 'speed', 'target', 'met'],
      [
        [...row(`${grouped(torn)} torn records`, bytes, { ms, cpuMs }), '≥ 100 MB/s', met(bytes / ms / 1000 >= 100)],
        [...row('nothing but `{`', braces.bytes, braces), 'seconds', met(braces.ms <= 10_000)],
      ],
    ),
  )
}
