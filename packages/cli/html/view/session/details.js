// Parts that can be opened. Their content is built when it is first shown, and open parts stay open when their row is rebuilt.

const openParts = new Set()

/** @param {() => (Node | string)[]} build returns the content */
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
