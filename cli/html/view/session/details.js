// Parts that can be opened. What was opened stays open when its row is made again, and is built only when it is shown.

const openParts = new Set()

/** @param {() => (Node | string)[]} build makes the content */
function details(key, summary, build) {
  const element = el('details', summary)
  const fill = () => {
    if (element.childElementCount === 1) element.append(...build())
  }
  if (openParts.has(key)) {
    element.open = true
    fill()
  }
  element.addEventListener('toggle', () => {
    if (element.open) openParts.add(key)
    else openParts.delete(key)
    if (element.open) fill()
  })
  return element
}
