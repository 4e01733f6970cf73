// `toEqual` of bytes in one comparison: vitest compares them number by number, each as an object might be, which takes longer than what is tested.

import { expect } from 'vitest'

expect.addEqualityTesters([
  (one: unknown, other: unknown): boolean | undefined =>
    one instanceof Uint8Array && other instanceof Uint8Array && one.constructor === other.constructor
      ? Buffer.compare(one, other) === 0
      : undefined,
])
