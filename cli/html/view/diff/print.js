// Printing: shows the rows around the divergence, and the number of the others.

const PRINTED = 400

function printWell(page, timeline) {
  let before = null
  addEventListener('beforeprint', () => {
    before = timeline.shown
    const centre = Math.max(before.findIndex((row) => row >= page.divergenceRow), 0)
    const from = Math.max(Math.min(centre - PRINTED / 2, before.length - PRINTED), 0)
    const printed = before.slice(from, from + PRINTED)
    timeline.show(printed)
    timeline.fillAll()
    if (printed.length < before.length) timeline.element.prepend(el('p.note.print-note', `Rows ${from + 1} to ${from + printed.length} of ${before.length.toLocaleString('en-US')}, around the divergence.`))
  })
  addEventListener('afterprint', () => {
    timeline.element.querySelector('.print-note')?.remove()
    timeline.show(before)
  })
}
