/** The memory of results that are dropped. */
import { section, table, met, size, megabytes } from './format.mjs'

const LIMIT = 400e6

export function droppedReport({ replays, replay, items }) {
  const isLimited = replay.tape.isLimited && items.tape.isLimited
  const row = (what, { bytes, tape, plain }) => [
    what,
    megabytes(bytes),
    ...[tape, plain].map(peakOf),
    met(!tape.killed && tape.peak <= LIMIT),
  ]
  return section(
    'Results that are dropped',
    `The peak of the whole process, ${isLimited ? 'which the system ends if it takes more than' : 'for which there may be'} ${megabytes(LIMIT)}. Items have 50 KB each.`,
    table(
      ['what', 'file', 'session-tape', 'plain engine or readline', 'met'],
      [row(`${replays} replays, one after the other`, replay), row('`for await` over an opened session', items)],
    ),
  )
}

const peakOf = ({ killed, peak }) => (killed ? '**killed**' : size(peak))
