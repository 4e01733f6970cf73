import { parse, define, own } from '../builtins.js'
import type { TapeBatch } from './batch.js'
import type { NativeJob } from './native.js'
import { type Shape, Shapes } from './shapes.js'

/** The kinds of codes, and the maximum number of codes of a batch, as in `src/tape/mod.rs`. */
const OBJECT = 0
const ARRAY = 1
const NARROW = 2
const WIDE = 3
const NAME = 4
const TEXT = 5
const JSON_TEXT = 6
const INTEGER = 7
const NUMBER = 8
const TRUE = 9
const FALSE = 10
const MAX_CODES = 32 << 10

/**
 * The state of the current batch, in variables of the module rather than properties because this code is the bottleneck of a replay. No
 * other code runs between the first and the last value of a batch.
 */
let codes: Int32Array | undefined
let at = 0
let shapes: Shape[] | undefined
let names: string[] | undefined
let narrow = ''
let narrowAt = 0
let wide = ''
let wideAt = 0
let texts: NativeJob | undefined

/** Two views of the same bits: as two codes and as a number. */
const halves = new Int32Array(2)
const number = new Float64Array(halves.buffer)

/**
 * Builds the values on the tape of a batch, which equal those of `JSON.parse`, and appends as many to each array as the batch says. Reads the tape
 * from `job`.
 */
export function appendValues(
  job: NativeJob,
  batch: TapeBatch,
  items: unknown[],
  events: unknown[],
  checkpoints: unknown[],
  results: unknown[],
): void {
  begin(job, batch)
  try {
    append(items, batch.items)
    append(events, batch.events)
    append(checkpoints, batch.checkpoints)
    append(results, batch.results)
  } finally {
    // Substrings keep the pools of text alive; this module must not.
    names = texts = shapes = undefined
    narrow = wide = ''
  }
}

function append(all: unknown[], count: number): void {
  for (let left = count; left > 0; left--) all[all.length] = value()
}

function begin(job: NativeJob, batch: TapeBatch): void {
  codes ??= new Int32Array(MAX_CODES)
  job.codes(codes)
  at = 0
  names = batch.names
  shapes = known.list(batch.shapes)
  narrow = job.narrow()!
  narrowAt = 0
  wide = batch.wide ? job.wide()! : ''
  wideAt = 0
  texts = job
}

function value(): unknown {
  const code = codes![at++]!
  switch (code & 15) {
    case NAME:
      return names![code >> 4]
    case NARROW: {
      const start = narrowAt
      narrowAt += code >> 4
      return narrow.substring(start, narrowAt)
    }
    case OBJECT:
      return object(shapes![code >> 4]!)
    case ARRAY:
      return array(code >> 4)
    case INTEGER:
      return code >> 4
    case WIDE: {
      const start = wideAt
      wideAt += code >> 4
      return wide.substring(start, wideAt)
    }
    case TEXT:
      return texts!.text(code >> 4)
    case JSON_TEXT:
      return parse(texts!.text(code >> 4)!)
    case NUMBER:
      halves[0] = codes![at++]!
      halves[1] = codes![at++]!
      return smallest(number[0]!)
    case TRUE:
      return true
    case FALSE:
      return false
    default:
      return null
  }
}

/** Returns the value as a small integer if it is one. Minus zero is not. */
function smallest(value: number): number {
  const integer = value | 0
  return integer === value && (integer !== 0 || 1 / value > 0) ? integer : value
}

/**
 * The most frequent objects of sessions. An object literal takes less time and memory than adding member by member, and evaluates its values in
 * order.
 */
const BUILDERS = [
  {
    keys: ['v', 'seq', 'ts', 'type', 'payload'],
    build: () => ({ v: value(), seq: value(), ts: value(), type: value(), payload: value() }),
  },
  { keys: ['content'], build: () => ({ content: value() }) },
  { keys: ['speaker', 'blocks'], build: () => ({ speaker: value(), blocks: value() }) },
  { keys: ['speaker', 'blocks', 'metadata'], build: () => ({ speaker: value(), blocks: value(), metadata: value() }) },
  { keys: ['type', 'text'], build: () => ({ type: value(), text: value() }) },
  {
    keys: ['type', 'id', 'name', 'parameters'],
    build: () => ({ type: value(), id: value(), name: value(), parameters: value() }),
  },
  {
    keys: ['type', 'callId', 'toolName', 'result'],
    build: () => ({ type: value(), callId: value(), toolName: value(), result: value() }),
  },
]

const known = new Shapes(BUILDERS)

function object(shape: Shape): object {
  const { build, keys } = shape
  if (build !== undefined) return build()
  const built: Record<string, unknown> = {}
  for (let index = 0; index < keys.length; index++) {
    // Assigning to this key might call an inherited setter.
    if (shape.isInherited) define(built, keys[index]!, own(value()))
    else built[keys[index]!] = value()
  }
  return built
}

/** Builds an array that V8 represents like a parsed one, without holes. Structured clone and serialisation treat holey arrays differently. */
function array(length: number): unknown[] {
  if (length === 0) return []
  if (length === 1) return [value()]
  if (length === 2) return [value(), value()]
  if (length === 3) return [value(), value(), value()]
  const built = (nulls ??= manyNulls()).slice(0, length)
  for (let index = 0; index < length; index++) built[index] = value()
  return built
}

/** Longer arrays are copied from this one and filled, so that they have exactly the capacity that they need. */
let nulls: unknown[] | undefined

function manyNulls(): null[] {
  return parse(`[${'null,'.repeat(MAX_CODES - 1)}null]`)
}
