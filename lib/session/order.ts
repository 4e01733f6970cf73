// The order of a listing: last modified first. Ties are broken by session id, start time and file name, so that a position in a list denotes the
// same session in every program that lists the directory.

import path = require('node:path')
import { sessionPathOf } from './archive-name.js'
import type { SessionSummary } from './summary.js'

/** Compares two summaries for a listing. */
export function newestFirst(a: SessionSummary, b: SessionSummary): number {
  return (
    b.lastModified.getTime() - a.lastModified.getTime() ||
    b.sessionId.localeCompare(a.sessionId) ||
    compare(b.startTime, a.startTime) ||
    compareNames(b, a)
  )
}

/** Compares file names without their collision numbers, then the numbers, then the paths. */
function compareNames(a: SessionSummary, b: SessionSummary): number {
  const first = withoutNumber(a)
  const second = withoutNumber(b)
  return compare(first.name, second.name) || first.number - second.number || compare(a.filePath, b.filePath)
}

/** The beginning of a file name that a recorder creates, up to the minutes. Optional seconds and the session id follow. */
const STAMP = /^session-[+-]?\d{4,6}-\d\d-\d\dT\d\d-\d\d/
const SECONDS = /^-\d\d/
const NUMBER = /^(?:-(\d+))?$/
const NOT_PORTABLE = /[/\\:*?"<>|\u0000-\u001f\u007f-\u009f]|\p{Surrogate}/gu

interface NumberedName {
  name: string
  number: number
}

/**
 * Splits the name of a summary's file into the name without its collision number, and that number (1 if there is none). The number precedes the id,
 * or follows it in files of earlier versions. The id is needed to find it, because an id may itself look like a number.
 */
function withoutNumber({ filePath, sessionId, startTime }: SessionSummary): NumberedName {
  const name = path.basename(sessionPathOf(filePath))
  const minute = STAMP.exec(name)?.[0]
  if (minute === undefined) return { name, number: 1 }
  const second = SECONDS.exec(name.slice(minute.length))?.[0] ?? ''
  const withSeconds = numbered(name, minute + second, sessionId.slice(0, 12))
  const withMinutes = numbered(name, minute, sessionId.slice(0, 8))
  // With an id of at most eight characters, `-10-` may be the seconds or a collision number. A collision number has no leading zero, and most files
  // are created in the second in which the session starts.
  const areSeconds = withMinutes === undefined || second.startsWith('-0') || second.slice(1) === startTime.slice(17, 19)
  return (areSeconds ? withSeconds : withMinutes) ?? withMinutes ?? { name, number: 1 }
}

/** Splits a name that has this time stamp and this beginning of an id. Returns `undefined` if the name does not match. */
function numbered(name: string, stamp: string, id: string): NumberedName | undefined {
  const end = `-${portable(id)}`
  const rest = name.slice(stamp.length, -'.jsonl'.length)
  if (name !== `${stamp}${rest}.jsonl`) return undefined
  const number = rest.endsWith(end) && NUMBER.exec(rest.slice(0, -end.length))
  const oldNumber = rest.startsWith(end) && NUMBER.exec(rest.slice(end.length))
  const found = number || oldNumber
  return found ? { name: `${stamp}${end}`, number: found[1] === undefined ? 1 : Number(found[1]) } : undefined
}

/** An id as it appears in a file name: characters that some file systems do not allow are replaced by `_`. */
function portable(id: string): string {
  return id.replace(NOT_PORTABLE, '_')
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
