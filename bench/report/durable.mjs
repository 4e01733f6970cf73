/** Durable recording, and an event of 20 MiB. */
import { section, table, met, times, grouped } from './format.mjs';

export function durableReport({ rows, ratio, syncs }) {
  const counted = syncs === null ? ['not counted: strace is not available', '—'] : [grouped(syncs), met(syncs <= 1)];
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
  );
}

export function imageReport({ tape, stringify }) {
  const copies = ({ peak, payload }) => (peak / payload).toFixed(2);
  const beyond = (tape.peak - stringify.peak) / tape.payload;
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
  );
}
