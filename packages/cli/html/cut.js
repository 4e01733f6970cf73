'use strict'

// Truncates payloads to the limits of a page. What was cut is recorded next to the value rather than in it, so that no content of a recording can
// look like such a note.

const { islandJson } = require('./island.js')

/**
 * @typedef {object} Cut
 * @property {string} path JSON pointer of the truncated value
 * @property {number} left the number of missing characters of a string, items of an array or fields of an object
 * @property {'text' | 'items' | 'fields' | 'depth'} what
 * @property {number} [at] the offset of the missing part in a string
 *
 * @typedef {{ string: number, total: number, depth: number }} CutLimits UTF-16 code units of a string and in total, and levels of nesting
 * @typedef {{ limits: CutLimits, budget: number, cuts: Cut[] }} Work
 */

/** @type {(value: unknown, limits: CutLimits) => { value: unknown, cuts: Cut[] }} */
function cut(value, limits) {
  /** @type {Work} */
  const work = { limits, budget: limits.total, cuts: [] }
  return { value: cutValue(value, '', 0, work), cuts: work.cuts }
}

/** @type {(value: unknown, path: string, depth: number, work: Work) => unknown} */
function cutValue(value, path, depth, work) {
  if (typeof value === 'string') return cutString(value, path, work)
  if (typeof value !== 'object' || value === null) {
    work.budget -= 8
    return value
  }
  const size = Array.isArray(value) ? value.length : Object.keys(value).length
  // The limit for nesting protects all later steps, which recurse, from stack overflow.
  if (depth >= work.limits.depth && size > 0) {
    work.cuts.push({ path, left: size, what: 'depth' })
    return Array.isArray(value) ? [] : {}
  }
  work.budget -= 2
  return Array.isArray(value) ? cutArray(value, path, depth, work) : cutObject(value, path, depth, work)
}

/** Cuts out the middle, because error messages are often at the end of an output. @type {(text: string, path: string, work: Work) => string} */
function cutString(text, path, work) {
  const room = Math.max(Math.min(work.limits.string, work.budget), 64)
  work.budget -= Math.min(text.length, room)
  if (text.length <= room) return text
  const head = whole(text, Math.floor((room * 3) / 4))
  const tail = whole(text, text.length - Math.floor(room / 4))
  work.cuts.push({ path, left: tail - head, what: 'text', at: head })
  return text.slice(0, head) + text.slice(tail)
}

/** Moves an offset out of the middle of a surrogate pair. @type {(text: string, at: number) => number} */
function whole(text, at) {
  const code = text.charCodeAt(at)
  return code >= 0xdc00 && code <= 0xdfff ? at - 1 : at
}

/** @type {(items: unknown[], path: string, depth: number, work: Work) => unknown[]} */
function cutArray(items, path, depth, work) {
  const kept = []
  for (const item of items) {
    if (work.budget <= 0) break
    kept.push(cutValue(item, `${path}/${kept.length}`, depth + 1, work))
  }
  if (kept.length < items.length) work.cuts.push({ path, left: items.length - kept.length, what: 'items' })
  return kept
}

/** @type {(object: {}, path: string, depth: number, work: Work) => Record<string, unknown>} */
function cutObject(object, path, depth, work) {
  const entries = Object.entries(object)
  /** @type {[string, unknown][]} */
  const kept = []
  for (const [key, value] of entries) {
    if (work.budget <= 0) break
    // A truncated name could equal that of another field.
    if (key.length > work.limits.string) continue
    work.budget -= key.length
    kept.push([key, cutValue(value, `${path}/${pointerPart(key)}`, depth + 1, work)])
  }
  if (kept.length < entries.length) work.cuts.push({ path, left: entries.length - kept.length, what: 'fields' })
  // Defined rather than assigned, because the name may be `__proto__`.
  return Object.fromEntries(kept)
}

/** @param {string} key */
const pointerPart = (key) => key.replaceAll('~', '~0').replaceAll('/', '~1')

/** A value as a line of an island: `[value]`, or `[value, cuts]`. @type {(value: unknown, limits: CutLimits) => string} */
function cutIsland(value, limits) {
  const { value: kept, cuts } = cut(value, limits)
  return islandJson(cuts.length === 0 ? [kept] : [kept, cuts])
}

module.exports = { cut, cutIsland }
