/** Damage anywhere costs at most the records that it touches, and a repaired session needs no repair. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { repairSession, replaySession } from '../../index.js'
import type { RepairReceipt } from '../../index.js'
import { directoryOf } from '../support/file-directory'
import { fc, test } from '../support/property'
import { anyItem, runs } from '../support/session-arbitraries'
import { content, envelope, PROJECT_HASH, start, type Event } from '../support/session-file'

const strictItem = fc
  .tuple(anyItem, fc.constantFrom('human', 'ai', 'tool'))
  .map(([one, speaker]) => ({ ...one, speaker }))
const printed = fc
  .string({ maxLength: 20 })
  .map((inner) => content(`${envelope(7, content(inner))}\n{"v":1,"seq":2`, 'tool'))
const event: fc.Arbitrary<Event> = fc.oneof(
  { weight: 5, arbitrary: strictItem.map((one): Event => ['content', { content: one }]) },
  { weight: 2, arbitrary: printed },
  {
    weight: 1,
    arbitrary: fc.dictionary(fc.string(), fc.jsonValue(), { maxKeys: 3 }).map((payload): Event => ['newer', payload]),
  },
)
const session = fc
  .array(event, { minLength: 1, maxLength: 8 })
  .map((events) => [start(), ...events].map((one, at) => envelope(at + 1, one)))
const place = fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true })

/** Whether a record that is not cut stands directly at the cut: it may then be an object inside another record. */
function isAtEdge(lines: string[], from: number, to: number): boolean {
  let end = 0
  return lines.some((line) => {
    end += Buffer.byteLength(line) + 1
    return end === to || end === from + 1
  })
}

async function repaired(bytes: Uint8Array): Promise<{ receipt: RepairReceipt; records: string[] }> {
  const directory = directoryOf({ 'a.jsonl': bytes })
  const destination = join(directory, 'b.jsonl')
  const receipt = await repairSession(join(directory, 'a.jsonl'), destination, { projectHash: PROJECT_HASH })
  const again = await repairSession(destination, join(directory, 'c.jsonl'))
  expect(again.changed).toBe(false)
  expect(readFileSync(join(directory, 'c.jsonl'))).toEqual(readFileSync(destination))
  expect((await replaySession(destination, undefined, { strict: true })).ok).toBe(true)
  return { receipt, records: readFileSync(destination, 'utf8').trimEnd().split('\n') }
}

/** A record without its number, which a repair may change. */
const body = (line: string): unknown => ({ ...(JSON.parse(line) as object), seq: 0 })

/** Expects the lines among the records, in this order. */
function expectKept(lines: string[], records: string[]): void {
  const found = records.map(body)
  let from = 0
  for (const line of lines) {
    const at = found.findIndex((one, index) => index >= from && JSON.stringify(one) === JSON.stringify(body(line)))
    if (at < 0) expect(found).toContainEqual(body(line))
    from = at + 1
  }
}

/** The lines that the bytes from `from` to `to` are no part of. */
function untouched(lines: string[], from: number, to: number): string[] {
  let end = 0
  return lines.filter((line) => {
    const begin = end
    end += Buffer.byteLength(line) + 1
    return end - 1 <= from || begin >= to
  })
}

test.prop([session], runs(60))('a session without damage is copied, whatever its tools have printed', async (lines) => {
  const bytes = Buffer.from(lines.map((line) => `${line}\n`).join(''))
  const { receipt, records } = await repaired(bytes)
  expect([receipt.changed, records]).toEqual([false, lines])
})

test.prop([session, place, fc.nat({ max: 255 })], runs(150))(
  'another byte costs one record at most',
  async (lines, where, byte) => {
    const bytes = Buffer.from(lines.map((line) => `${line}\n`).join(''))
    const at = Math.floor(where * bytes.length)
    // What such a byte follows is the value of something, if there is no line end between them.
    fc.pre(bytes[at] !== 0x0a || !',]}'.includes(String.fromCharCode(byte)))
    bytes[at] = byte
    expectKept(untouched(lines, at, at + 1), (await repaired(bytes)).records)
  },
)

test.prop([session, place, fc.nat({ max: 400 })], runs(150))(
  'a cut costs the records that it touches',
  async (lines, where, length) => {
    const bytes = Buffer.from(lines.map((line) => `${line}\n`).join(''))
    const from = Math.floor(where * bytes.length)
    const kept = untouched(lines, from, from + length)
    fc.pre(kept.length > 0 && !isAtEdge(lines, from, from + length))
    expectKept(kept, (await repaired(Buffer.concat([bytes.subarray(0, from), bytes.subarray(from + length)]))).records)
  },
)

test.prop([session, place, place], runs(100))(
  'a fragment that is fused onto a record costs nothing',
  async (lines, which, where) => {
    const at = Math.floor(which * lines.length)
    const whole = Buffer.from(lines[at]!)
    const fragment = whole.subarray(0, Math.floor(where * whole.length))
    const before = lines
      .slice(0, at)
      .map((line) => `${line}\n`)
      .join('')
    const { receipt, records } = await repaired(
      Buffer.concat([Buffer.from(before), fragment, Buffer.from(`${lines.slice(at).join('\n')}\n`)]),
    )
    expectKept(lines, records)
    expect(receipt.lostBytes).toBe(0)
  },
)

test.prop([session], runs(60))('records without their line feeds are divided', async (lines) => {
  const { receipt, records } = await repaired(Buffer.from(lines.join('')))
  expect(records.slice(0, lines.length)).toEqual(lines)
  expect(receipt.recovered).toBe(lines.length)
})
