// The positions of records or events on a time line, from 0 to 1. Long waits are shortened, so that the rest stays readable.

const SHORTEST_WAIT = 60_000
const SAMPLE = 20_000

class TimeScale {
  /** `[start position, end position, ms]` of each shortened wait. */
  waits = []

  /** @param {ArrayLike<number>} times in milliseconds; NaN where there is none */
  constructor(times) {
    const count = times.length
    const steps = stepsOf(times)
    const longest = longestStep(steps)
    this.ends = new Float64Array(count)
    this.times = new Float64Array(count)
    let [position, time] = [0, firstTime(times)]
    for (let row = 0; row < count; row++) {
      const step = steps[row]
      if (step > longest) this.waits.push([position, position + longest, step])
      position += Math.min(step, longest)
      time += step
      this.ends[row] = position
      this.times[row] = time
    }
    this.hasTimes = position > 0
    this.#normalize(position, count)
  }

  /** Without times, records are at equal distances. */
  #normalize(length, count) {
    for (let row = 0; row < count; row++) this.ends[row] = this.hasTimes ? this.ends[row] / length : (row + 1) / count
    this.waits = this.waits.map(([from, to, ms]) => [from / length, to / length, ms])
  }

  startOf(row) {
    return row === 0 ? 0 : this.ends[row - 1]
  }

  endOf(row) {
    return this.ends[row]
  }

  /** The first row that ends at a position or later. */
  rowAt(position) {
    let [from, to] = [0, this.ends.length - 1]
    while (from < to) {
      const middle = (from + to) >> 1
      if (this.ends[middle] < position) from = middle + 1
      else to = middle
    }
    return Math.max(from, 0)
  }
}

function firstTime(times) {
  for (let row = 0; row < times.length; row++) if (!Number.isNaN(times[row])) return times[row]
  return 0
}

/** The time between each record and the one before it. It is 0 for a record without a time, or with an earlier time than a previous record. */
function stepsOf(times) {
  const steps = new Float64Array(times.length)
  let latest = NaN
  for (let row = 0; row < times.length; row++) {
    const at = times[row]
    if (Number.isNaN(at)) continue
    steps[row] = at > latest ? at - latest : 0
    latest = Math.max(at, latest)
  }
  return steps
}

/** The longest step that is not shortened, in milliseconds. If there are many steps, it is derived from a sample. */
function longestStep(steps) {
  const stride = Math.ceil(steps.length / SAMPLE)
  const sorted = Float64Array.from({ length: Math.floor(steps.length / stride) || 0 }, (_, at) => steps[at * stride])
    .filter((step) => step > 0)
    .sort()
  const usual = sorted[Math.floor(sorted.length * 0.9)] ?? 0
  return Math.max(SHORTEST_WAIT, usual * 6)
}
