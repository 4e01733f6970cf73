// Functions of a served page only: it requests the verification, states and payloads from the engine.

async function fetchJson(address) {
  const response = await fetch(address)
  if (!response.ok) throw new Error(`the server answered ${response.status}`)
  return response.json()
}

const verificationOf = ({ served }) => fetchJson(`${served.path}verification`)
const eventPayload = ({ served, first }, event) => fetchJson(`${served.path}event?at=${event + first}`)
const stateAt = ({ served, first }, event) => fetchJson(`${served.path}state?at=${event + first}`)
/** Resolves to the logical times of the events whose payload contains a text. */
const eventsWith = ({ served }, text) => fetchJson(`${served.path}search?text=${encodeURIComponent(text)}`)

/** Calls a function after the current content has been painted. */
const afterPaint = (begin) => requestAnimationFrame(() => requestAnimationFrame(() => begin()))
