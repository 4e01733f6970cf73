// Functions of a served page only: it requests states and payloads from the engine, and follows a run that is being recorded.

async function fetchJson(address) {
  const response = await fetch(address)
  if (!response.ok) throw new Error(`the server answered ${response.status}`)
  return response.json()
}

const eventPayload = ({ served, first }, event) => fetchJson(`${served.path}event?at=${event + first}`)
const stateAt = ({ served, first }, event) => fetchJson(`${served.path}state?at=${event + first}`)
/** Resolves to the logical times of the events whose payload contains a text. */
const eventsWith = ({ served }, text) => fetchJson(`${served.path}search?text=${encodeURIComponent(text)}`)

/** Calls a function after the current content has been painted. */
const afterPaint = (begin) => requestAnimationFrame(() => requestAnimationFrame(() => begin()))

function follow({ served, verification }, onNews, onState) {
  const source = new EventSource(`${served.path}news?from=${served.events}&verified=${verification !== null}`)
  source.addEventListener('news', ({ data }) => onNews(JSON.parse(data)))
  source.addEventListener('replaced', () => location.reload())
  source.addEventListener('open', () => onState('live'))
  source.addEventListener('error', () => onState('lost'))
}
