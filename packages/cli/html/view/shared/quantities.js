// Formats times. All of them are UTC, as in the recording.

/** A length of time in its two largest units: `2 d 3 h`, `6 min 2 s`, `340 ms`. */
function lengthOf(ms) {
  if (ms < 1000) return `${Math.round(ms)} ms`
  if (ms < 10_000) return `${(ms / 1000).toFixed(1).replace('.0', '')} s`
  const seconds = Math.round(ms / 1000)
  const parts = [
    [Math.floor(seconds / 86400), 'd'],
    [Math.floor(seconds / 3600) % 24, 'h'],
    [Math.floor(seconds / 60) % 60, 'min'],
    [seconds % 60, 's'],
  ]
  const first = parts.findIndex(([count]) => count > 0)
  return parts
    .slice(first, first + 2)
    .filter(([count]) => count > 0)
    .map(([count, unit]) => `${count} ${unit}`)
    .join(' ')
}

const isoOf = (ms) => (Math.abs(ms) <= 8.64e15 ? new Date(ms).toISOString() : '')
const clockOf = (ms) => isoOf(ms).slice(11, 19)
const dayOf = (ms) => isoOf(ms).slice(0, 10)
