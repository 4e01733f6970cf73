'use strict'

const UNKNOWN_TYPE = /^Line \d+: unknown event type /
/** What a conversion of another program's session warns of that is no damage. */
const INTERLEAVED = /^interleaved branches: /

const NOT_SHOWN = /^Replay: (\d+) further warnings not shown$/

/**
 * Separates the warnings of a replay into damage and notes. An event of an unknown type was written by a newer program, and is not damage. Warnings
 * beyond the first hundred are only counted; the number of unknown events in the tally decides whether there is damage among them.
 *
 * @type {(warnings: string[], tally: { unknown: number }) => { damage: string[], notes: string[] }}
 */
function soundness(warnings, { unknown }) {
  const unknownTypes = warnings.filter((text) => UNKNOWN_TYPE.test(text))
  const notes = [...unknownTypes, ...warnings.filter((text) => INTERLEAVED.test(text))]
  const others = warnings.filter((text) => !UNKNOWN_TYPE.test(text) && !INTERLEAVED.test(text))
  /** @type {(text: string) => boolean} */
  const isHarmless = (text) => Number(NOT_SHOWN.exec(text)?.[1]) === unknown - unknownTypes.length
  return { damage: others.filter((text) => !isHarmless(text)), notes: [...notes, ...others.filter(isHarmless)] }
}

module.exports = { soundness }
