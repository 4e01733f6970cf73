/** Durable recording, and an event of 20 MiB. */
import { section, table, met, times, grouped } from './format.mjs';

export function durableReport({ rows, ratio, syncs }) {
  const counted = syncs === null ? ['not counted: no strace here', '—'] : [grouped(syncs), met(syncs <= 1)];
  return section(
    'Durable recording',
    "`durability: 'fsync'`, 64 events with a flush each.",
    table(
      ['way', 'µs an event'],
      rows.map(([title, micros]) => [title, micros.toFixed(0)]),
    ),
    `Flushes that are asked for in one turn of the event loop wait together; those that come while a sync is under way share the next.`,
    table(
      ['target', '', 'measured', 'met'],
      [
        ['syncs that the system saw for 64 flushes waiting together', '1', ...counted],
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
    `An image in base64, recorded and flushed: peak memory over what the process had with the image already there, in copies
of the image. Beyond what \`JSON.stringify\` takes a payload is to be copied twice at most: V8 makes one piece of the text, which
\`JSON.stringify\` left in several, and Rust takes that.`,
    table(
      ['way', 'copies'],
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
