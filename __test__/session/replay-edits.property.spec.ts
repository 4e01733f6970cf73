// Edits of the history: the replay equals one that applies every event to the whole history at once.

import { writeFileSync } from 'node:fs'
import { describe } from 'vitest'
import { openSession, replaySession } from '../../index.js'
import { fc, test } from '../support/property'
import { replayBytes } from '../support/plain-engine.mjs'
import { expectSame, expectSameReplay } from '../support/same-replay.js'
import { editEvent, malformedEvent, runs, unknownEvent } from '../support/session-arbitraries.js'
import { PROJECT_HASH, replayOf, session, writeSession } from '../support/session-file.js'
import type { Event } from '../support/session-file.js'

const edits = fc.array(
  fc.oneof(
    { weight: 12, arbitrary: editEvent },
    { weight: 1, arbitrary: malformedEvent },
    { weight: 1, arbitrary: unknownEvent },
  ),
  { maxLength: 60 },
)

/** Lines whose `v` and `seq` may be those of no version and no record. */
const oddLine = fc
  .tuple(
    editEvent,
    fc.constantFrom<unknown>(1, 1, 1, 1, 1, 2, 2, 0, 3, '1', null, true, [1, [null]], {}, -0, undefined),
    fc.constantFrom<unknown>(undefined, 1, 5, -1, '7', 0.5),
  )
  .map(([[type, payload], v, seq]) => JSON.stringify({ v, ...(seq !== undefined && { seq }), type, payload }))

describe('edits of the history', () => {
  test.prop(
    [
      edits,
      fc.array(oddLine, { maxLength: 3 }),
      edits,
      fc.option(fc.nat({ max: 62 }), { nil: undefined }),
      fc.boolean(),
    ],
    runs(500),
  )(
    'replay as in the plain engine, also among lines of other versions and without numbers, and up to any number',
    async (before, odd, after, throughSeq, strict) => {
      const text = session(...before, ...odd, ...after)
      const options = { strict, throughSeq }
      expectSameReplay(
        await replayOf(text, PROJECT_HASH, options),
        replayBytes(Buffer.from(text), PROJECT_HASH, options),
      )
    },
  )

  test.prop([edits, fc.integer({ min: -12, max: 12 }), fc.integer({ min: -12, max: 12 }), fc.boolean()], runs(80))(
    'are seen by a session that is read in pages',
    async (events, from, to, strict) => {
      const text = session(...events)
      const whole = replayBytes(Buffer.from(text), undefined, { strict })
      const opened = await openSession(writeSession(text), undefined, { strict })
      if (!opened.ok || !whole.ok) throw new Error('a session replays')
      expectSame(await opened.session.items(from, to), whole.history.slice(from, to))
      expectSame(opened.session.historyLength, whole.history.length)
      expectSame(opened.session.semanticMediaPurgeFrontier, whole.semanticMediaPurgeFrontier)
      expectSame(opened.session.unknownEvents, whole.unknownEvents)
      opened.session.close()
    },
  )

  test.prop([fc.array(fc.tuple(editEvent, fc.nat()), { minLength: 1, maxLength: 30 })], runs(15))(
    'replay as in the plain engine in a file of several parts',
    async (events) => {
      // Unknown events of a megabyte, which a replay skips, drive the edits apart.
      const filler: Event = ['filler', 'x'.repeat(1 << 20)]
      const lines = events.flatMap(([event, gap]) => (gap % 3 === 0 ? [event, filler] : [event]))
      const text = session(...lines)
      const filePath = writeSession('')
      writeFileSync(filePath, text)
      expectSameReplay(
        await replaySession(filePath, undefined, { strict: true }),
        replayBytes(Buffer.from(text), undefined, { strict: true }),
      )
    },
  )
})
