// Canonical JSON of integers, and hashes.

import { createHash } from 'node:crypto'

/** SHA-256 of the parts one after the other, in lower-case hex. */
export function sha256(...parts) {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(part)
  return hash.digest('hex')
}

const ASCII = /^[\0-\x7f]*$/

/** Compares two strings by their UTF-8 bytes. */
export function byBytes(a, b) {
  if (ASCII.test(a) && ASCII.test(b)) return a < b ? -1 : Number(a > b)
  return Buffer.compare(Buffer.from(a), Buffer.from(b))
}

/** Keys sorted by UTF-8 bytes, no white space; undefined members are left out. */
export function canonicalJson(value) {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
  if (value !== null && typeof value === 'object') {
    const keys = Object.keys(value).filter((key) => value[key] !== undefined)
    return `{${keys
      .sort(byBytes)
      .map((key) => `${JSON.stringify(key)}:${canonicalJson(value[key])}`)
      .join(',')}}`
  }
  if (typeof value === 'number' && !Number.isSafeInteger(value)) throw new Error(`${value} is no integer`)
  return JSON.stringify(value)
}
