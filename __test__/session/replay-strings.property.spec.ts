// Strings are handed over in four ways, depending on their length and their characters: all arrive as from JSON.parse, whatever a
// program has done to its prototypes.

import { describe, expect } from 'vitest'
import { fc, test } from '../support/property'
import { serialize } from 'node:v8'
import { openSession } from '../../index.js'
import { runChild } from '../support/processes.js'
import { replayedOf, session, writeSession } from '../support/session-file.js'
import { runs } from '../support/session-arbitraries.js'
import { expectSame } from '../support/same-replay.js'

const valueLine = (json: string) => `{"type":"content","payload":{"content":{"speaker":"ai","value":${json}}}}`
const valuesOf = async (texts: readonly string[]) => {
  const { history } = await replayedOf<{ value: unknown }>(session(...texts.map(valueLine)))
  return history.map(({ value }) => value)
}

/** The lengths around which the way of handing over changes, and some in between. */
const length = fc.oneof(fc.integer({ min: 0, max: 80 }), fc.constantFrom(12, 13, 39, 40, 41, 4095, 4096, 4097, 70_000))
const alphabet = fc.constantFrom(
  'plain text ',
  'a\n"\\\t/',
  'Größe, año ',
  'ÿ\u0100',
  '日本語',
  '🌊',
  '\ud800x',
  '\u2028\u0000\u007f',
)
const text = fc
  .tuple(length, alphabet, alphabet)
  .map(([long, first, second]) => (first + second).repeat(long).slice(0, long))
/** As `JSON.stringify` spells it, with every character escaped, and with slashes escaped. */
const spelling = fc.constantFrom(
  (value: string) => JSON.stringify(value),
  (value: string) => `"${value.replace(/[^]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)}"`,
  (value: string) => JSON.stringify(value).replaceAll('/', '\\/'),
)

describe('strings', () => {
  test.prop([fc.array(fc.tuple(text, spelling), { maxLength: 30 })], runs(100))(
    'of any length and spelling',
    async (all) => {
      const expected = all.map(([value]) => value)
      expectSame(await valuesOf(all.map(([value, spell]) => spell(value))), expected)
    },
  )

  test.prop([fc.array(fc.tuple(text, text), { maxLength: 20 })], runs(60))(
    'as keys, any number of times',
    async (members) => {
      const json = `{${members.map(([key, value]) => `${JSON.stringify(key)}:${JSON.stringify(value)}`).join(',')}}`
      expectSame(await valuesOf([json, json]), [JSON.parse(json), JSON.parse(json)])
    },
  )

  test.prop([fc.array(fc.tuple(text, spelling), { minLength: 1, maxLength: 60 }), fc.nat(), fc.nat()], runs(60))(
    'are the same in any range of items',
    async (all, from, to) => {
      const opened = await openSession(writeSession(session(...all.map(([value, spell]) => valueLine(spell(value))))))
      if (!opened.ok) throw new Error(opened.error)
      const range = [from % all.length, to % (all.length + 1)] as const
      const items = (await opened.session.items(...range)) as unknown as { value: string }[]
      opened.session.close()
      expectSame(
        items.map(({ value }) => value),
        all.slice(...range).map(([value]) => value),
      )
    },
  )
})

describe('numbers and nesting', () => {
  const number = fc.oneof(
    fc.integer(),
    fc.double(),
    fc.integer({ min: -(2 ** 27) - 2, max: 2 ** 27 + 2 }),
    fc.maxSafeInteger(),
  )

  test.prop([fc.array(number)], runs(100))('numbers of any size', async (numbers) => {
    const json = JSON.stringify(numbers)
    expectSame(await valuesOf([json]), [JSON.parse(json)])
  })

  test.prop(
    [fc.integer({ min: 0, max: 6 }), fc.integer({ min: 0, max: 300 }), fc.integer({ min: 0, max: 40_000 })],
    runs(30),
  )('arrays of any length, at any depth, next to others', async (short, depth, long) => {
    const texts = [
      `[${Array(short).fill('{}').join(',')}]`,
      `${'['.repeat(depth)}${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}${']'.repeat(depth)}`,
      `[${Array(long).fill('[0.5]').join(',')}]`,
      `[${Array(long).fill('1').join(',')}]`,
      '"behind"',
    ]
    expectSame(
      await valuesOf(texts),
      texts.map((json) => JSON.parse(json) as unknown),
    )
  })
})

describe('properties of a value that programs can observe besides its content', () => {
  /** No numbers under names: V8 writes 0 as a double once it has seen one under that name, which depends on earlier specs of this process. */
  const member = fc.oneof(
    fc.tuple(fc.integer({ min: 0, max: 2000 }).map(String), fc.integer()),
    fc.tuple(fc.string({ maxLength: 5 }), fc.oneof(fc.string({ maxLength: 5 }), fc.boolean())),
  )
  const value = fc.oneof(
    fc.array(fc.integer(), { maxLength: 40 }),
    fc.array(fc.oneof(fc.integer(), fc.double({ noNaN: true })), { maxLength: 9 }),
    fc.array(member, { maxLength: 40 }).map(Object.fromEntries),
  )

  test.prop([fc.array(value, { maxLength: 20 })], runs(100))(
    'its serialised form: arrays have no holes',
    async (values) => {
      const json = JSON.stringify(values)
      expect(serialize((await valuesOf([json]))[0]).equals(serialize(JSON.parse(json)))).toBe(true)
    },
  )

  test('the memory that it takes, whatever its keys are', async () => {
    const objects = (object: string) => valueLine(`[${Array(60).fill(object).join(',')}]`)
    const many = (object: string) => writeSession(session(...Array(400).fill(objects(object))))
    const keys = Array.from({ length: 30 }, (_, n) => `"key${n}":0`).join(',')
    for (const object of ['{"1000":1}', '{"\\u0031000":1}', `{${keys}}`]) {
      const path = many(object)
      const { replay, parse } = JSON.parse((await runChild('child-heap.mjs', [path])).stdout) as Record<string, number>
      expect(replay, object).toBeLessThan(2 * parse!)
    }
  })

  test('metadata, warnings and ids do not keep the page in memory that they came with', async () => {
    const id = 'i'.repeat(36)
    const page = Array(200).fill(valueLine(`{"id":"${id}","text":"${'text '.repeat(200)}"}`))
    const path = writeSession(session(...page, '{"type":"content","payload":{}}', valueLine('1')))
    const { metadata, warnings, ids } = JSON.parse((await runChild('child-heap.mjs', [path, 'kept'])).stdout) as Record<
      string,
      number
    >
    expect(metadata).toBeLessThan(20_000)
    expect(warnings).toBeLessThan(20_000)
    expect(ids).toBeLessThan(60_000)
  })
})

describe('a program that has added to Object.prototype', () => {
  /** Items of a session, read while `key` is a property of `Object.prototype`. */
  async function itemsBeside(key: string, descriptor: PropertyDescriptor, json: string) {
    const opened = await openSession(writeSession(session(valueLine(json))))
    if (!opened.ok) throw new Error(opened.error)
    Object.defineProperty(Object.prototype, key, Object.assign(Object.create(null), descriptor, { configurable: true }))
    try {
      const items = (await opened.session.items()) as unknown as { value: object }[]
      return items.map(({ value }) => value)
    } finally {
      delete (Object.prototype as Record<string, unknown>)[key]
      opened.session.close()
    }
  }

  test.prop([fc.constantFrom('exitCode', 'value', 'get', 'enumerable', 'kind', '7'), text], runs(30))(
    'gets items with properties of their own, and its setter is not called',
    async (key, value) => {
      let calls = 0
      const json = `{"before":1,${JSON.stringify(key)}:${JSON.stringify(value)},"after":{}}`
      const set = () => (calls += 1)
      const [item] = await itemsBeside(key, { get: () => undefined, set }, json)
      expectSame(item, JSON.parse(json))
      expect(calls).toBe(0)
    },
  )

  test('gets them despite a property that cannot be set', async () => {
    expect(await itemsBeside('kind', { value: 'fixed', writable: false }, '{"kind":1}')).toEqual([{ kind: 1 }])
  })
})
