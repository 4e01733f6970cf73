// The longest line of a session file. A replay reads no longer one: it could not become a JavaScript value.

import { Buffer } from 'node:buffer'
import { stringify, withFields } from '../builtins.js'

const MAX_LINE_BYTES = 0x1fffffe8

/** More than a line has besides its type and its payload. */
const ENVELOPE_BYTES = 128

/** A character becomes six bytes at most. Shorter texts need not be measured. */
const SHORT_LENGTH = Math.floor((MAX_LINE_BYTES - ENVELOPE_BYTES) / 6)

/** Throws if the line of a record is too long to be read again. */
export function expectLine(type: string, text: string | undefined): void {
  if (type.length + (text?.length ?? 0) > SHORT_LENGTH) new LineSize(type).add(text ?? '')
}

/** How often a character is in a text that is escaped in the file. */
function countOf(character: string, text: string): number {
  let count = 0
  for (let at = text.indexOf(character); at >= 0; at = text.indexOf(character, at + 1)) count++
  return count
}

/** The size of a line whose payload comes in parts. */
export class LineSize {
  #bytes: number

  constructor(type: string) {
    this.#bytes = ENVELOPE_BYTES + Buffer.byteLength(stringify(type))
  }

  /** Throws if the line is too long with this part. */
  add(text: string): void {
    this.#bytes += Buffer.byteLength(text) + 3 * (countOf('\u2028', text) + countOf('\u2029', text))
    if (this.#bytes <= MAX_LINE_BYTES) return
    const message = `Cannot record: the line would be longer than ${MAX_LINE_BYTES} bytes, and no replay could read it`
    throw withFields(new Error(message), { code: 'RecordTooLong' })
  }
}
