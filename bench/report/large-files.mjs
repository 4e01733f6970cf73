/** Large files. */
import { section, table, met, time, size, megabytes } from './format.mjs'

const MEMORY_TARGET = 64 << 20

export function largeReport({ page, memory }) {
  return section(
    'Large files',
    table(
      ['what', 'file', 'time', 'peak memory', 'target', 'met'],
      [
        ['`openSession`, the last 50 items', megabytes(page.bytes), time(page.ms), size(page.peak), '—', '—'],
        [
          '`replaySession`',
          megabytes(memory.bytes),
          time(memory.ms),
          `${size(memory.peak - memory.retained)} beyond the history`,
          `≤ ${size(MEMORY_TARGET)}`,
          met(memory.peak - memory.retained <= MEMORY_TARGET),
        ],
      ],
    ),
    'The sessions have a compression every 4 000 records. Parts of a file that are not in the page cache are read from the disk.',
  )
}
