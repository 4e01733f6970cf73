// The data that the page carries. Long data is compressed: a browser takes longer to read a long document than to unpack a short one.

const unpacked = new Map()

const islandText = (id) => unpacked.get(id) ?? document.getElementById(id).textContent

/** Calls `begin` when all data can be read: at once if nothing is compressed. */
function withIslands(begin) {
  const packed = [...document.querySelectorAll('script[data-packed]')]
  if (packed.length === 0) return begin()
  if (typeof DecompressionStream === 'undefined')
    return document.body.append('This browser cannot unpack the data of the page. A newer one can.')
  return Promise.all(packed.map(async ({ id, textContent }) => unpacked.set(id, await inflated(textContent)))).then(
    begin,
  )
}

async function inflated(base64) {
  const stream = new Blob([bytesOf(base64)]).stream().pipeThrough(new DecompressionStream('deflate'))
  return new Response(stream).text()
}

function bytesOf(base64) {
  if (typeof Uint8Array.fromBase64 === 'function') return Uint8Array.fromBase64(base64)
  const text = atob(base64)
  const bytes = new Uint8Array(text.length)
  for (let at = 0; at < text.length; at++) bytes[at] = text.charCodeAt(at)
  return bytes
}
