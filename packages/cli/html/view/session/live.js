// Functions of a served page only: it requests complete records.

/** The payload of a record without cuts, as `[value, cuts, images]`. */
const wholePayload = ({ served, rows }, row) => fetchJson(`${served.path}record?line=${rows[row].line}`)

/** The number of records per request. */
const BATCH = 40
const requested = new Set()

/** Requests the records around a row of which the page has only an excerpt. */
function requestPayload(page, row, onArrival) {
  const from = row - (row % BATCH)
  if (requested.has(from)) return
  requested.add(from)
  const to = Math.min(from + BATCH, page.rows.length) - 1
  const lines = `from=${page.rows[from].line}&to=${page.rows[to].line}`
  fetchJson(`${page.served.path}records?${lines}`).then(
    (found) => {
      const rows = found.map(([line]) => page.rowOf.get(line))
      for (const [at, [, payload]] of found.entries()) page.setWhole(rows[at], payload)
      onArrival(rows)
    },
    () => requested.delete(from),
  )
}

/** Resolves to the lines of all records that contain a text. */
const linesWith = (page, text) => fetchJson(`${page.served.path}search?text=${encodeURIComponent(text)}`)

async function fetchJson(address) {
  const response = await fetch(address)
  if (!response.ok) throw new Error(`the server answered ${response.status}`)
  return response.json()
}
