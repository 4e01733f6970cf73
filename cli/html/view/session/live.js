// What only a page can do that is served: it asks for whole records, and follows a recording that grows.

/** The payload of a record without cuts, as `[value, cuts, images]`. */
const wholePayload = ({ served, rows }, row) => fetchJson(`${served.path}record?line=${rows[row].line}`)

/** The number of records that are asked for at once. */
const BATCH = 40
const requested = new Set()

/** Asks for the records around a row of which the page has only an excerpt. */
function requestPayload(page, row, onArrival) {
  const from = row - (row % BATCH)
  if (requested.has(from)) return
  requested.add(from)
  const to = Math.min(from + BATCH, page.rows.length) - 1
  const lines = `from=${page.rows[from].line}&to=${page.rows[to].line}`
  fetchJson(`${page.served.path}records?${lines}`).then((found) => {
    const rows = found.map(([line]) => page.rowOf.get(line))
    for (const [at, [, payload]] of found.entries()) page.setWhole(rows[at], payload)
    onArrival(rows)
  }, () => requested.delete(from))
}

/** The lines of all records that hold a text. */
const linesWith = (page, text) => fetchJson(`${page.served.path}search?text=${encodeURIComponent(text)}`)

async function fetchJson(address) {
  const response = await fetch(address)
  if (!response.ok) throw new Error(`the server answered ${response.status}`)
  return response.json()
}

/** @param {(news: object) => void} onNews called with the rows, calls and totals that are new */
function follow({ served }, onNews, onState) {
  const source = new EventSource(`${served.path}news?from=${served.lines}&images=${served.images}`)
  source.addEventListener('news', ({ data }) => onNews(JSON.parse(data)))
  source.addEventListener('replaced', () => location.reload())
  source.addEventListener('open', () => onState('live'))
  source.addEventListener('error', () => onState('lost'))
}
