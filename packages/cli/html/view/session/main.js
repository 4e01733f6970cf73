// Builds the page.

const KEYS = [[['j', 'k'], 'next, previous'], ['h', 'next in the history'], ['e', 'next failure'], ['/', 'search'], ['Esc', 'all records']]

function start() {
  const page = new Conversation()
  document.body.dataset.kind = 'session'
  const list = new Rows(page)
  const search = new Search(page, list)
  const strip = new Strip(page, list)
  const bar = el('div.bar', el('div.tools', search.element), strip.element)
  document.body.append(headView(page), bar, withAttributes(el('main', list.element), { 'aria-label': 'Conversation' }), footer(KEYS, page.libraries))
  list.onChange = () => requestAnimationFrame(() => strip.update())
  list.onMissing = () => search.clear()
  search.apply()
  listenToKeys(list, search, { h: () => toNext(page, list, IN_HISTORY), e: () => toNext(page, list, FAILED) })
  printWell(list, { centre: () => list.current, around: 'the current one' })
  listenToLinks(list)
  if (page.served) begin(page, list, search, strip)
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

function begin(page, list, search, strip) {
  const state = withAttributes(el('output.live'), { 'aria-live': 'polite' })
  search.element.append(state)
  const says = { live: '● live', lost: 'the server has ended' }
  follow(page, (news) => take(news, { page, list, search, strip }), (name) => {
    state.textContent = says[name]
    state.classList.toggle('lost', name === 'lost')
  })
}

/** Adds what was recorded since. If the end of the page was in view, it stays in view. */
function take(news, { page, list, search, strip }) {
  const isAtEnd = innerHeight + scrollY > document.documentElement.scrollHeight - 80
  const from = page.rows.length
  for (const url of news.images) page.addImage(url)
  for (const payload of news.payloads) page.addPayload(payload)
  page.addRows(news.rows, news.types, news.speakers)
  for (const call of news.calls) page.addCall(call)
  for (const [line, flags, removedBy] of news.changed) changeRow(page, line, flags, removedBy)
  page.removals = undefined
  page.summarize(news.summary)
  const test = search.test()
  for (let row = from; row < page.rows.length; row++) if (test(row)) list.append(list.list, row)
  const again = new Set([...news.changed.map(([line]) => line), ...news.calls.flatMap(([, line]) => [line])].map((line) => page.rowOf.get(line)))
  for (const row of again) if (row !== undefined && row < from) list.refresh(row)
  document.querySelector('header.top').replaceWith(headView(page))
  strip.draw()
  if (isAtEnd) scrollTo({ top: document.documentElement.scrollHeight })
}

function changeRow(page, line, flags, removedBy) {
  const row = page.rowOf.get(line)
  if (row !== undefined) Object.assign(page.rows[row], { flags, removedBy })
}

withIslands(start)
