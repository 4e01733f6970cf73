/** Recording sessions, all runtimes side by side. */
import { grouped, section, times } from './format.mjs'
import { sideBySide } from './side-by-side.mjs'

const THREAD_TARGET = 1.3

export function recordingReport(runtimes) {
  const [{ events, lineBytes }] = runtimes[0].figures
  return section(
    'Recording',
    `${grouped(events)} events, ${Math.round(lineBytes)} bytes per line, 100 in each turn of the event loop, until everything is passed to the
operating system. *Thread* is the processor time of the JavaScript thread, callbacks and garbage collection included.`,
    sideBySide('target', runtimes, targetRows(runtimes)),
    'Events per second:',
    sideBySide(
      'method',
      runtimes,
      wayRows(runtimes, (row) => (row.writesNothing ? '—' : grouped(Math.round(row.perSecond / 100) * 100))),
    ),
    'Microseconds per event: the time that the caller spends in the call / *thread*:',
    sideBySide(
      'method',
      runtimes,
      wayRows(runtimes, (row) => `${row.callMicros.toFixed(1)} / ${row.threadMicros.toFixed(1)}`),
    ),
  )
}

function targetRows(runtimes) {
  return runtimes[0].figures.flatMap(({ name, alphabet, rivals }) => {
    const of = (figures) => figures.find((one) => one.name === name)
    const rivalOf = (rival) => (figures) => of(figures)?.rivals.find(({ title }) => title === rival)?.speedup
    const against = {
      title: `thread, against \`JSON.stringify\` of the envelope alone, ${alphabet}`,
      target: `≤ ${THREAD_TARGET}×`,
      of: (figures) => of(figures)?.threadRatio,
      show: times,
      isMet: ({ median }) => median <= THREAD_TARGET,
    }
    const ahead = rivals.map(({ title }) => ({
      title: `events/s, against ${title} at its fastest, ${alphabet}`,
      target: '> 1×',
      of: rivalOf(title),
      show: times,
      isMet: ({ median }) => median > 1,
    }))
    return [against, ...ahead]
  })
}

/** A row for each way to record, of each workload. */
function wayRows(runtimes, show) {
  return runtimes[0].figures.flatMap(({ name, alphabet, rows }) =>
    rows.map((row) => ({
      title: `${row.title}, ${alphabet}`,
      of: (figures) => figures.find((one) => one.name === name)?.rows.find((one) => one.name === row.name),
      show,
    })),
  )
}
