// A test suite that replaces `Date` replaces the clock, not how a time is printed.
import { RealDate } from './builtins.js'

/** The last millisecond, before and after 1970, that a `Date` can represent. */
const LAST_MILLISECOND = 8.64e15

let milliseconds: number | undefined
let printed = ''

/**
 * The text of a time in milliseconds since 1970, exactly as the addon prints it into a record: what `toISOString` prints, and the nearest
 * time that a `Date` can represent for any other. Many records share a millisecond, so the last text is kept.
 */
export function timestamp(time: number): string {
  if (time !== milliseconds) {
    const nearest = time >= -LAST_MILLISECOND ? Math.min(time, LAST_MILLISECOND) : time < 0 ? -LAST_MILLISECOND : 0
    printed = new RealDate(nearest).toISOString()
    milliseconds = time
  }
  return printed
}
