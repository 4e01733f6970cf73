// Lines of the log: their text, and the hashes that chain them.

import { sha256 } from './canonical.mjs';

/** What stands for the hash of the event before the first. */
export const NO_HASH = '0'.repeat(64);

/** The bytes of a payload as they stand in a line: what other programs take for the end of a line is escaped. */
export function payloadText(payload) {
  return JSON.stringify(payload).replaceAll('\u2028', '\\u2028').replaceAll('\u2029', '\\u2029');
}

/**
 * The line of an event, without its end, and its hash. `event` has `time`, `ts`, `kind`, `node`, `parent`, `stateHash`, `salt` (32 hex digits) and
 * `payload`, a JSON text.
 */
export function sealedLine(event, previousHash) {
  const { time, ts, kind, node, parent, stateHash, salt, payload } = event;
  const payloadHash = event.payloadHash ?? sha256(Buffer.from(salt, 'hex'), payload);
  const head = JSON.stringify({ v: 1, time, ts, kind, node, parent, payloadHash, stateHash }).slice(0, -1);
  const hash = sha256(previousHash, '\n', head);
  return { line: `${head},"hash":"${hash}","salt":"${salt}","payload":${payload}}`, hash };
}

/** What stands in a line, for `sealedLine`: the payload as the text that it is. */
export function openedLine(line) {
  const { hash, salt, payload, ...event } = JSON.parse(line);
  const marker = '"payload":';
  return { event: { ...event, salt, payload: line.slice(line.indexOf(marker) + marker.length, -1) }, hash };
}

/** Lines whose events were changed, chained anew. A payload's hash is that of the payload, unless `payloadHash` is given. */
export function rechained(events) {
  let previous = NO_HASH;
  return events.map((event) => {
    const { line, hash } = sealedLine(event, previous);
    previous = hash;
    return line;
  });
}
