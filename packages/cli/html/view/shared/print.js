// Printing: shows the rows around one of them, and the number of the others.

const PRINTED = 400

/** @param {{ centre: () => number, around: string }} options `around` names the row in the middle, for the note */
function printWell(list, { centre, around }) {
  let before = null
  addEventListener('beforeprint', () => {
    before = list.shown
    const middle = Math.max(
      before.findIndex((row) => row >= centre()),
      0,
    )
    const from = Math.max(Math.min(middle - PRINTED / 2, before.length - PRINTED), 0)
    const printed = before.slice(from, from + PRINTED)
    list.show(printed)
    list.fillAll()
    if (printed.length < before.length)
      list.element.prepend(
        el(
          'p.note.print-note',
          `Rows ${from + 1} to ${from + printed.length} of ${before.length.toLocaleString('en-US')}, around ${around}.`,
        ),
      )
  })
  addEventListener('afterprint', () => {
    list.element.querySelector('.print-note')?.remove()
    list.show(before)
  })
}
