// Checks of arguments. A value of the wrong type throws a TypeError with Node's code for it.

import { withFields } from './builtins.js'

/** The default for options. */
export const NO_OPTIONS: Readonly<{}> = Object.freeze({})

function shown(value: unknown): string {
  if (typeof value === 'function') return 'a function'
  // Loaded on first use, because loading it takes Bun milliseconds.
  const { inspect } = require('node:util') as typeof import('node:util')
  const text = inspect(value, { depth: 0, breakLength: Infinity })
  return text.length > 60 ? `${text.slice(0, 60)}…` : text
}

/** Throws unless `holds`. `expected` says what the argument must be. */
export function expect(holds: boolean, name: string, expected: string, value: unknown): asserts holds {
  if (holds) return
  throw withFields(new TypeError(`${name} must be ${expected}, got ${shown(value)}`), { code: 'ERR_INVALID_ARG_TYPE' })
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}

export const check = {
  string(value: unknown, name: string) {
    expect(typeof value === 'string', name, 'a string', value)
  },
  stringOrNull(value: unknown, name: string) {
    expect(value === null || typeof value === 'string', name, 'a string or null', value)
  },
  filledString(value: unknown, name: string) {
    expect(typeof value === 'string' && value !== '', name, 'a non-empty string', value)
  },
  strings(value: unknown, name: string) {
    // `every` alone would skip holes.
    expect(Array.isArray(value) && Array.from(value).every((one) => typeof one === 'string'), name, 'an array of strings', value)
  },
  filledStrings(value: unknown, name: string) {
    const areFilled = Array.isArray(value) && Array.from(value).every((one) => typeof one === 'string' && one !== '')
    expect(areFilled, name, 'an array of non-empty strings', value)
  },
  object(value: unknown, name: string) {
    expect(isObject(value) && !Array.isArray(value), name, 'an object', value)
  },
  finiteNumber(value: unknown, name: string) {
    expect(Number.isFinite(value), name, 'a finite number', value)
  },
  count(value: unknown, name: string) {
    expect(Number.isFinite(value) && (value as number) >= 0, name, 'a number, 0 or more', value)
  },
  safeCount(value: unknown, name: string) {
    expect(Number.isSafeInteger(value) && (value as number) >= 0, name, 'a safe integer, 0 or more', value)
  },
  lock(value: unknown, name: string) {
    const isLock = isObject(value) && typeof value.release === 'function' && typeof value.ownsLock === 'function'
    expect(isLock, name, 'a session lock', value)
  },
  /** A logical time, or Infinity for the last one. */
  time(value: unknown, name: string) {
    const isTime = value === Infinity || (Number.isSafeInteger(value) && (value as number) >= 0)
    expect(isTime, name, 'an integer, 0 or more, or Infinity', value)
  },
  oneOf(value: unknown, name: string, choices: readonly string[]) {
    expect(choices.includes(value as string), name, `one of ${choices.map((choice) => `'${choice}'`).join(', ')}`, value)
  },
  optional(value: unknown, name: string, type: 'string' | 'number' | 'boolean' | 'function') {
    expect(value === undefined || typeof value === type, name, `a ${type}, if it is given`, value)
  },
  signal(value: unknown, name: string) {
    const usable = isObject(value) && typeof value.aborted === 'boolean' && typeof value.addEventListener === 'function'
    expect(value === undefined || usable, name, 'an AbortSignal', value)
  },
}

/** Calls `checkOne` with each element of an array, including holes, and its name. */
export function checkEach<T>(list: readonly T[], name: string, checkOne: (value: T, name: string) => void): void {
  for (let index = 0; index < list.length; index++) checkOne(list[index] as T, `${name}[${index}]`)
}

/** Checks the options of functions that keep snapshots. */
export function checkSnapshotOptions(options: { snapshot?: unknown; snapshotDir?: unknown }, name = 'options'): void {
  check.object(options, name)
  check.optional(options.snapshot, `${name}.snapshot`, 'boolean')
  if (options.snapshotDir !== undefined) check.filledString(options.snapshotDir, `${name}.snapshotDir`)
}

/** Checks the options of functions that scan files. */
export function checkScanOptions(options: { snapshot?: unknown; snapshotDir?: unknown; onProgress?: unknown; signal?: unknown }): void {
  checkSnapshotOptions(options)
  check.optional(options.onProgress, 'options.onProgress', 'function')
  check.signal(options.signal, 'options.signal')
}
