// Formats times. All of them are UTC, as in the recording.

import { duration } from '../../quantities.js'

/** A length of time in its two largest units; short ones with a fraction. */
export const lengthOf = (ms) =>
  ms >= 1000 && ms < 10_000 ? `${(ms / 1000).toFixed(1).replace('.0', '')} s` : duration(ms)

export const isoOf = (ms) => (Math.abs(ms) <= 8.64e15 ? new Date(ms).toISOString() : '')
export const clockOf = (ms) => isoOf(ms).slice(11, 19)
export const dayOf = (ms) => isoOf(ms).slice(0, 10)
