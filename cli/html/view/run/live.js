// What only a page can do that is served: it asks the engine for states and payloads, and follows a run that is being recorded.

async function fetchJson(address) {
  const response = await fetch(address)
  if (!response.ok) throw new Error(`the server answered ${response.status}`)
  return response.json()
}

const eventPayload = ({ served, first }, event) => fetchJson(`${served.path}event?at=${event + first}`)
const stateAt = ({ served, first }, event) => fetchJson(`${served.path}state?at=${event + first}`)
/** The logical times of the events whose payload holds a text. */
const eventsWith = ({ served }, text) => fetchJson(`${served.path}search?text=${encodeURIComponent(text)}`)

/** Calls a function when what is there now has been painted. */
const afterPaint = (begin) => requestAnimationFrame(() => requestAnimationFrame(() => begin()))

function follow({ served, verification }, onNews, onState) {
  const source = new EventSource(`${served.path}news?from=${served.events}&verified=${verification !== null}`)
  source.addEventListener('news', ({ data }) => onNews(JSON.parse(data)))
  source.addEventListener('replaced', () => location.reload())
  source.addEventListener('open', () => onState('live'))
  source.addEventListener('error', () => onState('lost'))
}
