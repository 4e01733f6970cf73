// One character of any plane, as `unit` of `fc.string`. Yields the same strings as fast-check's 'binary'.

import * as fc from 'fast-check'

const SURROGATES = { first: 0xd800, count: 0x800 }

/**
 * fast-check's own unit builds a table of all 1 112 064 characters, to find out whether strings such as `__proto__` can be made of them: a
 * second of work and 100 MB in each spec file. Arithmetic needs neither.
 */
export const codePoint = fc.nat({ max: 0x10ffff - SURROGATES.count }).map(
  (index) => String.fromCodePoint(index < SURROGATES.first ? index : index + SURROGATES.count),
  (text) => {
    const point = typeof text === 'string' ? text.codePointAt(0) : undefined
    if (point === undefined || text !== String.fromCodePoint(point)) throw new Error('not one character')
    if (point >= SURROGATES.first && point < SURROGATES.first + SURROGATES.count) throw new Error('half a character')
    return point < SURROGATES.first ? point : point - SURROGATES.count
  },
)
