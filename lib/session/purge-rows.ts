// A purge of media whose history comes from a stream, and is never held.

import { check, expect } from '../arguments.js'
import { stringify } from '../builtins.js'
import type { SemanticMediaPurgeFrontier } from './records.js'
import type { Line } from './streams.js'

/** How long a text may become before it is written, in UTF-16 units. */
const PART_LENGTH = 256 * 1024

type Rows<C> = AsyncIterable<C> | Iterable<C>

export function checkRows(rows: unknown): void {
  const given = rows as Partial<AsyncIterable<unknown> & Iterable<unknown>> | null | undefined
  const isIterable =
    typeof given === 'object' && typeof (given?.[Symbol.asyncIterator] ?? given?.[Symbol.iterator]) === 'function'
  expect(isIterable, 'rows', 'an async iterable', rows)
}

export function checkFrontier(frontier: SemanticMediaPurgeFrontier): SemanticMediaPurgeFrontier {
  check.object(frontier, 'frontier')
  const { contentIndex, blockIndex } = frontier
  check.safeCount(contentIndex, 'frontier.contentIndex')
  check.safeCount(blockIndex, 'frontier.blockIndex')
  return { contentIndex, blockIndex }
}

/** Writes the payload of a `semantic_media_purge`. */
export async function writePurge<C>(
  rows: Rows<C>,
  frontier: SemanticMediaPurgeFrontier,
  signal: AbortSignal,
  line: Line,
): Promise<void> {
  let text = '{"history":['
  let count = 0
  let isFrontierThere = false
  for await (const row of abortable(rows, signal)) {
    line.goesOn()
    check.object(row, `rows[${count}]`)
    if (count === frontier.contentIndex) isFrontierThere = hasBlock(row, frontier.blockIndex)
    text += `${count > 0 ? ',' : ''}${textOf(row, count)}`
    count++
    if (text.length < PART_LENGTH) continue
    await line.write(text, false)
    text = ''
  }
  if (count === 0) isFrontierThere = frontier.contentIndex === 0 && frontier.blockIndex === 0
  expect(isFrontierThere, 'frontier', 'a block of the history, or 0 and 0 if it is empty', frontier)
  await line.write(`${text}],"frontier":${stringify(frontier)}}`, true)
  signal.throwIfAborted()
}

/** The JSON text of an item of an array: `toJSON` gets its index, and an item without a text is null. */
function textOf(row: unknown, index: number): string {
  const text = stringify({ [index]: row })
  return text === '{}' ? 'null' : text.slice(`{"${index}":`.length, -1)
}

function hasBlock(row: unknown, index: number): boolean {
  const { blocks } = row as { blocks?: unknown }
  return Array.isArray(blocks) && index < blocks.length
}

/** The same rows. An abort ends the wait for the next one. */
async function* abortable<C>(rows: Rows<C>, signal: AbortSignal): AsyncGenerator<C> {
  const given = rows as Partial<AsyncIterable<C>> & Iterable<C>
  const iterator = given[Symbol.asyncIterator]?.() ?? given[Symbol.iterator]()
  let stop: ((reason: unknown) => void) | undefined
  const onAbort = (): void => stop?.(signal.reason)
  signal.addEventListener('abort', onAbort)
  let isDone = false
  // Not `Promise.race`: a promise of the abort that lasts as long as the stream would keep every row.
  const nextOrAbort = (): Promise<IteratorResult<C>> =>
    new Promise((resolve, reject) => {
      stop = reject
      Promise.resolve(iterator.next()).then(resolve, (error) => {
        isDone = true
        reject(error)
      })
    })
  try {
    for (;;) {
      signal.throwIfAborted()
      const next = await nextOrAbort()
      if (next.done === true) {
        isDone = true
        return
      }
      yield next.value
    }
  } finally {
    signal.removeEventListener('abort', onAbort)
    // Not awaited: it may wait for the row that never came.
    if (!isDone) Promise.resolve(iterator.return?.()).catch(() => {})
  }
}
