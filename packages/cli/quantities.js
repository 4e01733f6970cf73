'use strict'

// Formats numbers and times.

/** @type {(n: number) => string} */
const count = (n) => n.toLocaleString('en-US', { maximumFractionDigits: 1 })

/** `1 item`, `2 items`. @type {(n: number, one: string, many?: string) => string} */
const plural = (n, one, many = `${one}s`) => `${count(n)} ${n === 1 ? one : many}`

/** @param {number} bytes */
function fileSize(bytes) {
  if (bytes < 1024) return plural(bytes, 'byte')
  const units = ['KiB', 'MiB', 'GiB', 'TiB']
  const power = Math.min(Math.floor(Math.log2(bytes) / 10), units.length)
  return `${(bytes / 1024 ** power).toFixed(1)} ${units[power - 1]}`
}

/** The time between two moments, in the two largest units: `2 d 3 h`, `6 min 2 s`. @param {number} ms */
function duration(ms) {
  if (ms < 1000) return `${Math.round(ms)} ms`
  const seconds = Math.round(ms / 1000)
  /** @type {[number, string][]} */
  const parts = [
    [Math.floor(seconds / 86400), 'd'],
    [Math.floor(seconds / 3600) % 24, 'h'],
    [Math.floor(seconds / 60) % 60, 'min'],
    [seconds % 60, 's'],
  ]
  const first = parts.findIndex(([n]) => n > 0)
  return parts
    .slice(first, first + 2)
    .filter(([n]) => n > 0)
    .map(([n, unit]) => `${n} ${unit}`)
    .join(' ')
}

/** A running time. @param {number} ms */
const elapsed = (ms) =>
  ms < 10 ? `${ms.toFixed(1)} ms` : ms < 1000 ? `${ms.toFixed(0)} ms` : `${(ms / 1000).toFixed(1)} s`

/** A time as `2026-02-11 08:41:03 UTC`, or null if it is invalid. @param {unknown} text */
function moment(text) {
  const ms = typeof text === 'string' ? Date.parse(text) : NaN
  return Number.isNaN(ms) ? null : `${new Date(ms).toISOString().slice(0, 19).replace('T', ' ')} UTC`
}

module.exports = { count, plural, fileSize, duration, elapsed, moment }
