// Keyboard control: j and k or the arrows, Enter, d, / and Escape.

function listenToKeys(timeline, search, toDivergence) {
  const keys = {
    j: () => timeline.step(1),
    k: () => timeline.step(-1),
    d: toDivergence,
    '/': () => search.input.focus(),
  }
  // Outside of the timeline the arrows scroll.
  const rowKeys = {
    ArrowDown: keys.j,
    ArrowUp: keys.k,
    Home: () => timeline.jump(timeline.shown[0]),
    End: () => timeline.jump(timeline.shown.at(-1)),
  }
  document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return
    if (event.key === 'Escape') return leave(timeline, search)
    if (event.target.closest('input, select, textarea')) return
    const act = keys[event.key] ?? (event.target.closest('.line') ? rowKeys[event.key] : undefined)
    if (!act) return
    event.preventDefault()
    act()
  })
}

/** Shows all events again, at the current row. */
function leave(timeline, search) {
  if (!search.isActive) return
  const { current } = timeline
  search.clear()
  timeline.jump(current)
}
