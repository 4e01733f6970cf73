// Methods that may be overridden or detached.

import { define } from './builtins.js'

/** Makes the methods usable detached from their object. A subclass's override is bound instead of the method that it overrides. */
export function bindMethods(object: object, names: readonly string[]): void {
  for (let index = 0; index < names.length; index++) {
    const name = names[index]!
    const method = (object as Record<string, unknown>)[name]
    if (typeof method !== 'function') continue
    define(object, name, { value: method.bind(object), writable: true, configurable: true })
  }
}

/** Calls a function that may be the caller's override. Exceptions become rejections, which are never reported as unhandled. */
export function attempt(operation: () => Promise<void>): Promise<void> {
  const outcome = new Promise<void>((resolve) => resolve(operation()))
  outcome.catch(() => {})
  return outcome
}
