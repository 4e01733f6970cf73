'use strict'

// The order of a listing: the session that was modified last comes first. What a tie leaves open, the session's id, its start and its file's
// name decide, so that a position in a list means the same session to every program that lists the directory.

const path = require('node:path')

const localeCompare = Function.prototype.call.bind(String.prototype.localeCompare)

/** Compares two summaries for a listing. */
function newestFirst(a, b) {
  return (
    b.lastModified.getTime() - a.lastModified.getTime() ||
    localeCompare(b.sessionId, a.sessionId) ||
    compare(b.startTime, a.startTime) ||
    compareNames(b, a)
  )
}

/** The names without their collision numbers, then the numbers. */
function compareNames(a, b) {
  const first = withoutNumber(a)
  const second = withoutNumber(b)
  return compare(first.name, second.name) || first.number - second.number || compare(a.filePath, b.filePath)
}

/** What a recorder's name for a file begins with; seconds are optional, and the session's id follows. */
const STAMP = /^session-[+-]?\d{4,6}-\d\d-\d\dT\d\d-\d\d/
const SECONDS = /^-\d\d/
const NUMBER = /^(?:-(\d+))?$/
const NOT_PORTABLE = /[/\\:*?"<>|\u0000-\u001f\u007f-\u009f]|\p{Surrogate}/gu

/**
 * The name of a summary's file, its collision number taken out. The number precedes the id, or follows it in a file of an earlier version. The id
 * itself may look like a number, so it has to be known to find it.
 */
function withoutNumber({ filePath, sessionId, startTime }) {
  const name = path.basename(filePath)
  const minute = STAMP.exec(name)?.[0]
  if (minute === undefined) return { name, number: 1 }
  const second = SECONDS.exec(name.slice(minute.length))?.[0] ?? ''
  const withSeconds = numbered(name, minute + second, sessionId.slice(0, 12))
  const withMinutes = numbered(name, minute, sessionId.slice(0, 8))
  // With an id of up to eight characters `-10-` may be either. Numbers have no zero in front, and a file is mostly created in its first second.
  const areSeconds = withMinutes === undefined || second.startsWith('-0') || second.slice(1) === startTime.slice(17, 19)
  return (areSeconds ? withSeconds : withMinutes) ?? withMinutes ?? { name, number: 1 }
}

/** The same for a name with this stamp and this beginning of an id; `undefined` if it is not one. */
function numbered(name, stamp, id) {
  const end = `-${portable(id)}`
  const rest = name.slice(stamp.length, -'.jsonl'.length)
  if (name !== `${stamp}${rest}.jsonl`) return undefined
  const number = rest.endsWith(end) && NUMBER.exec(rest.slice(0, -end.length))
  const oldNumber = rest.startsWith(end) && NUMBER.exec(rest.slice(end.length))
  const found = number || oldNumber
  return found ? { name: `${stamp}${end}`, number: found[1] === undefined ? 1 : Number(found[1]) } : undefined
}

/** An id as it stands in a file's name: what a file system may not hold is `_` there. */
function portable(id) {
  return id.replace(NOT_PORTABLE, '_')
}

function compare(a, b) {
  return a < b ? -1 : a > b ? 1 : 0
}

module.exports = { newestFirst }
