// What somebody sees who has a bundle and looks for secrets in it: the texts of its files, and everything that they decode to.

const ESCAPES = { n: '\n', r: '\r', t: '\t', b: '\b', f: '\f', '"': '"', '\\': '\\', '/': '/', "'": "'" }
const ENTITIES = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: ' ' }
const byHex = (digits) => String.fromCodePoint(Math.min(parseInt(digits, 16), 0x10ffff))
const bytesOfPercent = (run) => Buffer.from(run.replaceAll('%', ''), 'hex').toString()

/** Without colours, links and other sequences of a terminal, and without characters that take no space. */
function shown(text) {
  return text
    .replace(/\u001b\][^\u0007\u001b]*(?:\u0007|\u001b\\)/g, '')
    .replace(/\u001b\[[0-9;:?]*[A-Za-z]/g, '')
    .replace(/(.)\u0008\1/g, '$1')
    .replace(/[\0\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufe00-\ufe0f\ufeff]/g, '')
}

const unescaped = (text) =>
  text.replace(/\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(.))/gs, (all, unit, byte, one) =>
    one === undefined ? byHex(unit ?? byte) : (ESCAPES[one] ?? all),
  )
const unpercented = (text) => text.replace(/(?:%[0-9a-fA-F]{2})+/g, bytesOfPercent)
const ofHtml = (text) =>
  text.replace(/&(?:#x([0-9a-fA-F]{1,6})|#([0-9]{1,7})|([a-z]+));/g, (all, hex, number, name) =>
    name ? (ENTITIES[name] ?? all) : hex ? byHex(hex) : byHex(Number(number).toString(16)),
  )
const unquoted = (text) => text.replaceAll(`'\\''`, "'")

/** Whether most of a text can be typed. Counts code units: what is not ASCII cannot. */
function isText(text) {
  let typed = 0
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    if ((unit >= 0x20 && unit <= 0x7e) || unit === 0x0a || unit === 0x09 || unit === 0x0d) typed++
  }
  return typed > 0.8 * text.length
}

/** What base64 in a text decodes to, wherever in a longer run it begins. */
function* ofBase64(text) {
  // The line feed comes first, so that nothing is looked for behind any other character.
  const joined = text.replace(/\r?\n(?<=[A-Za-z0-9+/]{40}\r?\n)(?=[A-Za-z0-9+/])/g, '')
  for (const [run] of joined.matchAll(/[A-Za-z0-9+/_-]{8,}/g)) {
    for (let from = 0; from < 4; from++) {
      const bytes = Buffer.from(run.slice(from), 'base64')
      yield bytes.toString()
      yield bytes.toString('utf16le')
    }
  }
}

function* ofHex(text) {
  for (const [run] of text.matchAll(/[0-9a-fA-F]{12,}|(?:[0-9a-fA-F]{2}:){5,}[0-9a-fA-F]{2}/g)) {
    const digits = run.replaceAll(':', '')
    yield Buffer.from(digits, 'hex').toString()
    if (digits.length % 2 === 1) yield Buffer.from(digits.slice(1), 'hex').toString()
  }
}

/** All texts that `bytes` contains or decodes to, in at most `depth` steps. */
export function textsIn(bytes, depth = 6) {
  const seen = new Set([bytes.toString()])
  let last = [...seen]
  if (bytes.length > 1 && (bytes.readUInt16LE() === 0xfeff || bytes.readUInt16LE() === 0xfffe)) {
    const swapped = bytes.readUInt16LE() === 0xfffe ? Buffer.from(bytes.subarray(0, bytes.length & ~1)).swap16() : bytes
    last.push(swapped.toString('utf16le'))
  }
  for (let step = 0; step < depth && last.length > 0; step++) {
    const next = []
    for (const text of last) {
      const found = [shown(text), unescaped(text), unpercented(text), ofHtml(text), unquoted(text)]
      if (step < 4) found.push(...[...ofBase64(text), ...ofHex(text)].filter(isText))
      next.push(...found.filter((one) => !seen.has(one) && seen.add(one)))
    }
    last = next
  }
  return seen
}

/** The largest piece of a secret that must not be left of it either. */
const pieceOf = (secret) => (secret.length < 12 ? secret.length : Math.min(40, Math.ceil(secret.length * 0.6)))

/** The texts, shortened, of the files in which a reader finds a secret or most of it. */
export function leaksOf(files, secret) {
  const length = pieceOf(secret)
  const pieces = Array.from({ length: secret.length - length + 1 }, (_, at) => secret.slice(at, at + length))
  const leaks = []
  for (const [path, bytes] of Object.entries(files)) {
    for (const text of [path, ...textsIn(bytes)]) {
      const piece = pieces.find((one) => text.includes(one))
      if (piece === undefined) continue
      const at = text.indexOf(piece)
      leaks.push(`${path}: ${text.slice(Math.max(0, at - 60), at + length + 40)}`)
      break
    }
  }
  return leaks
}
