'use strict'

const UNKNOWN_TYPE = /^Line \d+: unknown event type /
const NOT_SHOWN = /^Replay: (\d+) further warnings not shown$/

/**
 * Separates the warnings of a replay into damage and notes. An event of an unknown type was written by a newer program, and is not damage. Warnings
 * beyond the first hundred are only counted; the number of unknown events in the tally decides whether there is damage among them.
 */
function soundness(warnings, { unknown }) {
  const notes = warnings.filter((text) => UNKNOWN_TYPE.test(text))
  const others = warnings.filter((text) => !UNKNOWN_TYPE.test(text))
  const isHarmless = (text) => Number(NOT_SHOWN.exec(text)?.[1]) === unknown - notes.length
  return { damage: others.filter((text) => !isHarmless(text)), notes: [...notes, ...others.filter(isHarmless)] }
}

module.exports = { soundness }
