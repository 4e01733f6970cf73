// Waits in real time. Programs, above all tests, replace clocks and timers, but a lock must be released even so.

import { hasOwn, setTimeout } from '../builtins.js'

export { elapsed } from '../builtins.js'

/** Resolves after `ms` milliseconds. */
export function wait(ms: number): Promise<void> {
  return new Promise<void>((resolve) => void schedule(resolve, ms))
}

/** Fake timers that were installed before this library was loaded have a `clock` property. They do not replace `AbortSignal.timeout`. */
const schedule: (resolve: () => void, ms: number) => unknown = hasOwn(setTimeout, 'clock')
  ? (resolve, ms) => AbortSignal.timeout(ms).addEventListener('abort', () => resolve(), { once: true })
  : setTimeout
