// foldCheckpoints: the checkpoints of records that a program has.

import { describe, expect } from 'vitest'
import { fc, test } from '../support/property'
import { foldCheckpoints } from '../../index.js'
import type { SessionRecordLine } from '../../index.js'
import { replayOf, replayedOf, rewind, session, written } from '../support/session-file.js'
import { anyEvents, checkpointEvent, runs } from '../support/session-arbitraries.js'
import { anyFile } from '../support/line-arbitraries.js'
import { expectSame } from '../support/same-replay.js'

describe('foldCheckpoints', () => {
  test('ignores everything that is not a valid event about a checkpoint', () => {
    const fold = foldCheckpoints as (events: unknown[]) => unknown[]
    const line = (changes: object, payload: unknown) => ({
      v: 1,
      seq: 2,
      ts: 't',
      type: 'checkpoint_created',
      payload,
      ...changes,
    })
    const good = { checkpointId: 'c', name: 'n' }
    const odd = [
      undefined,
      null,
      1,
      'checkpoint_created',
      [],
      {},
      () => 1,
      line({ type: 'content' }, good),
      line({ seq: '2' }, good),
      line({ seq: 1.5 }, good),
      line({ seq: -1 }, good),
      line({ seq: 2 ** 53 }, good),
      line({ seq: 2n }, good),
      line({}, null),
      line({}, [good]),
      line({}, 'c'),
      line({}, { checkpointId: 'c' }),
      line({}, { checkpointId: '', name: 'n' }),
      line({}, { checkpointId: 'c', name: '\ufeff ' }),
      line({}, Object.create(good) as object),
      line({ type: 'checkpoint_renamed' }, { checkpointId: 'c', name: 1 }),
      line({ type: 'checkpoint_deleted' }, {}),
    ]
    expect(fold(odd)).toStrictEqual([])
    // Holes are not records either.
    // eslint-disable-next-line no-sparse-arrays
    expect(fold([, line({ ts: 7 }, { ...good, more: 1 }), ...odd])).toStrictEqual([
      { checkpointId: 'c', name: 'n', sequence: 2, deleted: false, createdAt: '' },
    ])
  })

  test('leaves the records unchanged', () => {
    const events = [
      { v: 1, seq: 3, ts: 't', type: 'checkpoint_created', payload: { checkpointId: 'c', name: 'one' } },
      { v: 1, seq: 4, ts: 't', type: 'checkpoint_renamed', payload: { checkpointId: 'c', name: 'two' } },
    ] as SessionRecordLine[]
    const before = written(events)
    expect(foldCheckpoints(events)[0]?.name).toBe('two')
    expect(events).toStrictEqual(before)
  })

  /** The lines of a file that parse, as records. */
  const recordsOf = (text: string) =>
    text.split('\n').flatMap((line) => {
      try {
        return [JSON.parse(line) as SessionRecordLine]
      } catch {
        return []
      }
    })

  test.prop([fc.array(fc.oneof(checkpointEvent, fc.constant(rewind(1))), { maxLength: 40 }), anyEvents], runs(100))(
    'agrees with a replay of the same lines',
    async (events, others) => {
      const text = session(...events, ...others)
      const { checkpoints } = await replayedOf(text)
      expectSame(foldCheckpoints(recordsOf(text)), checkpoints, { keyOrder: false })
      expect(checkpoints).toStrictEqual([...checkpoints].sort((a, b) => a.sequence - b.sequence))
    },
  )

  test.prop([anyFile], runs(300))('agrees with a replay of any file', async (bytes) => {
    const result = await replayOf(bytes)
    const text = new TextDecoder('utf-8').decode(bytes).replaceAll('\r\n', '\n')
    if (result.ok) expectSame(foldCheckpoints(recordsOf(text)), result.checkpoints, { keyOrder: false })
  })
})
