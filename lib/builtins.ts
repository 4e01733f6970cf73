// The built-in functions that this library uses. They are captured at load time, so that a test suite that replaces timers or JSON later does not
// break a running replay. `Date.now` is not captured, because recordings must show faked time.

// The global timers may be absent or those of a browser, as in jsdom.
import timers = require('node:timers')

export const { defineProperty: define, hasOwn } = Object
const { keys } = Object
export const { stringify } = JSON

/** `T` is not checked. */
export const parse = JSON.parse as <T = any>(text: string) => T

/** Whether a timer function is a fake, which would never run its callback by itself. Fake timers have this property. */
function isFaked(timer: object): boolean {
  return hasOwn(timer, 'clock')
}

/** The time of a monotonic clock in milliseconds. (Loading `performance` takes Node.js a millisecond.) */
const { uptime } = process
export function elapsed(): number {
  return uptime() * 1000
}

/** The property descriptor of an ordinary property. */
export function own(value: unknown): PropertyDescriptor {
  return { __proto__: null, value, writable: true, enumerable: true, configurable: true } as PropertyDescriptor
}

/** Adds the members of `fields` to an object and returns it. Unlike `Object.assign`, it also adds a member named `__proto__`, which a file may have. */
export function withFields<T extends object, F extends object>(object: T, fields: F): T & F {
  const names = keys(fields) as (keyof F & string)[]
  for (const name of names) {
    if (name in object) define(object, name, own(fields[name]))
    else (object as Record<string, unknown>)[name] = fields[name]
  }
  return object as T & F
}

export const RealDate = Date
export const queueMicrotask = globalThis.queueMicrotask ?? process.nextTick
export const setTimeout = timers.setTimeout
export const nextTurn = isFaked(timers.setImmediate) ? undefined : timers.setImmediate
