'use strict'

const UNKNOWN_TYPE = /^Line \d+: unknown event type /
const NOT_SHOWN = /^Replay: (\d+) further warnings not shown$/

/**
 * Parts a replay's warnings into damage and notes. An event of a type that replay does not know is what a newer program wrote: worth a note,
 * and no damage. Beyond a hundred, warnings are only counted; whether there is damage among those, the tally's count of such events tells.
 */
function soundness(warnings, { unknown }) {
  const notes = warnings.filter((text) => UNKNOWN_TYPE.test(text))
  const others = warnings.filter((text) => !UNKNOWN_TYPE.test(text))
  const isHarmless = (text) => Number(NOT_SHOWN.exec(text)?.[1]) === unknown - notes.length
  return { damage: others.filter((text) => !isHarmless(text)), notes: [...notes, ...others.filter(isHarmless)] }
}

module.exports = { soundness }
