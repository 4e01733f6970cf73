// Lines of the log: their text, and the hashes that chain them.

import { sha256 } from './canonical.mjs'

/** Used as the previous hash of the first event. */
export const NO_HASH = '0'.repeat(64)

/** The text of a payload in a line: characters that other programs take for the end of a line are escaped. */
export function payloadText(payload) {
  return JSON.stringify(payload).replaceAll('\u2028', '\\u2028').replaceAll('\u2029', '\\u2029')
}

/**
 * The line of an event, without its end, and its hash. `event` has `time`, `ts`, `kind`, `node`, `parent`, `stateHash`, `salt` (32 hex digits) and
 * `payload`, a JSON text.
 */
export function sealedLine(event, previousHash) {
  const { time, ts, kind, node, parent, stateHash, salt, payload } = event
  const payloadHash = event.payloadHash ?? sha256(Buffer.from(salt, 'hex'), payload)
  const head = JSON.stringify({ v: 1, time, ts, kind, node, parent, payloadHash, stateHash }).slice(0, -1)
  const hash = sha256(previousHash, '\n', head)
  return { line: `${head},"hash":"${hash}","salt":"${salt}","payload":${payload}}`, hash }
}

/** The hash of a line and its event, as `sealedLine` takes it: with the payload as the original text. */
export function openedLine(line) {
  const { hash, salt, payload, ...event } = JSON.parse(line)
  const marker = '"payload":'
  return { event: { ...event, salt, payload: line.slice(line.indexOf(marker) + marker.length, -1) }, hash }
}

/** The lines of changed events, chained again. The hash of a payload is recomputed, unless `payloadHash` is given. */
export function rechained(events) {
  let previous = NO_HASH
  return events.map((event) => {
    const { line, hash } = sealedLine(event, previous)
    previous = hash
    return line
  })
}
