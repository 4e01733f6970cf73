// Hashes of items, by which a recorder compares the history in its file with the one that the program has.

import { native } from '../addon.js'
import { check, expect } from '../arguments.js'
import { stringify } from '../builtins.js'

/** The hashes of items, which are kept as long as their items. */
const known = new WeakMap<object, string>()

const SPEAKERS = ['human', 'ai', 'tool']

/** The hashes of items, joined. Items with a known hash are not looked at. */
export function hashesOf(items: readonly unknown[], name: string): string {
  let hashes = ''
  for (let index = 0; index < items.length; index++) {
    const item = items[index] as object
    const hash = typeof item === 'object' && item !== null ? known.get(item) : undefined
    hashes += hash ?? newHash(item, `${name}[${index}]`)
  }
  return hashes
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
