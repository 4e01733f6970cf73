// Titles, names, checkpoints and forks: the effect of each event on a replay, valid or malformed.

import { describe, expect } from 'vitest'
import { fc, test } from '../support/property'
import { foldCheckpoints } from '../../index.js'
import type { SessionRecordLine } from '../../index.js'
import {
  START_PAYLOAD,
  compressed,
  content,
  envelope,
  file,
  replayOf,
  replayedOf,
  rewind,
  session,
  start,
  textsOf,
  written,
} from '../support/session-file.js'
import type { Event } from '../support/session-file.js'
import { anyEvents, checkpointEvent, runs } from '../support/session-arbitraries.js'
import { anyFile } from '../support/line-arbitraries.js'
import { eachCase } from '../support/each-case.js'
import { expectSame } from '../support/same-replay.js'

const MODES = [false, true]
const created = (checkpointId: unknown, name: unknown): Event => ['checkpoint_created', { checkpointId, name }]
const renamed = (checkpointId: unknown, name: unknown): Event => ['checkpoint_renamed', { checkpointId, name }]
const deleted = (checkpointId: unknown): Event => ['checkpoint_deleted', { checkpointId }]
const titled = (payload: unknown): Event => ['session_metadata', payload]
const named = (name: unknown): Event => ['session_named', { name }]
const FORK = { parentSessionId: 'parent', parentSequence: 7, checkpointId: 'c', checkpointName: 'before' }
const forked = (changes: object = {}): Event => ['session_forked', { ...FORK, ...changes }]
const SIX = [
  'session_metadata',
  'checkpoint_created',
  'checkpoint_renamed',
  'checkpoint_deleted',
  'session_forked',
  'session_named',
]
const SUMMARY = 'Replay: 1 malformed events skipped'

/** The warnings about one event in line 2, the same in either mode. Forty other events keep the share of malformed ones below its own warning. */
async function warningsOf(event: Event) {
  const others = Array.from({ length: 40 }, () => rewind(0))
  const [lenient, strict] = await Promise.all(
    MODES.map((mode) => replayedOf(session(event, ...others), { strict: mode })),
  )
  const { sessionName, ancestry } = lenient!
  const warnings = lenient!.warnings.filter((warning) => warning !== SUMMARY)
  expectSame(
    strict,
    { sessionName, ancestry, ...lenient, warnings, metadata: { ...lenient!.metadata, kind: 'main' } },
    { keyOrder: false },
  )
  return lenient!.warnings
}

describe('a malformed event has no effect, and its warning names the first requirement that it does not meet', () => {
  test('a payload that is missing or not an object', () =>
    eachCase(
      SIX.flatMap((type) =>
        [undefined, null, 1, 'x', true, [], [{ checkpointId: 'c', name: 'n', title: 1 }]].map(
          (payload) => [type, payload] as const,
        ),
      ),
      async (event) =>
        expect(await warningsOf(event)).toStrictEqual([`Line 2: malformed ${event[0]} event, skipping`, SUMMARY]),
    ))

  test('a title that is neither null nor a string', () =>
    eachCase([0, true, {}, ['t']], async (title) => {
      expect(await warningsOf(titled({ title }))).toStrictEqual([
        'Line 2: malformed session_metadata title, skipping',
        SUMMARY,
      ])
    }))

  test('a checkpointId that is empty or not a string', () =>
    eachCase(
      [
        created(undefined, ''),
        created('', 'n'),
        renamed(null, 1),
        renamed(3, 'n'),
        deleted(undefined),
        deleted(''),
        deleted({}),
        forked({ checkpointId: '' }),
        forked({ checkpointId: 1, parentSequence: -1 }),
      ],
      async (event) =>
        expect(await warningsOf(event)).toStrictEqual([
          `Line 2: malformed ${event[0]} event (missing checkpointId), skipping`,
          SUMMARY,
        ]),
    ))

  test('a name that is blank', () =>
    eachCase(
      [
        undefined,
        null,
        1,
        ['n'],
        '',
        ' ',
        '\t\n\v\f\r\u2028\u2029',
        '\ufeff\u00a0\u1680\u2000\u200a\u202f\u205f\u3000',
      ],
      async (name) => {
        for (const event of [created('c', name), renamed('c', name)]) {
          expect(await warningsOf(event)).toStrictEqual([
            `Line 2: malformed ${event[0]} event (missing name), skipping`,
            SUMMARY,
          ])
        }
      },
    ))

  test('but a name that is not blank is valid, and kept untrimmed', () =>
    eachCase(['\u200b', '\u180e', '\u0085', '\b', ' x ', '\ud800', '\u0000'], async (name) => {
      const { checkpoints, warnings } = await replayedOf(session(created('c', name), renamed('c', ` ${name}`)))
      expect(checkpoints).toMatchObject([{ name: ` ${name}` }])
      expect(warnings).toStrictEqual([])
    }))

  test('a fork without its source', () =>
    eachCase(
      [
        { parentSessionId: 1 },
        { parentSessionId: undefined },
        { checkpointName: null },
        ...[undefined, '7', -1, 1.5, 2 ** 53].map((parentSequence) => ({ parentSequence })),
      ],
      async (changes) =>
        expect(await warningsOf(forked(changes))).toStrictEqual([
          'Line 2: malformed session_forked event, skipping',
          SUMMARY,
        ]),
    ))

  test('a name of a session that is neither null nor a string', () =>
    eachCase([undefined, 0, false, {}], async (name) => {
      expect(await warningsOf(named(name))).toStrictEqual(['Line 2: malformed session_named event, skipping', SUMMARY])
    }))

  test('a checkpoint event without a position, which is checked before anything else', () =>
    eachCase(['"1"', 'null', '1.5', '-1', '9007199254740992', '1e999', undefined], async (seq) => {
      for (const [type, payload] of [created('', ''), renamed('c', 'n'), deleted('c')]) {
        const member = seq === undefined ? '' : `"seq":${seq},`
        const line = `{"v":1,${member}"type":"${type}","payload":${JSON.stringify(payload)}}`
        const { warnings, checkpoints } = await replayedOf(session(line))
        expect(warnings).toContain(`Line 2: malformed ${type} event, skipping`)
        expect(checkpoints).toStrictEqual([])
        const strict = await replayedOf(session(line), { strict: true })
        expect(strict.warnings[0]).toBe('Line 2: malformed sequence number, skipping')
      }
    }))

  test('but positions that are spelled differently in JSON are valid', () =>
    eachCase(['-0', '0', '1.0', '1e3', '9007199254740991', '9007199254740991.4'], async (seq) => {
      const line = `{"v":1,"seq":${seq},"type":"checkpoint_created","payload":{"checkpointId":"c","name":"n"}}`
      for (const strict of MODES) {
        const { checkpoints } = await replayedOf(session(line), { strict })
        expectSame(
          checkpoints,
          [{ checkpointId: 'c', name: 'n', sequence: JSON.parse(seq) as number, deleted: false, createdAt: '' }],
          { keyOrder: false },
        )
      }
    }))
})

describe('titles and names', () => {
  test('are strings, null or absent', async () => {
    const plain = await replayedOf(session(titled({})))
    for (const name of ['sessionName', 'ancestry']) expect(Object.hasOwn(plain, name)).toBe(false)
    for (const name of ['cwd', 'title']) expect(Object.hasOwn(plain.metadata, name)).toBe(false)
    for (const text of ['', 'a', null]) {
      const result = await replayedOf(session(titled({ title: text }), named(text)))
      expect([result.metadata.title, result.sessionName]).toStrictEqual([text, text])
    }
  })

  test('the last of several counts, and a record without the key changes nothing', async () => {
    const { metadata, sessionName } = await replayedOf(
      session(
        titled({ title: 'one' }),
        named(null),
        titled({ title: 'two' }),
        titled({ other: 1 }),
        titled({ title: 3 }),
        named('n'),
        named(1),
      ),
    )
    expect([metadata.title, sessionName]).toStrictEqual(['two', 'n'])
    const removed = await replayedOf(
      session(titled({ title: 'one' }), titled({ title: null }), named('n'), named(null)),
    )
    expect([removed.metadata.title, removed.sessionName]).toStrictEqual([null, null])
  })

  test('a key counts as JSON.parse reads it', async () => {
    const line = (payload: string) => `{"v":1,"seq":2,"type":"session_metadata","payload":${payload}}`
    const titleOf = async (payload: string) => (await replayedOf(session(line(payload)))).metadata.title
    expect(await titleOf('{"title":1,"t\\u0069tle":"two"}')).toBe('two')
    expect(await titleOf('{"title":"one","title":null}')).toBeNull()
    expect(await titleOf('{"__proto__":{"title":"inherited"}}')).toBeUndefined()
  })

  test('cwd is that of the session_start, if it is a string', async () => {
    expect((await replayedOf(file(start({ cwd: '/w' })))).metadata).toStrictEqual({ ...START_PAYLOAD, cwd: '/w' })
    expect((await replayedOf(file(start({ cwd: '' })))).metadata.cwd).toBe('')
    for (const cwd of [null, 1, ['/w']])
      expect(Object.hasOwn((await replayedOf(file(start({ cwd })))).metadata, 'cwd')).toBe(false)
  })
})

describe('ancestry', () => {
  test('is the payload of the first valid fork, further keys included', async () => {
    const more = { zeta: [1, { a: null }], parentSessionId: '', checkpointName: '' }
    const { ancestry } = await replayedOf(session(forked({ parentSequence: -1 }), forked(more), forked()))
    expectSame(ancestry, { ...FORK, ...more })
  })
})

describe('checkpoints', () => {
  const seqs = async (...events: (Event | string)[]) => replayedOf(session(...events))

  test('have the watermark and the time of their creation, and their last name', async () => {
    const { checkpoints, history, warnings } = await seqs(
      content('a'),
      created('c', ' first '),
      content('b'),
      renamed('c', 'second'),
      created('d', 'other'),
      deleted('d'),
    )
    expect(checkpoints).toStrictEqual([
      { checkpointId: 'c', name: 'second', sequence: 3, deleted: false, createdAt: '2026-02-11T16:00:03.000Z' },
      { checkpointId: 'd', name: 'other', sequence: 6, deleted: true, createdAt: '2026-02-11T16:00:06.000Z' },
    ])
    expect(textsOf(history)).toStrictEqual(['a', 'b'])
    expect(warnings).toStrictEqual([])
  })

  test('are never created again, even after a deletion', async () => {
    const { checkpoints, warnings } = await seqs(
      created('c', 'one'),
      created('c', 'two'),
      deleted('c'),
      created('c', 'three'),
      renamed('c', 'four'),
      deleted('c'),
    )
    expect(checkpoints).toMatchObject([{ name: 'four', sequence: 2, deleted: true }])
    expect(warnings).toStrictEqual([
      'Sequence 3: checkpoint_created duplicates checkpoint c',
      'Sequence 5: checkpoint_created duplicates checkpoint c',
      'Sequence 6: checkpoint_renamed references deleted checkpoint c',
      'Sequence 7: checkpoint_deleted references deleted checkpoint c',
    ])
  })

  test('the deletion of an unknown checkpoint deletes nothing, but is remembered', async () => {
    const { checkpoints, warnings } = await seqs(
      renamed('c', 'x'),
      deleted('c'),
      renamed('c', 'y'),
      created('c', 'one'),
      renamed('c', 'two'),
      deleted('c'),
    )
    expect(checkpoints).toMatchObject([{ name: 'two', sequence: 5, deleted: true }])
    expect(warnings).toStrictEqual([
      'Sequence 2: checkpoint_renamed references unknown checkpoint c',
      'Sequence 3: checkpoint_deleted references unknown checkpoint c',
      'Sequence 4: checkpoint_renamed references deleted checkpoint c',
      'Sequence 6: checkpoint_renamed references deleted checkpoint c',
      'Sequence 7: checkpoint_deleted references deleted checkpoint c',
    ])
    expect((await seqs(deleted('c'), created('c', 'one'))).checkpoints).toMatchObject([{ deleted: false }])
  })

  test('are in the order of their watermarks, and in file order if these are equal', async () => {
    const line = (seq: number, id: string) => envelope(seq, created(id, id))
    const { checkpoints, sequenceCorrupt } = await seqs(
      line(9, 'a'),
      line(3, 'b'),
      line(9, 'c'),
      line(0, 'd'),
      '{"v":1,"seq":-0,"type":"checkpoint_created","payload":{"checkpointId":"e","name":"e"}}',
    )
    expect(checkpoints.map(({ checkpointId }) => checkpointId).join('')).toBe('debac')
    expect(sequenceCorrupt).toBe(true)
  })

  test('a time that is not a string becomes an empty one', async () => {
    for (const ts of ['1', 'null', '{}']) {
      const { checkpoints } = await seqs(
        `{"v":1,"seq":2,"ts":${ts},"type":"checkpoint_created","payload":{"checkpointId":"c","name":"n"}}`,
      )
      expect(checkpoints).toMatchObject([{ createdAt: '' }])
    }
  })

  test('ids are compared as decoded strings', async () => {
    const bytes = (id: string | Buffer) =>
      Buffer.concat([
        Buffer.from('{"v":1,"seq":9,"type":"checkpoint_deleted","payload":{"checkpointId":"'),
        Buffer.from(id as string),
        Buffer.from('"}}\n'),
      ])
    for (const [id, spelt] of [
      ['a\ufffd', Buffer.from([0x61, 0xff])],
      ['\ud800', '\\ud800'],
      ['\u00e9', '\\u00e9'],
    ] as const) {
      const { checkpoints } = await replayedOf(
        Buffer.concat([Buffer.from(session(created(id, 'n'))), bytes(spelt as string)]),
      )
      expect(checkpoints).toMatchObject([{ checkpointId: id, deleted: true }])
    }
  })

  test('their warnings name the id as it is in the event', async () => {
    const ids = ['c', 'a b', 'Überblick', '\ud800', '"\n', 'ID', 'x'.repeat(5000)]
    const { warnings } = await seqs(
      ...ids.flatMap((id) => [renamed(id, 'n'), created(id, 'n'), created(id, 'n'), deleted(id), deleted(id)]),
    )
    expect(warnings).toStrictEqual(
      ids.flatMap((id, at) => [
        `Sequence ${5 * at + 2}: checkpoint_renamed references unknown checkpoint ${id}`,
        `Sequence ${5 * at + 4}: checkpoint_created duplicates checkpoint ${id}`,
        `Sequence ${5 * at + 6}: checkpoint_deleted references deleted checkpoint ${id}`,
      ]),
    )
  })

  test('their warnings come after all others, at most a hundred of them, and do not count as malformed events', async () => {
    const odd = Array.from({ length: 103 }, () => deleted('c'))
    const { warnings } = await seqs(...odd, 'not json', titled({ title: 1 }))
    expect(warnings.slice(0, 3)).toStrictEqual([
      'Line 105: failed to parse JSON',
      'Line 106: malformed session_metadata title, skipping',
      SUMMARY,
    ])
    expect(warnings).toHaveLength(3 + 100 + 1)
    expect(warnings[3]).toBe('Sequence 2: checkpoint_deleted references unknown checkpoint c')
    expect(warnings[102]).toBe('Sequence 101: checkpoint_deleted references deleted checkpoint c')
    expect(warnings[103]).toBe('Replay: 3 further checkpoint warnings not shown')
    const { warnings: all } = await seqs(...odd.slice(0, 100))
    expect(all).toHaveLength(100)
  })

  test('a failed replay has no warnings about them', async () => {
    expect(await replayOf(file(deleted('c'), content('a')))).toStrictEqual({
      ok: false,
      error: 'Missing or corrupt session_start event',
      warnings: [],
    })
  })
})

describe('throughSeq', () => {
  const text = session(
    content('a'),
    created('c', 'one'),
    content('b'),
    renamed('c', 'two'),
    titled({ title: 't' }),
    named('n'),
    forked(),
    deleted('c'),
  )

  test('at, before and after a watermark has the part that was read', async () => {
    const at = async (throughSeq: number) => replayedOf(text, { throughSeq })
    expect((await at(2)).checkpoints).toStrictEqual([])
    const on = await at(3)
    expect(on.checkpoints).toMatchObject([{ name: 'one', deleted: false, sequence: 3 }])
    expect(textsOf(on.history)).toStrictEqual(['a'])
    expect((await at(5)).checkpoints).toMatchObject([{ name: 'two', deleted: false }])
    for (const name of ['sessionName', 'ancestry']) expect(Object.hasOwn(await at(5), name)).toBe(false)
    expect(await at(8)).toMatchObject({
      sessionName: 'n',
      ancestry: FORK,
      metadata: { title: 't' },
      checkpoints: [{ deleted: false }],
    })
    expect((await at(9)).checkpoints).toMatchObject([{ deleted: true }])
  })

  test('ignores a torn line after the cut', async () => {
    for (const torn of ['{"v":1,"seq":4,"type":"checkpoint_ren', 'x']) {
      for (const strict of MODES) {
        const whole = await replayedOf(text, { throughSeq: 3, strict })
        expectSame(await replayedOf(text + torn, { throughSeq: 3, strict }), whole)
      }
    }
  })
})

describe('sequenceCorrupt', () => {
  test('is detected even beyond the warnings that are shown', async () => {
    const broken = Array.from({ length: 150 }, () => '{')
    for (const strict of MODES) {
      expect((await replayedOf(session(...broken, content('a')), { strict })).sequenceCorrupt).toBe(false)
      const result = await replayedOf(session(...broken, content('a'), envelope(2, content('b'))), { strict })
      expect(result.sequenceCorrupt).toBe(true)
      expect(result.warnings.join()).not.toContain('non-monotonic')
      expect(textsOf(result.history)).toStrictEqual(['a', 'b'])
    }
  })
})

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

  test('takes an array', () =>
    eachCase([undefined, null, {}, 'x', new Set(), { length: 1, 0: {} }], (events) => {
      expect(() => (foldCheckpoints as (events: unknown) => unknown)(events)).toThrow(
        expect.objectContaining({
          name: 'TypeError',
          code: 'ERR_INVALID_ARG_TYPE',
          message: expect.stringContaining('events'),
        }),
      )
    }))

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

describe('for any session', () => {
  test.prop([anyEvents], runs(60))(
    'a deleted checkpoint stays deleted, and renaming moves no watermark',
    async (events) => {
      const text = session(...events, created('c1', 'x'))
      const before = (await replayedOf(text)).checkpoints
      const after = (
        await replayedOf(
          text +
            before
              .map(({ checkpointId }, at) => `${envelope(events.length + 3 + at, renamed(checkpointId, 'new'))}\n`)
              .join(''),
        )
      ).checkpoints
      expect(after).toStrictEqual(before.map((checkpoint) => ({ ...checkpoint, name: 'new' })))
    },
  )

  test.prop([anyEvents, anyEvents], runs(60))(
    'a replay up to a watermark has the history at the creation of the checkpoint',
    async (before, after) => {
      const text = session(...before, created('mine', 'x'))
      const whole = await replayedOf(
        text +
          session(compressed('s'), ...after, rewind(1))
            .split('\n')
            .slice(1)
            .map((line, at) =>
              line === '' ? '' : JSON.stringify({ ...(JSON.parse(line) as object), seq: before.length + 3 + at }),
            )
            .join('\n'),
      )
      const { sequence } = whole.checkpoints.find(({ checkpointId }) => checkpointId === 'mine')!
      expect(sequence).toBe(before.length + 2)
      const through = await replayedOf(text, { throughSeq: sequence })
      expectSame(through.history, (await replayedOf(text)).history)
    },
  )

  test.prop([anyEvents], runs(60))('the six types never change the history', async (events) => {
    const history = async (list: Event[]) => (await replayedOf(session(...list))).history
    expectSame(await history(events), await history(events.filter(([type]) => !SIX.includes(type))))
  })
})
