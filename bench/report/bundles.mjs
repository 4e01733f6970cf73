/** Bundles. */
import { section, table, met, time, size } from './format.mjs'

const BUNDLE_RATIO_TARGET = 5
const BUNDLE_TARGET = 400e6
const BUNDLE_MEMORY_TARGET = 128 << 20

export function bundlesReport({ sizes, speeds, memory }) {
  const sum = (list) => list.reduce((total, one) => total + one, 0)
  const levels = Object.keys(sizes[0]?.archives ?? {})
  const together = { name: '**all**', bytes: sum(sizes.map(({ bytes }) => bytes)), archives: {} }
  for (const level of levels) together.archives[level] = sum(sizes.map(({ archives }) => archives[level]))
  const ratio = ({ bytes, archives }, level) => bytes / archives[level]
  return section(
    'Bundles',
    ...(sizes.length === 0
      ? []
      : [
          'Real recordings as archives: the size of the file divided by that of the archive. The default is level 1.',
          table(
            ['recording', 'file', ...levels.map((level) => `level ${level}`), 'target', 'met'],
            [...sizes, together].map((one) => [
              one.name,
              size(one.bytes),
              ...levels.map((level) => `${ratio(one, level).toFixed(1)}×`),
              `≥ ${BUNDLE_RATIO_TARGET}×`,
              met(ratio(one, levels[0]) >= BUNDLE_RATIO_TARGET),
            ]),
          ),
        ]),
    'Input per second of wall-clock time, and per second of processor time of all threads, at the default level:',
    table(
      ['source', 'bytes', 'archive', '', 'wall', 'MB/s', 'MB/s of processor time', 'target', 'met'],
      speeds.flatMap(({ title, bytes, archive, figures }) =>
        figures.map(({ name, ms, perSecond, perCpuSecond }) => [
          title,
          size(bytes),
          `${(bytes / archive).toFixed(1)}×`,
          name,
          time(ms),
          (perSecond / 1e6).toFixed(0),
          (perCpuSecond / 1e6).toFixed(0),
          name.startsWith('import') ? '—' : `≥ ${BUNDLE_TARGET / 1e6} MB/s`,
          name.startsWith('import')
            ? '—'
            : met(perCpuSecond >= BUNDLE_TARGET, perSecond >= BUNDLE_TARGET && 'in wall-clock time only'),
        ]),
      ),
    ),
    'Peak memory above what the process used before, for the run as an archive:',
    table(
      ['', 'peak', 'target', 'met'],
      Object.entries(memory).map(([job, peak]) => [
        job,
        size(peak),
        `≤ ${size(BUNDLE_MEMORY_TARGET)}`,
        met(peak <= BUNDLE_MEMORY_TARGET),
      ]),
    ),
  )
}
