// Builds the page.

const KEYS = [
  [['j', 'k'], 'next, previous'],
  ['h', 'next in the history'],
  ['e', 'next failure'],
  ['/', 'search'],
  ['Esc', 'all records'],
]

function start() {
  const page = new Conversation()
  document.body.dataset.kind = 'session'
  const list = new Rows(page)
  const search = new Search(page, list)
  const strip = new Strip(page, list)
  const bar = el('div.bar', el('div.tools', search.element), strip.element)
  document.body.append(
    headView(page),
    bar,
    withAttributes(el('main', list.element), { 'aria-label': 'Conversation' }),
    footer(KEYS, page.libraries),
  )
  list.onChange = () => requestAnimationFrame(() => strip.update())
  list.onMissing = () => search.clear()
  search.apply()
  listenToKeys(list, search, { h: () => toNext(page, list, IN_HISTORY), e: () => toNext(page, list, FAILED) })
  printWell(list, { centre: () => list.current, around: 'the current one' })
  listenToLinks(list)
}

/** Goes to the next shown row with a flag, or to the first. */
function toNext(page, list, flag) {
  const found = list.shown.filter((row) => page.has(row, flag))
  const next = found.find((row) => row > list.current) ?? found[0]
  if (next !== undefined) list.jump(next, 'start')
}

/** Follows links to lines, both those in the page and the one in its address. */
function listenToLinks(list) {
  const follow = () => {
    const line = /^#line-(\d+)$/.exec(location.hash)?.[1]
    if (line !== undefined) list.jumpToLine(Number(line))
  }
  addEventListener('hashchange', follow)
  // A click on a link to the line in the address does not change the address.
  document.addEventListener('click', ({ target }) => {
    const link = target.closest?.('a[href^="#line-"]')
    if (link && link.getAttribute('href') === location.hash) follow()
  })
  history.scrollRestoration = 'manual'
  follow()
}

withIslands(start)
