/** Durable recording, and an event of 20 MiB. */
import { section, table, met, times, grouped } from './format.mjs'

export function durableReport({ rows, ratio, syncs }) {
  const counted = syncs === null ? ['not counted: strace is not available', '—'] : [grouped(syncs), met(syncs <= 1)]
  return section(
    'Durable recording',
    "`durability: 'fsync'`, 64 events, each with a flush.",
    table(
      ['method', 'µs per event'],
      rows.map(([title, micros]) => [title, micros.toFixed(0)]),
    ),
    `Flushes that are requested in one turn of the event loop share a sync; those requested during a sync share the next one.`,
    table(
      ['target', '', 'measured', 'met'],
      [
        ['system calls that sync, for 64 flushes waiting together', '1', ...counted],
        ['together, against one by one', '—', times(ratio), '—'],
      ],
    ),
  )
}

export function acknowledgedReport({ rows, ratio, batches, items, unchanged, recorded, resumed, copied }) {
  // Figures that were saved before have not all rows.
  const time = (ms) => (ms === undefined ? ['not measured', '—'] : [`${ms.toFixed(1)} ms`, met(ms <= 20)])
  return section(
    'Acknowledged recording',
    `\`commit\` resolves when its record is in the file. \`reconcile\` compares a history of ${grouped(items)} items with the file, and finds no difference.`,
    table(
      ['method', 'µs per event'],
      rows.map(([title, micros]) => [title, micros.toFixed(1)]),
    ),
    table(
      ['target', '', 'measured', 'met'],
      [
        ['commits awaited one by one, against `fs.promises.appendFile`', '≥ 3×', times(ratio), met(ratio.median >= 3)],
        ['writes for 64 commits at once', '1', String(batches), met(batches <= 1)],
        [`\`reconcile\` of ${grouped(items)} unchanged items`, '≤ 20 ms', ...time(unchanged)],
        ['the first call of the recorder that has recorded them', '≤ 20 ms', ...time(recorded)],
        ['the first call after `resumeSession`', '≤ 20 ms', ...time(resumed)],
        ['the same with items that were not seen before', '—', `${copied.toFixed(1)} ms`, '—'],
      ],
    ),
  )
}

export function imageReport({ tape, stringify }) {
  const copies = ({ peak, payload }) => (peak / payload).toFixed(2)
  const beyond = (tape.peak - stringify.peak) / tape.payload
  return section(
    'An event of 20 MiB',
    `An image in base64, recorded and flushed: peak memory above that of the process with the image already in memory, in copies
of the image. In addition to the memory of \`JSON.stringify\`, a payload may be copied at most twice: V8 flattens the string, which
\`JSON.stringify\` leaves in several pieces, and Rust copies the result.`,
    table(
      ['method', 'copies'],
      [
        ['session-tape', copies(tape)],
        ['`JSON.stringify` of the envelope alone', copies(stringify)],
      ],
    ),
    table(
      ['target', '', 'measured', 'met'],
      [["copies beyond `JSON.stringify`'s own", '≤ 2', beyond.toFixed(2), met(beyond <= 2.05)]],
    ),
  )
}
