'use strict'

// Cuts a payload down to what a page can hold.
//
// The note that something was cut stands beside the value, never in it, so that no content can pass for a note of ours.

/**
 * @typedef {object} Cut
 * @property {string} path JSON pointer of what was cut
 * @property {number} left how much is missing: characters of a string, items of an array, fields of an object
 * @property {'text' | 'items' | 'fields' | 'depth'} what
 * @property {number} [at] in a string: where the missing part was
 */

/** @returns {{ value: unknown, cuts: Cut[] }} */
function cut(value, limits) {
  const work = { limits, budget: limits.total, cuts: [] }
  return { value: cutValue(value, '', 0, work), cuts: work.cuts }
}

function cutValue(value, path, depth, work) {
  if (typeof value === 'string') return cutString(value, path, work)
  if (typeof value !== 'object' || value === null) {
    work.budget -= 8
    return value
  }
  const size = Array.isArray(value) ? value.length : Object.keys(value).length
  // The levels are limited here, so nothing further down can run out of stack.
  if (depth >= work.limits.depth && size > 0) {
    work.cuts.push({ path, left: size, what: 'depth' })
    return Array.isArray(value) ? [] : {}
  }
  work.budget -= 2
  return Array.isArray(value) ? cutArray(value, path, depth, work) : cutObject(value, path, depth, work)
}

/** The beginning and the end stay: an error message stands at the end of an output as often as not. */
function cutString(text, path, work) {
  const room = Math.max(Math.min(work.limits.string, work.budget), 64)
  work.budget -= Math.min(text.length, room)
  if (text.length <= room) return text
  const head = whole(text, Math.floor((room * 3) / 4))
  const tail = whole(text, text.length - Math.floor(room / 4))
  work.cuts.push({ path, left: tail - head, what: 'text', at: head })
  return text.slice(0, head) + text.slice(tail)
}

/** Not in the middle of a surrogate pair. */
function whole(text, at) {
  const code = text.charCodeAt(at)
  return code >= 0xdc00 && code <= 0xdfff ? at - 1 : at
}

function cutArray(items, path, depth, work) {
  const kept = []
  for (const item of items) {
    if (work.budget <= 0) break
    kept.push(cutValue(item, `${path}/${kept.length}`, depth + 1, work))
  }
  if (kept.length < items.length) work.cuts.push({ path, left: items.length - kept.length, what: 'items' })
  return kept
}

function cutObject(object, path, depth, work) {
  const entries = Object.entries(object)
  const kept = []
  for (const [key, value] of entries) {
    if (work.budget <= 0) break
    // Shortened, it could be the name of another field.
    if (key.length > work.limits.string) continue
    work.budget -= key.length
    kept.push([key, cutValue(value, `${path}/${pointerPart(key)}`, depth + 1, work)])
  }
  if (kept.length < entries.length) work.cuts.push({ path, left: entries.length - kept.length, what: 'fields' })
  // Not by assignment: `__proto__` is a name like any other here.
  return Object.fromEntries(kept)
}

const pointerPart = (key) => key.replaceAll('~', '~0').replaceAll('/', '~1')

module.exports = { cut }
