/** Archives, and what is kept. */
import { grouped, megabytes, met, section, size, table, time, times } from './format.mjs'

export function archivesReport({ bytes, archivedBytes, zstdBytes, ms, cpuMs, zstdRatio, replayRatio, peak, dryRun }) {
  const speed = (name) => (bytes / ms[name] / 1000).toFixed(0)
  // The time of another process is not ours.
  const row = (what, name, ...rest) => [
    what,
    time(ms[name]),
    `${speed(name)} MB/s`,
    name === 'zstd' ? '' : time(cpuMs[name]),
    ...rest,
  ]
  const peakMet = peak.archive <= 128 * 2 ** 20
  return section(
    'Archives',
    `A session of ${megabytes(bytes)}, of which the archive has ${megabytes(archivedBytes)}${zstdBytes ? `, and \`zstd -9\` makes ${megabytes(zstdBytes)}` : ''}.`,
    table(
      ['what', 'time', 'source', 'processor time', 'target', 'met'],
      [
        row('`archiveSession`, with the verification', 'archive', '≥ 40 MB/s', met(bytes / ms.archive / 1000 >= 40)),
        ...(zstdRatio ? [row(`\`zstd -9 -T2\`: ${times(zstdRatio)} of it`, 'zstd', '', '')] : []),
        row('`restoreSession`', 'restore', '', ''),
        row('`replaySession` of the file', 'replay', '', ''),
        row(`\`replaySession\` of the archive: ${times(replayRatio)}`, 'replayArchived', '', ''),
      ],
    ),
    table(
      ['what', 'memory at most', 'target', 'met'],
      [
        ['`archiveSession`', size(peak.archive), '≤ 128 MiB', met(peakMet)],
        ['`restoreSession`', size(peak.restore), '', ''],
      ],
    ),
    table(
      [`${grouped(dryRun.sessions)} sessions`, '`listSessions`', '`keepSessions`, dry run', 'ratio', 'target', 'met'],
      [
        ['time', ...dryRun.ms.map(time), times(dryRun.ratio), '≤ 1.5×', met(dryRun.ratio.median <= 1.5)],
        ['processor time', ...dryRun.cpuMs.map(time), times(dryRun.cpuRatio), '', ''],
      ],
    ),
  )
}
