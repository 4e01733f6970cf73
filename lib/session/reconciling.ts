// Hashes of items, by which a recorder compares the history in its file with the one that the program has.

import { native } from '../addon.js'
import { check, expect } from '../arguments.js'
import type { NativeHistory, NativeTail } from '../binding/native.js'
import { stringify } from '../builtins.js'

/** The hashes of items, which are kept as long as their items. */
const known = new WeakMap<object, string>()

/** The length of a hash. */
const HASH_LENGTH = 32

const SPEAKERS = ['human', 'ai', 'tool']

/** The hashes of items, joined. Items with a known hash are not looked at; `isNew` gets a 1 for the others. */
export function hashesOf(items: readonly unknown[], name: string, isNew?: Uint8Array): string {
  let hashes = ''
  for (let index = 0; index < items.length; index++) {
    const item = items[index] as object
    const hash = typeof item === 'object' && item !== null ? known.get(item) : undefined
    if (hash === undefined && isNew !== undefined) isNew[index] = 1
    hashes += hash ?? newHash(item, `${name}[${index}]`)
  }
  return hashes
}

/** Notes the hashes of items, which are given joined. */
export function noteHashes(items: readonly unknown[], hashes: string): void {
  items.forEach((item, index) => noteHash(item, hashes, index))
}

/** Notes the hashes of those items that a history has at the same index, recorded in the record that they were recorded in. */
export function noteRecorded(
  items: readonly unknown[],
  recorded: WeakMap<object, number>,
  { hashes, seqs }: NativeHistory,
): void {
  for (let index = 0; index < items.length && index < seqs.length; index++) {
    const item = items[index] as object
    if (recorded.get(item) === seqs[index]) noteHash(item, hashes, index)
  }
}

function noteHash(item: unknown, hashes: string, index: number): void {
  const at = index * HASH_LENGTH
  if (typeof item === 'object' && item !== null) known.set(item, hashes.slice(at, at + HASH_LENGTH))
}

/** Hashes the items of a tail that were seen before again: they may have been changed since. Returns whether some were. */
export function hashAgain(
  items: readonly unknown[],
  isNew: Uint8Array,
  { replaced, appendedFrom }: NativeTail,
): boolean {
  let hasChanged = false
  const again = (index: number): void => {
    if (isNew[index] === 1) return
    const item = items[index] as object
    const before = known.get(item)
    known.delete(item)
    hasChanged = newHash(item, `items[${index}]`) !== before || hasChanged
  }
  replaced.forEach(again)
  for (let index = appendedFrom; index < items.length; index++) again(index)
  return hasChanged
}

/** Checks an item: replay would skip one that is malformed. */
function newHash(item: object, name: string): string {
  check.object(item, name)
  const { speaker, blocks } = item as { speaker?: unknown; blocks?: unknown }
  check.oneOf(speaker, `${name}.speaker`, SPEAKERS)
  expect(Array.isArray(blocks), `${name}.blocks`, 'an array', blocks)
  const hash = native.hashItem(stringify(item))
  known.set(item, hash)
  return hash
}
