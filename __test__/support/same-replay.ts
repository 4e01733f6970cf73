// Equality as strict as "the same JavaScript value": -0 is not 0, own `__proto__` keys count, key order counts
// where it came from a file, and no depth is too deep (it does not recurse, as matchers do).

import { expect } from 'vitest'
import type { ReplayResult } from '../../index.js'

interface Place {
  readonly parent: Place | null
  readonly key: string
}
interface Pair {
  readonly found: unknown
  readonly expected: unknown
  readonly place: Place
}

/** Fails unless both replays have the same result, with the same key order in the items of their histories. */
export function expectSameReplay(found: ReplayResult<any>, expected: ReplayResult<any>): void {
  expectSame({ ...found, history: null }, { ...expected, history: null }, { keyOrder: false })
  if (found.ok && expected.ok) expectSame(found.history, expected.history)
}

export function expectSame(found: unknown, expected: unknown, { keyOrder = true } = {}): void {
  const difference = firstDifference(found, expected, keyOrder)
  expect(difference, difference ?? undefined).toBeNull()
}

/** Where and how two values differ; null if they don't. */
export function firstDifference(found: unknown, expected: unknown, keyOrder = true): string | null {
  const pairs: Pair[] = [{ found, expected, place: { parent: null, key: 'value' } }]
  for (let pair = pairs.pop(); pair !== undefined; pair = pairs.pop()) {
    if (Object.is(pair.found, pair.expected)) continue
    if (!isContainer(pair.found) || !isContainer(pair.expected)) return describe(pair, pair.found, pair.expected)
    if (Object.getPrototypeOf(pair.found) !== Object.getPrototypeOf(pair.expected)) {
      return describe(pair, prototypeName(pair.found), prototypeName(pair.expected))
    }
    const keys = keysOf(pair.found, keyOrder)
    const expectedKeys = keysOf(pair.expected, keyOrder)
    if (keys.length !== expectedKeys.length || keys.some((key, at) => key !== expectedKeys[at])) {
      return describe(pair, `keys ${shown(keys)}`, `keys ${shown(expectedKeys)}`)
    }
    // Backwards, so that the first difference in reading order is popped first.
    for (let at = keys.length - 1; at >= 0; at -= 1) {
      const key = keys[at] as string
      pairs.push({ found: pair.found[key], expected: pair.expected[key], place: { parent: pair.place, key } })
    }
  }
  return null
}

function isContainer(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}

function keysOf(value: object, keyOrder: boolean): string[] {
  const keys = Object.keys(value)
  return keyOrder ? keys : keys.sort()
}

function prototypeName(value: object): string {
  return `a value of prototype ${Object.prototype.toString.call(Object.getPrototypeOf(value))}`
}

function describe({ place }: Pair, found: unknown, expected: unknown): string {
  return `${pathOf(place)}: expected ${shown(expected)}, found ${shown(found)}`
}

function pathOf(place: Place): string {
  const keys: string[] = []
  for (let at: Place | null = place; at !== null; at = at.parent) keys.unshift(at.key)
  return keys.length > 20 ? `${keys.slice(0, 20).join('.')}… (${keys.length} deep)` : keys.join('.')
}

function shown(value: unknown): string {
  if (Object.is(value, -0)) return '-0'
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return Object.prototype.toString.call(value)
  const text = typeof value === 'string' || Array.isArray(value) ? JSON.stringify(value) : String(value)
  return text.length > 300 ? `${text.slice(0, 300)}… (${text.length} characters)` : text
}
