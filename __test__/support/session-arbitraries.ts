// What can happen in a session, as fast-check arbitraries: items, events that fit, events that don't.

import * as fc from 'fast-check'
import { codePoint } from './code-points.js'
import type { IContent } from '../../index.js'
import type { Event } from './session-file.js'

/** Parameters with the number of runs of a property. */
export const runs = (count: number) => ({ numRuns: count })

/** Any string a program can hold: every plane, control characters, halves of surrogate pairs. */
export const anyString = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 12 }),
  fc.string({ unit: codePoint, maxLength: 12 }),
  fc.array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 8 }).map((units) => String.fromCharCode(...units)),
  fc.constantFrom('', '\u2028', '\u2029', '\u0000', '\ufeff', '\ud83d', '\\u0041', '"', '\\', '\r\n', '__proto__'),
)
export const filledString = anyString.filter((text) => text !== '')

const block = fc.oneof(
  fc.record({ type: fc.constant('text'), text: anyString }),
  fc.record({ type: fc.constant('tool_call'), id: anyString, name: anyString, parameters: fc.jsonValue() }),
  fc.record(
    {
      type: fc.constant('tool_response'),
      callId: anyString,
      toolName: anyString,
      result: fc.jsonValue(),
      error: anyString,
    },
    { requiredKeys: ['type', 'callId', 'toolName', 'result'] },
  ),
  fc.record({
    type: fc.constant('media'),
    mimeType: anyString,
    data: anyString,
    encoding: fc.constantFrom('url', 'base64'),
  }),
  fc.record({ type: fc.constant('thinking'), thought: anyString }),
  fc.record({ type: fc.constant('code'), code: anyString, language: anyString }, { requiredKeys: ['type', 'code'] }),
  // A block of a newer CLI, and any other JSON value.
  fc.record({ type: anyString, extra: fc.jsonValue() }),
  fc.jsonValue(),
)

const knownFields = fc.record(
  {
    speaker: fc.oneof(
      { weight: 3, arbitrary: fc.constantFrom('human', 'ai', 'tool') },
      { weight: 1, arbitrary: filledString },
    ),
    blocks: fc.array(block, { maxLength: 4 }),
    metadata: fc.dictionary(anyString, fc.jsonValue(), { maxKeys: 3 }),
  },
  { requiredKeys: ['speaker', 'blocks'] },
)

/** An item with the fields of the contract, and with fields before and after them that the addon does not know. */
export const anyItem: fc.Arbitrary<IContent> = fc
  .tuple(
    fc.dictionary(anyString, fc.jsonValue(), { maxKeys: 2 }),
    knownFields,
    fc.dictionary(anyString, fc.jsonValue(), { maxKeys: 2 }),
  )
  .map(([before, known, after]) => ({ ...before, ...after, ...known }) as unknown as IContent)

export const anyNumber = fc.oneof(fc.integer(), fc.double({ noNaN: true, noDefaultInfinity: true }))
const notAString: fc.Arbitrary<unknown> = fc.oneof(
  fc.integer(),
  fc.boolean(),
  fc.constant(null),
  fc.constant([]),
  fc.constant({}),
  fc.constant(undefined),
)
export const notAFilledString: fc.Arbitrary<unknown> = fc.oneof(notAString, fc.constant(''))
const notANumber: fc.Arbitrary<unknown> = fc.oneof(
  anyString,
  fc.boolean(),
  fc.constant(null),
  fc.constant([1]),
  fc.constant({}),
  fc.constant(undefined),
)
const notAnItem: fc.Arbitrary<unknown> = fc.oneof(
  notAString,
  anyString,
  notAFilledString.map((speaker) => ({ speaker, blocks: [] })),
  fc.constant([{ speaker: 'ai' }]),
)
const notStrings: fc.Arbitrary<unknown> = fc.oneof(
  notAString.filter((value) => !Array.isArray(value)),
  anyString,
  fc.tuple(fc.array(anyString, { maxLength: 2 }), notAString).map(([texts, other]) => [...texts, other]),
  fc.constant({ 0: '/a', length: 1 }),
)
export const severity = fc.constantFrom('info', 'warning', 'error')

const event = (type: string, payload: fc.Arbitrary<unknown>): fc.Arbitrary<Event> =>
  payload.map((value) => [type, value])

/** Events by their effect on a replay. A number of items may be a fraction. */
export const contentEvent = event('content', fc.record({ content: anyItem }))
export const compressedEvent = event('compressed', fc.record({ summary: anyItem, itemsCompressed: anyNumber }))
export const rewindEvent = event(
  'rewind',
  fc.record({
    itemsRemoved: fc.oneof(
      fc.nat({ max: 4 }),
      fc.double({ min: 0, max: 4, noNaN: true }),
      fc.constantFrom(1e9, 2 ** 53, 1e300),
    ),
  }),
)
export const providerSwitchEvent = event(
  'provider_switch',
  fc.record({ provider: filledString, model: fc.oneof(filledString, notAFilledString) }),
)
export const directoriesEvent = event(
  'directories_changed',
  fc.record({ directories: fc.array(anyString, { maxLength: 3 }) }),
)
export const noteEvent = event('session_event', fc.record({ severity, message: anyString }))
const titleEvent = event('session_metadata', fc.record({ title: fc.option(anyString) }, { requiredKeys: [] }))
const nameEvent = event('session_named', fc.record({ name: fc.option(anyString) }))
/** Few ids, so that they recur. */
const checkpointId = fc.oneof(
  { weight: 8, arbitrary: fc.constantFrom('c1', 'c2', 'c3', '\ud800', '__proto__') },
  { weight: 1, arbitrary: filledString },
)
const checkpointName = anyString.filter((text) => text.trim() !== '')
const named = fc.record({ checkpointId, name: checkpointName })
const forkPayload = fc
  .tuple(
    fc.dictionary(anyString, fc.jsonValue(), { maxKeys: 2 }),
    fc.record({ parentSessionId: anyString, parentSequence: fc.maxSafeNat(), checkpointId, checkpointName: anyString }),
  )
  .map(([more, fork]) => ({ ...more, ...fork }))
export const checkpointEvent: fc.Arbitrary<Event> = fc.oneof(
  { weight: 3, arbitrary: event('checkpoint_created', named) },
  { weight: 2, arbitrary: event('checkpoint_renamed', named) },
  { weight: 2, arbitrary: event('checkpoint_deleted', fc.record({ checkpointId })) },
)
const presentationEvent: fc.Arbitrary<Event> = fc.oneof(titleEvent, nameEvent, event('session_forked', forkPayload))

export const lateStartEvent = event(
  'session_start',
  fc.oneof(fc.jsonValue(), fc.record({ sessionId: anyString, projectHash: anyString })),
)

export const KNOWN_TYPES = [
  'session_start',
  'content',
  'compressed',
  'rewind',
  'provider_switch',
  'session_event',
  'directories_changed',
  'session_metadata',
  'checkpoint_created',
  'checkpoint_renamed',
  'checkpoint_deleted',
  'session_forked',
  'session_named',
  'density_mutation',
  'synthetic_insert',
  'chronology_bind',
  'semantic_media_purge',
  'compression_detail',
]

/** Few keys, so that items have the same ones, and so that edits find them. */
const key = fc.oneof(
  { weight: 12, arbitrary: fc.nat({ max: 5 }) },
  { weight: 1, arbitrary: fc.constantFrom(-0, 2 ** 53 - 1) },
)
const notAKey = fc.constantFrom<unknown>(-1, 0.5, 2 ** 53, '1', null, true, [], {}, undefined)
const wholeItem = fc
  .tuple(anyItem, fc.constantFrom('human', 'ai', 'tool'))
  .map(([item, speaker]) => ({ ...item, speaker }))
const marker = fc
  .tuple(fc.dictionary(anyString, fc.jsonValue(), { maxKeys: 1 }), key)
  .map(([more, seq]) => ({ ...more, seq }))
const metadata = fc.oneof(
  { weight: 8, arbitrary: marker.map((chronology) => ({ chronology })) },
  {
    weight: 3,
    arbitrary: fc
      .tuple(fc.dictionary(anyString, fc.jsonValue(), { maxKeys: 2 }), marker)
      .map(([more, chronology]) => ({ ...more, chronology, z: 1 })),
  },
  {
    weight: 1,
    arbitrary: fc.oneof(
      fc.jsonValue(),
      fc.record({
        chronology: fc.oneof(
          fc.jsonValue(),
          notAKey.map((seq) => ({ seq })),
        ),
      }),
    ),
  },
)
/** An item that mostly has a key. */
export const keyedItem = fc.oneof(
  {
    weight: 6,
    arbitrary: fc
      .tuple(fc.constantFrom('human', 'ai', 'tool'), anyString, metadata)
      .map(([speaker, text, data]) => ({ speaker, blocks: [{ type: 'text', text }], metadata: data })),
  },
  { weight: 1, arbitrary: fc.tuple(wholeItem, metadata).map(([item, data]) => ({ metadata: data, ...item })) },
  { weight: 1, arbitrary: wholeItem },
)
const chronology = fc.record({ seq: key, userTurn: key, step: key, recordedAt: fc.maxSafeNat() })
const purged = fc.array(wholeItem, { maxLength: 4 })

/** Events that edit the history, and those that add the items for them. */
export const editEvent: fc.Arbitrary<Event> = fc.oneof(
  { weight: 12, arbitrary: event('content', fc.record({ content: keyedItem })) },
  { weight: 1, arbitrary: event('compressed', fc.record({ summary: keyedItem, itemsCompressed: fc.nat() })) },
  { weight: 1, arbitrary: event('rewind', fc.record({ itemsRemoved: fc.nat({ max: 3 }) })) },
  {
    weight: 2,
    arbitrary: event(
      'rewind',
      fc.record({
        itemsRemoved: fc.nat({ max: 3 }),
        cutSeq: fc.oneof({ weight: 4, arbitrary: key }, { weight: 1, arbitrary: notAKey }),
      }),
    ),
  },
  {
    weight: 3,
    arbitrary: event(
      'density_mutation',
      fc.record({
        removedSeqs: fc.array(key, { maxLength: 3 }),
        replacements: fc.array(fc.record({ replacedSeq: key, replacement: keyedItem }), { maxLength: 3 }),
      }),
    ),
  },
  {
    weight: 3,
    arbitrary: event('synthetic_insert', fc.record({ content: keyedItem, chronologySeq: key, afterSeq: key })),
  },
  {
    weight: 3,
    arbitrary: event(
      'chronology_bind',
      fc.record(
        { rowIndex: fc.nat({ max: 8 }), chronology, content: keyedItem, invalidateResponses: fc.boolean() },
        { requiredKeys: ['rowIndex', 'chronology'] },
      ),
    ),
  },
  {
    weight: 1,
    arbitrary: event(
      'semantic_media_purge',
      fc.oneof(purged, fc.array(keyedItem, { maxLength: 4 })).chain((history) =>
        fc.record({
          history: fc.constant(history),
          frontier: fc.record({
            contentIndex: fc.nat({ max: Math.max(0, history.length) }),
            blockIndex: fc.nat({ max: 1 }),
          }),
        }),
      ),
    ),
  },
  {
    weight: 1,
    arbitrary: event(
      'compression_detail',
      fc.record({ fromSeq: anyNumber, toSeq: anyNumber, itemsCompressed: anyNumber }),
    ),
  },
)

export const unknownEvent: fc.Arbitrary<Event> = fc.tuple(
  fc
    .oneof(
      anyString,
      fc.constantFrom('Content', 'content ', 'toString', 'constructor', '__proto__', 'undefined', 'session_starts'),
    )
    .filter((type) => !KNOWN_TYPES.includes(type)),
  fc.jsonValue(),
)

/** Payloads that fit no type: they have nothing that a type requires. */
const noObject = fc.constantFrom<unknown>(undefined, null, 0, 1, '', 'text', true, [], [{}])
const unfitting = fc.oneof(noObject, fc.constant({}))
const notAnId = fc.record({ checkpointId: notAFilledString, name: fc.constant('n') })
const notAName = fc.record({ checkpointId, name: fc.oneof(notAString, fc.constantFrom('', ' ', '\u2003\ufeff\n')) })

/** By type, payloads that lack something that the type requires. */
export const malformedPayloads = {
  content: fc.oneof(unfitting, fc.record({ content: notAnItem })),
  compressed: fc.oneof(
    unfitting,
    fc.record({ summary: notAnItem, itemsCompressed: anyNumber }),
    fc.record({ summary: anyItem, itemsCompressed: notANumber }),
  ),
  rewind: fc.oneof(
    unfitting,
    fc.record({ itemsRemoved: notANumber }),
    fc.record({ itemsRemoved: fc.double({ max: -Number.MIN_VALUE, noNaN: true, noDefaultInfinity: true }) }),
  ),
  provider_switch: fc.oneof(unfitting, fc.record({ provider: notAFilledString, model: anyString })),
  session_event: fc.oneof(
    unfitting,
    fc.record({
      severity: fc.oneof(notAString, fc.constantFrom('', 'Info', 'warn', 'fatal', 'infos')),
      message: anyString,
    }),
    fc.record({ severity, message: notAString }),
  ),
  directories_changed: fc.oneof(unfitting, fc.record({ directories: notStrings })),
  session_metadata: fc.oneof(
    noObject,
    fc.record({ title: fc.oneof(fc.integer(), fc.boolean(), fc.constant([]), fc.constant({})) }),
  ),
  checkpoint_created: fc.oneof(unfitting, notAnId, notAName),
  checkpoint_renamed: fc.oneof(unfitting, notAnId, notAName),
  checkpoint_deleted: fc.oneof(unfitting, notAnId),
  session_forked: fc.oneof(
    unfitting,
    notAnId,
    fc.record({ parentSessionId: notAString, parentSequence: fc.nat(), checkpointId, checkpointName: anyString }),
    fc.record({
      parentSessionId: anyString,
      parentSequence: fc.oneof(notANumber, fc.constantFrom(-1, 0.5, 2 ** 53)),
      checkpointId,
      checkpointName: anyString,
    }),
    fc.record({ parentSessionId: anyString, parentSequence: fc.nat(), checkpointId, checkpointName: notAString }),
  ),
  session_named: fc.oneof(unfitting, fc.record({ name: notAString.filter((value) => value !== null) })),
  density_mutation: fc.oneof(
    unfitting,
    fc.record({ removedSeqs: fc.constantFrom<unknown>(undefined, null, {}, 1), replacements: fc.constant([]) }),
    fc.record({ removedSeqs: fc.tuple(key, notAKey), replacements: fc.constant([]) }),
    fc.record({
      removedSeqs: fc.constant([]),
      replacements: fc.constantFrom<unknown>(undefined, null, {}, [null], [[]]),
    }),
    fc.record({
      removedSeqs: fc.array(key),
      replacements: fc.tuple(fc.record({ replacedSeq: notAKey, replacement: keyedItem })),
    }),
    fc.record({
      removedSeqs: fc.array(key),
      replacements: fc.tuple(fc.record({ replacedSeq: key, replacement: notAnItem })),
    }),
  ),
  synthetic_insert: fc.oneof(
    unfitting,
    fc.record({ content: notAnItem, chronologySeq: key, afterSeq: key }),
    fc.record({ content: keyedItem, chronologySeq: notAKey, afterSeq: key }),
    fc.record({ content: keyedItem, chronologySeq: key, afterSeq: notAKey }),
    fc.record({ content: keyedItem, chronologySeq: key, afterSeq: fc.constant(77) }),
  ),
  chronology_bind: fc.oneof(
    unfitting,
    fc.record({ rowIndex: notAKey, chronology }),
    fc.record({ rowIndex: fc.constant(1e6), chronology }),
    fc.record({ rowIndex: fc.constant(0), chronology: fc.constantFrom<unknown>(undefined, null, [], 1, {}) }),
    fc
      .tuple(chronology, fc.constantFrom('seq', 'userTurn', 'step', 'recordedAt'), notAKey)
      .map(([four, name, value]) => ({
        rowIndex: 0,
        chronology: { ...four, [name]: value },
      })),
    fc.record({ rowIndex: fc.constant(0), chronology, content: notAnItem.filter((value) => value !== undefined) }),
  ),
  semantic_media_purge: fc.oneof(
    unfitting,
    fc.record({
      history: fc.constantFrom<unknown>(undefined, null, {}, [null]),
      frontier: fc.constant({ contentIndex: 0, blockIndex: 0 }),
    }),
    fc.record({
      history: fc.constant([]),
      frontier: fc.constantFrom<unknown>(
        undefined,
        null,
        {},
        { contentIndex: 0 },
        { contentIndex: 1, blockIndex: 0 },
        { contentIndex: 0, blockIndex: 1 },
      ),
    }),
    fc.record({
      history: fc.tuple(keyedItem),
      frontier: fc.constantFrom({ contentIndex: 1, blockIndex: 0 }, { contentIndex: 0, blockIndex: 99 }),
    }),
  ),
  compression_detail: fc.oneof(
    unfitting,
    fc.record({ fromSeq: notANumber, toSeq: anyNumber, itemsCompressed: anyNumber }),
    fc.record({ fromSeq: anyNumber, toSeq: anyNumber, itemsCompressed: notANumber }),
  ),
}
export const malformedEvent: fc.Arbitrary<Event> = fc.oneof(
  ...Object.entries(malformedPayloads).map(([type, payload]) => event(type, payload)),
)

/** Any event that leaves a session replayable. */
export const anyEvent: fc.Arbitrary<Event> = fc.oneof(
  { weight: 6, arbitrary: contentEvent },
  { weight: 1, arbitrary: compressedEvent },
  { weight: 2, arbitrary: rewindEvent },
  { weight: 1, arbitrary: providerSwitchEvent },
  { weight: 1, arbitrary: directoriesEvent },
  { weight: 1, arbitrary: noteEvent },
  { weight: 2, arbitrary: checkpointEvent },
  { weight: 1, arbitrary: presentationEvent },
  { weight: 1, arbitrary: lateStartEvent },
  { weight: 1, arbitrary: unknownEvent },
  { weight: 2, arbitrary: malformedEvent },
  { weight: 2, arbitrary: editEvent },
)
export const anyEvents = fc.array(anyEvent, { maxLength: 25 })
