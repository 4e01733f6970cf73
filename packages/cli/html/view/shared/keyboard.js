// Keyboard control of a list and its search: j and k or the arrows, Enter, / and Escape.

/**
 * @param list a {@link WindowedList}
 * @param {{ input: HTMLElement, isActive: boolean, clear: () => void }} search
 * @param {Record<string, () => void>} more further keys
 */
function listenToKeys(list, search, more) {
  const keys = {
    j: () => list.step(1),
    k: () => list.step(-1),
    '/': () => search.input.focus(),
    ...more,
  }
  // Outside of the list the arrows scroll.
  const rowKeys = {
    ArrowDown: keys.j,
    ArrowUp: keys.k,
    Home: () => list.jump(list.shown[0]),
    End: () => list.jump(list.shown.at(-1)),
  }
  document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return
    if (event.key === 'Escape') return leave(list, search)
    if (event.target.closest('input, select, textarea')) return
    const act = keys[event.key] ?? (event.target.matches('.line') ? rowKeys[event.key] : undefined)
    if (!act) return
    event.preventDefault()
    act()
  })
}

/** Shows all rows again, at the current one. */
function leave(list, search) {
  if (!search.isActive) return
  const { current } = list
  search.clear()
  list.jump(current)
}
