// The types of diffs, checked by the compiler: nothing here is executed.
import { describe, expectTypeOf, test } from 'vitest'

import {
  diff,
  diffToText,
  traceAncestors,
  type CausalEdge,
  type Diff,
  type DiffOptions,
  type DiffSide,
  type Progress,
} from '../../index.js'

describe('a diff', () => {
  test('is null, or has two sides, of which either may be null', async () => {
    const found = await diff('left', 'right')
    expectTypeOf(found).toEqualTypeOf<Diff | null>()
    if (found === null) return
    expectTypeOf(found.left).toEqualTypeOf<DiffSide | null>()
    expectTypeOf(found.divergence_event).toEqualTypeOf<number>()
    expectTypeOf(found.fields).toExtend<{ path: string; left?: unknown; right?: unknown }[]>()
    expectTypeOf(found.ancestors).toExtend<{ left: CausalEdge[]; right: CausalEdge[] }>()
    expectTypeOf(found.edits).toExtend<
      { op: 'insert' | 'delete' | 'change'; left?: number; right?: number; fields?: Diff['fields'] }[] | undefined
    >()
    expectTypeOf(found.left!['anything']).toEqualTypeOf<unknown>()
    expectTypeOf(found.likely_cause).toEqualTypeOf<
      | 'ExternalDataChanged'
      | 'InputChanged'
      | 'ScheduleChanged'
      | 'PolicyChanged'
      | 'WorkflowChanged'
      | 'LogTruncated'
      | 'Unknown'
    >()
  })

  test('takes its options', () => {
    const options: DiffOptions = { full: true, heartbeats: false, ignore: ['/a'], signal: AbortSignal.abort() }
    options.onProgress = (progress) => expectTypeOf(progress).toEqualTypeOf<Progress>()
    // @ts-expect-error: a list
    options.ignore = '/a'
  })

  test('has a text rendering, and an event has an ancestry', async () => {
    expectTypeOf(diffToText(null, { color: true })).toEqualTypeOf<string>()
    expectTypeOf(await traceAncestors('run', 'evt_1')).toEqualTypeOf<{ chain: CausalEdge[]; truncated: boolean }>()
  })
})
