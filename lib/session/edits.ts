// The payloads of the events that edit the history. They are checked here, because replay skips a malformed event, and the edit would be lost.

import { check, checkEach, expect } from '../arguments.js'
import { hasOwn } from '../builtins.js'
import type {
  ChronologyMarker,
  ChronologyBindPayload,
  CompressionDetailPayload,
  DensityMutationPayload,
  SemanticMediaPurgeFrontier,
  SemanticMediaPurgePayload,
  SyntheticInsertPayload,
} from './records.js'

export function densityMutation<C>(change: DensityMutationPayload<C>): DensityMutationPayload<C> {
  check.object(change, 'change')
  const { removedSeqs, replacements } = change
  checkList(removedSeqs, 'change.removedSeqs', check.safeCount)
  checkList(replacements, 'change.replacements', (one, name) => {
    check.object(one, name)
    check.safeCount(one.replacedSeq, `${name}.replacedSeq`)
    check.object(one.replacement, `${name}.replacement`)
  })
  return { removedSeqs, replacements }
}

export function syntheticInsert<C>(insert: SyntheticInsertPayload<C>): SyntheticInsertPayload<C> {
  check.object(insert, 'insert')
  const { content, chronologySeq, afterSeq } = insert
  check.object(content, 'insert.content')
  check.safeCount(chronologySeq, 'insert.chronologySeq')
  check.safeCount(afterSeq, 'insert.afterSeq')
  return { content, chronologySeq, afterSeq }
}

export function compressionDetail(detail: CompressionDetailPayload): CompressionDetailPayload {
  check.object(detail, 'detail')
  const { fromSeq, toSeq, itemsCompressed } = detail
  check.finiteNumber(fromSeq, 'detail.fromSeq')
  check.finiteNumber(toSeq, 'detail.toSeq')
  check.finiteNumber(itemsCompressed, 'detail.itemsCompressed')
  return { fromSeq, toSeq, itemsCompressed }
}

export function chronologyBind<C>(bind: ChronologyBindPayload<C>): ChronologyBindPayload<C> {
  check.object(bind, 'bind')
  const { rowIndex, chronology } = bind
  check.safeCount(rowIndex, 'bind.rowIndex')
  checkChronology(chronology, 'bind.chronology')
  const payload: ChronologyBindPayload<C> = { rowIndex, chronology }
  if (hasOwn(bind, 'content') && bind.content !== undefined) {
    check.object(bind.content, 'bind.content')
    payload.content = bind.content
  }
  check.optional(bind.invalidateResponses, 'bind.invalidateResponses', 'boolean')
  if (bind.invalidateResponses !== undefined) payload.invalidateResponses = bind.invalidateResponses
  return payload
}

/** The payload of a purge, which is given as one object, or as its two members. */
export function semanticMediaPurge<C>(
  purge: SemanticMediaPurgePayload<C> | readonly C[],
  frontier: SemanticMediaPurgeFrontier | undefined,
): SemanticMediaPurgePayload<C> {
  if (Array.isArray(purge) || frontier !== undefined)
    return purgePayload(purge as C[], frontier as SemanticMediaPurgeFrontier, '')
  const one = purge as SemanticMediaPurgePayload<C>
  check.object(one, 'purge')
  return purgePayload(one.history, one.frontier, 'purge.')
}

function purgePayload<C>(history: C[], frontier: SemanticMediaPurgeFrontier, of: string): SemanticMediaPurgePayload<C> {
  checkList(history, `${of}history`, check.object)
  check.object(frontier, `${of}frontier`)
  const { contentIndex, blockIndex } = frontier
  check.safeCount(contentIndex, `${of}frontier.contentIndex`)
  check.safeCount(blockIndex, `${of}frontier.blockIndex`)
  expect(
    isWithin(history, contentIndex, blockIndex),
    `${of}frontier`,
    'a block of the history, or 0 and 0 if it is empty',
    frontier,
  )
  return { history, frontier: { contentIndex, blockIndex } }
}

function isWithin(history: readonly unknown[], contentIndex: number, blockIndex: number): boolean {
  if (history.length === 0) return contentIndex === 0 && blockIndex === 0
  const blocks = (history[contentIndex] as { blocks?: unknown } | undefined)?.blocks
  return Array.isArray(blocks) && blockIndex < blocks.length
}

function checkChronology(chronology: ChronologyMarker, name: string): void {
  check.object(chronology, name)
  for (const field of ['seq', 'userTurn', 'step', 'recordedAt'] as const)
    check.safeCount(chronology[field], `${name}.${field}`)
}

function checkList<T>(list: readonly T[], name: string, checkOne: (one: T, name: string) => void): void {
  expect(Array.isArray(list), name, 'an array', list)
  checkEach(list, name, checkOne)
}
