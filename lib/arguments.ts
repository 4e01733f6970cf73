// Checks of arguments. A value of the wrong type throws a TypeError with Node's code for it.

import { hasOwn, withFields } from './builtins.js'

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
    expect(
      Array.isArray(value) && Array.from(value).every((one) => typeof one === 'string'),
      name,
      'an array of strings',
      value,
    )
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
    expect(
      choices.includes(value as string),
      name,
      `one of ${choices.map((choice) => `'${choice}'`).join(', ')}`,
      value,
    )
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

/** Throws a TypeError unless a value is what it must be. */
type Check = (value: any, name: string) => void

const optional =
  (type: 'string' | 'number' | 'boolean' | 'function'): Check =>
  (value, name) =>
    check.optional(value, name, type)
/** A check that lets a missing value pass. */
export const unlessMissing =
  (one: Check): Check =>
  (value, name) => {
    if (value !== undefined) one(value, name)
  }

/** The kinds of members of options. Those with a `?` may be missing. */
const KINDS = {
  string: check.string,
  filledString: check.filledString,
  strings: check.strings,
  'any?': () => {},
  'boolean?': optional('boolean'),
  'count?': unlessMissing(check.count),
  'filledString?': unlessMissing(check.filledString),
  'function?': optional('function'),
  'number?': optional('number'),
  'safeCount?': unlessMissing(check.safeCount),
  'signal?': check.signal,
  'string?': optional('string'),
  'time?': unlessMissing(check.time),
} satisfies Record<string, Check>

/** Names and kinds of all members of `T`, or their own checks. */
export type Shape<T extends object> = { readonly [Name in keyof T]-?: keyof typeof KINDS | Check }

/** The members of options of functions that take time. */
export const WORK = { signal: 'signal?', onProgress: 'function?' } as const

/** Returns a copy of options, after their members were checked, in the order of the shape. Each member is read once, because it may be a getter. */
export function checked<T extends object>(options: T, shape: Shape<T>, name = 'options'): T {
  check.object(options, name)
  // Without a prototype, from which it could inherit setters.
  const members = { __proto__: null } as unknown as T
  for (const member in shape) {
    const value = options[member]
    const kind = shape[member]
    const checkOne: Check = typeof kind === 'function' ? kind : KINDS[kind as keyof typeof KINDS]
    checkOne(value, `${name}.${member}`)
    members[member] = value
  }
  return members
}

/**
 * The same for options of functions that delete, replace or move files: a name that is not known is refused, since a misspelt `dryRun` would let them
 * do it. Without a value it means what the right one would: the default. `other`: where else such a name may belong.
 */
export function checkedStrictly<T extends object>(
  options: T,
  shape: Shape<T>,
  name = 'options',
  other?: { name: string; shape: object },
): T {
  check.object(options, name)
  for (const member of namesOf(options)) {
    if (hasOwn(shape, member) || valueOf(options, member) === undefined) continue
    const isOther = other !== undefined && hasOwn(other.shape, member)
    const hint = isOther ? `: it is a member of ${other.name}` : membersHint(Object.keys(shape))
    throw unknownMember(`${name} has no member ${shown(member)}${hint}`)
  }
  return checked(options, shape, name)
}

/** Checks what is passed where a function that deletes has no options. */
export function checkNoOptions(given: unknown): void {
  if (!isObject(given)) return
  const name = namesOf(given).find((member) => valueOf(given, member) !== undefined)
  if (name !== undefined) throw unknownMember(`options has no member ${shown(name)}: the function has no options`)
}

const valueOf = (options: object, name: string | symbol): unknown => (options as Record<string | symbol, unknown>)[name]

/** The names of all members that a spread would copy, and of those inherited, unless every object has them. */
function namesOf(options: object): (string | symbol)[] {
  const names: (string | symbol)[] = []
  for (
    let from: object | null = options;
    from !== null && from !== Object.prototype;
    from = Object.getPrototypeOf(from) as object | null
  ) {
    for (const name of Reflect.ownKeys(from))
      if (Object.prototype.propertyIsEnumerable.call(from, name)) names.push(name)
  }
  return names
}

function membersHint(names: string[]): string {
  return `; its members are ${names.join(', ')}`
}

function unknownMember(message: string): TypeError {
  return withFields(new TypeError(message), { code: 'ERR_INVALID_ARG_TYPE' })
}
