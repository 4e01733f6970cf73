/** Snapshots of sessions, and large files. */
import { section, table, met, time, size, megabytes, grouped } from './format.mjs';

const REOPEN_TARGET_MS = 20;
const MEMORY_TARGET = 64 << 20;

export function snapshotReport({ bytes, items, parse, whole, unchanged, grown }) {
  const limit = REOPEN_TARGET_MS + parse;
  return section(
    `Reopening ${megabytes(bytes)}`,
    `A session whose last compression left ${grouped(items)} items, with \`snapshot: true\`. *Unchanged*: not written to since the snapshot,
nor in the seconds before it. *Grown*: one record longer each time; everything before that record is compared with its digests.`,
    table(
      ['replay', 'time', 'target', 'met'],
      [
        ['whole, without a snapshot', time(whole), '—', '—'],
        ['unchanged', time(unchanged), `≤ ${REOPEN_TARGET_MS} ms + parse`, met(unchanged <= limit)],
        ['grown', time(grown), `≤ ${REOPEN_TARGET_MS} ms + parse`, met(grown <= limit)],
        ["`JSON.parse` of the history's items alone", time(parse), '—', '—'],
      ],
    ),
  );
}

export function largeReport({ page, memory }) {
  return section(
    'Large files',
    table(
      ['what', 'file', 'time', 'peak memory', 'target', 'met'],
      [
        [
          '`openSession` with a snapshot, the last 50 items',
          megabytes(page.bytes),
          time(page.again),
          size(page.peak),
          'a few ms, a few MB',
          met(page.again <= 10 && page.peak <= 16 << 20),
        ],
        ['the same the first time', megabytes(page.bytes), time(page.first), '—', '—', '—'],
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
  );
}
