// What only a page can do that is served: it asks for whole records, and follows a recording that grows.

/** The payload of a record without cuts, as `[value, cuts, images]`. */
async function wholePayload({ served, rows }, row) {
  const response = await fetch(`${served.path}record?line=${rows[row].line}`)
  if (!response.ok) throw new Error(`the server answered ${response.status}`)
  return response.json()
}

/** @param {(news: object) => void} onNews called with the rows, calls and totals that are new */
function follow({ served }, onNews, onState) {
  const source = new EventSource(`${served.path}news?from=${served.lines}`)
  source.addEventListener('news', ({ data }) => onNews(JSON.parse(data)))
  source.addEventListener('replaced', () => location.reload())
  source.addEventListener('open', () => onState('live'))
  source.addEventListener('error', () => onState('lost'))
}
