/** vitest's `test`, with properties: `test.prop([arbitraries], parameters)(name, check)`. Every spec takes it from here. */
import './task-collector'
import { fc, test as withProperties } from '@fast-check/vitest'

export { fc }

/** `npm test` tries a quarter of the cases, CI all of them: `PROPERTY_RUNS_FACTOR=50 npx vitest run …` is a long hunt. */
const FACTOR = Number(process.env['PROPERTY_RUNS_FACTOR'] ?? 1)
const FEWEST = 5
const DEFAULT_RUNS = 100

interface Parameters {
  numRuns?: number
}
const scaled = (parameters: Parameters = {}): Parameters => {
  const { numRuns = DEFAULT_RUNS } = parameters
  return { ...parameters, numRuns: Math.max(Math.ceil(numRuns * FACTOR), Math.min(numRuns, FEWEST)) }
}

type AnyFunction = (...values: any[]) => unknown

/** `test`, or one of its modifiers, whose properties have the scaled number of runs. */
function scaling<T extends object>(tests: T): T {
  const wrapped = (value: unknown): unknown => (typeof value === 'function' ? scaling(value) : value)
  return new Proxy(tests, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name)
      if (name !== 'prop' || typeof value !== 'function') return wrapped(value)
      return (arbitraries: unknown, parameters?: Parameters) => (value as AnyFunction)(arbitraries, scaled(parameters))
    },
    apply: (target, self, values) => wrapped(Reflect.apply(target as unknown as AnyFunction, self, values)),
  })
}

export const test = FACTOR === 1 ? withProperties : scaling(withProperties)
