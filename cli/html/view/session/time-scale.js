// The positions of records on the time line, from 0 to 1. Long waits are shortened, so that the rest stays readable.

const SHORTEST_WAIT = 60_000

class TimeScale {
  /** By row: the positions of a record, and of the one before it. */
  ends
  /** `[position before, position behind, ms]` of each shortened wait. */
  waits = []

  constructor(rows) {
    const steps = stepsOf(rows)
    const longest = longestStep(steps)
    this.ends = new Float64Array(rows.length)
    this.times = new Float64Array(rows.length)
    let [position, time] = [0, rows.find(({ at }) => at !== null)?.at ?? 0]
    for (const [row, step] of steps.entries()) {
      if (step > longest) this.waits.push([position, position + longest, step])
      position += Math.min(step, longest)
      time += step
      this.ends[row] = position
      this.times[row] = time
    }
    this.hasTimes = position > 0
    this.#normalize(position, rows.length)
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

/** The time between each record and the one before it. A record without a time, or with one that goes back, takes none. */
function stepsOf(rows) {
  let latest = null
  return rows.map(({ at }) => {
    if (at === null) return 0
    const step = latest === null ? 0 : Math.max(at - latest, 0)
    latest = latest === null ? at : Math.max(latest, at)
    return step
  })
}

function longestStep(steps) {
  const sorted = steps.filter((step) => step > 0).sort((a, b) => a - b)
  const usual = sorted[Math.floor(sorted.length * 0.9)] ?? 0
  return Math.max(SHORTEST_WAIT, usual * 6)
}
