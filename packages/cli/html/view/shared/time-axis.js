// The labels below a time line. Those for which there is no room are left out; the first and the last one are kept longest.

/** The smallest distance between labels, in pixels. */
const LABEL_GAP = 8

class TimeAxis {
  #labels = []

  constructor() {
    this.element = withAttributes(el('div.axis'), { 'aria-hidden': 'true' })
    new ResizeObserver(() => this.#fit()).observe(this.element)
  }

  /** @param {[position: number, ms: number][]} times positions from 0 to 1, in order. A time is shown with its day if the label before it is of another day. */
  showTimes(times) {
    this.#show(times.map(([position, ms]) => ({ position, day: dayOf(ms), text: clockOf(ms) })))
  }

  /** @param {string[]} texts of the two ends */
  showEnds(texts) {
    this.#show(texts.map((text, position) => ({ position, day: '', text })))
  }

  #show(labels) {
    const last = labels.length - 1
    this.#labels = labels.map((label, at) => {
      const element = el(at === 0 ? 'span.first' : at === last ? 'span.last' : 'span')
      element.style.left = `${label.position * 100}%`
      return { ...label, element }
    })
    this.element.replaceChildren(...this.#labels.map(({ element }) => element))
    this.#fit()
  }

  #fit() {
    if (this.#labels.length === 0 || this.element.clientWidth === 0) return
    const [first, ...others] = this.#labels
    const last = others.pop()
    // Measured with its day if that is not the first label's: the label before it is not known yet.
    const end = last && edgesOf(last, first.day)
    let [right, day] = [edgesOf(first, '').right, first.day]
    for (const label of others) {
      const edges = edgesOf(label, day)
      label.element.hidden = edges.left < right + LABEL_GAP || edges.right > end.left - LABEL_GAP
      if (!label.element.hidden) [right, day] = [edges.right, label.day]
    }
    if (!last) return
    last.element.textContent = textBehind(last, day)
    last.element.hidden = end.left < right + LABEL_GAP
  }
}

const textBehind = ({ day, text }, dayBefore) => (day === dayBefore ? text : `${day} ${text}`)

function edgesOf(label, dayBefore) {
  const { element } = label
  element.hidden = false
  element.textContent = textBehind(label, dayBefore)
  return element.getBoundingClientRect()
}
