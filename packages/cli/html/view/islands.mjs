// The data of the page, and what it asks its server for. Long data is compressed: a browser takes longer to read a long document than to unpack a
// short one.

const unpacked = new Map()

export const islandText = (id) => unpacked.get(id) ?? document.getElementById(id).textContent

/** Splits an island that has each item on a line of its own. */
export function islandLines(id) {
  const text = islandText(id).slice(2, -2)
  return text === '' ? [] : text.split(',\n')
}

/** Calls `begin` with the page's data when all of it can be read: at once if nothing is compressed. */
export async function withIslands(begin) {
  const packed = [...document.querySelectorAll('script[data-packed]')]
  if (packed.length > 0) {
    if (typeof DecompressionStream === 'undefined')
      return document.body.append('This browser cannot unpack the data of the page. A newer one can.')
    await Promise.all(packed.map(async ({ id, textContent }) => unpacked.set(id, await inflated(textContent))))
  }
  return begin(JSON.parse(islandText('page-data')))
}

async function inflated(base64) {
  const stream = new Blob([bytesOf(base64)]).stream().pipeThrough(new DecompressionStream('deflate'))
  return new Response(stream).text()
}

export function bytesOf(base64) {
  if (typeof Uint8Array.fromBase64 === 'function') return Uint8Array.fromBase64(base64)
  return Uint8Array.from(atob(base64), (char) => char.charCodeAt(0))
}

/** Asks the server that the page comes from. */
export async function fetchJson(path, query = {}) {
  const response = await fetch(`${path}?${new URLSearchParams(query)}`)
  if (!response.ok) throw new Error(`the server answered ${response.status}`)
  return response.json()
}
