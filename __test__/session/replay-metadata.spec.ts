// The metadata of a session and its session events: start, project, provider, model and directories.

import { describe, expect } from 'vitest'
import { fc, test } from '../support/property'
import {
  START_METADATA,
  compressed,
  content,
  envelope,
  file,
  replayOf,
  replayedOf,
  rewind,
  session,
  sessionEvent,
  start,
  textsOf,
} from '../support/session-file.js'
import type { Event } from '../support/session-file.js'
import {
  anyEvent,
  anyEvents,
  anyString,
  compressedEvent,
  contentEvent,
  filledString,
  lateStartEvent,
  malformedEvent,
  noteEvent,
  rewindEvent,
  runs,
  severity,
  unknownEvent,
} from '../support/session-arbitraries.js'
import { eachCase } from '../support/each-case.js'
import { expectSame } from '../support/same-replay.js'

describe('metadata', () => {
  test('provider_switch changes provider and model; the last one counts', async () => {
    const { metadata } = await replayedOf(
      session(
        ['provider_switch', { provider: 'openai', model: 'gpt-5' }],
        ['provider_switch', { provider: 'google', model: 'gemini' }],
      ),
    )
    expect(metadata).toStrictEqual({ ...START_METADATA, provider: 'google', model: 'gemini' })
  })

  test('provider_switch without a filled model keeps the old one and fits', () =>
    eachCase([undefined, '', null, 7, {}, ['gpt-5']], async (model) => {
      const { metadata, warnings } = await replayedOf(session(['provider_switch', { provider: 'openai', model }]))
      expect(metadata).toStrictEqual({ ...START_METADATA, provider: 'openai' })
      expect(warnings).toStrictEqual([])
    }))

  test('directories_changed replaces the workspace directories', async () => {
    const { metadata } = await replayedOf(session(['directories_changed', { directories: ['/a', '', '/ü b'] }]))
    expect(metadata).toStrictEqual({ ...START_METADATA, workspaceDirs: ['/a', '', '/ü b'] })
    const emptied = await replayedOf(session(['directories_changed', { directories: [] }]))
    expect(emptied.metadata.workspaceDirs).toStrictEqual([])
  })

  test('session_start fields that are not strings become empty, workspaceDirs that is not an array of strings []', async () => {
    const odd = start({ provider: 7, model: null, startTime: ['now'], workspaceDirs: ['/a', 1] })
    const { metadata, warnings } = await replayedOf(file(odd))
    expect(metadata).toStrictEqual({ ...START_METADATA, provider: '', model: '', startTime: '', workspaceDirs: [] })
    expect(warnings).toStrictEqual([])
  })

  test('session_start may have only its required fields, and unknown ones', async () => {
    const { metadata } = await replayedOf(
      file(['session_start', { sessionId: 's', projectHash: 'p', future: { x: 1 } }]),
    )
    expect(metadata).toStrictEqual({
      sessionId: 's',
      projectHash: 'p',
      provider: '',
      model: '',
      startTime: '',
      workspaceDirs: [],
    })
  })

  test('workspaceDirs of any other kind becomes []', () =>
    eachCase(['/a', { 0: '/a', length: 1 }, null, true], async (workspaceDirs) => {
      const { metadata } = await replayedOf(file(start({ workspaceDirs })))
      expect(metadata.workspaceDirs).toStrictEqual([])
    }))
})

describe('the session_start', () => {
  test('missing: the first line is some other event', async () => {
    const result = await replayOf(file(content('a'), content('b')))
    expect(result).toStrictEqual({ ok: false, error: 'Missing or corrupt session_start event', warnings: [] })
  })

  test('corrupt: the replay continues to the end and fails there, with the warnings of the lines', async () => {
    const result = await replayOf(
      file('{"v":1,"seq":1,"type":"session_sta', content('a'), ['rewind', {}], ['novelty', {}]),
    )
    expect(result).toStrictEqual({
      ok: false,
      error: 'Missing or corrupt session_start event',
      warnings: [
        'Line 1: failed to parse JSON',
        'Line 3: malformed rewind event, skipping',
        "Line 4: unknown event type 'novelty', skipping",
      ],
    })
  })

  test('on any other line it is reported and skipped, whatever its payload, and does not count as malformed', async () => {
    const result = await replayedOf(
      session(
        content('a'),
        start({ sessionId: 'other' }),
        ['session_start', {}],
        ['session_start', null],
        content('b'),
      ),
    )
    expect(result.metadata).toStrictEqual(START_METADATA)
    expect(textsOf(result.history)).toStrictEqual(['a', 'b'])
    expect(result.eventCount).toBe(6)
    expect(result.warnings).toStrictEqual([
      'session_start at line 3 (expected line 1)',
      'session_start at line 4 (expected line 1)',
      'session_start at line 5 (expected line 1)',
    ])
  })

  test('after a blank first line it is on line 2, which is the wrong place', async () => {
    const result = await replayOf('\n' + session(content('a')))
    expect(result).toStrictEqual({
      ok: false,
      error: 'Missing or corrupt session_start event',
      warnings: ['session_start at line 2 (expected line 1)'],
    })
  })

  test('before it, provider_switch and directories_changed have no effect if they fit and are malformed if they do not', async () => {
    const events = [
      ['provider_switch', { provider: 'openai', model: 'gpt-5' }],
      ['directories_changed', { directories: ['/a'] }],
      ['provider_switch', { provider: '' }],
      ['directories_changed', {}],
    ] as const
    expect(await replayOf(file(...events, start()))).toStrictEqual({
      ok: false,
      error: 'Missing or corrupt session_start event',
      warnings: [
        'Line 3: malformed provider_switch event, skipping',
        'Line 4: malformed directories_changed event, skipping',
        'session_start at line 5 (expected line 1)',
      ],
    })
  })

  test('its seq may be anything: nothing came before it', async () => {
    for (const [seq, lastSeq] of [
      [7, 7],
      [0, 0],
      [-3, -3],
      ['one', 0],
    ] as const) {
      const result = await replayedOf(envelope(seq, start()))
      expect(result.lastSeq).toBe(lastSeq)
      expect(result.warnings).toStrictEqual([])
    }
  })
})

describe('the project hash', () => {
  test('the expected one replays, another is refused at once', async () => {
    const text = session(content('a'), ['rewind', {}])
    expect((await replayOf(text, START_METADATA.projectHash)).ok).toBe(true)
    expect(await replayOf(text, 'feedface')).toStrictEqual({
      ok: false,
      error: `Project hash mismatch: expected feedface got ${START_METADATA.projectHash}`,
      warnings: [],
    })
  })

  test('the empty string is a hash that no session has', async () => {
    const result = await replayOf(session(), '')
    expect(result).toMatchObject({
      ok: false,
      error: `Project hash mismatch: expected  got ${START_METADATA.projectHash}`,
    })
  })

  test('is compared and shown as a JavaScript string: escapes, lone surrogates, any script', async () => {
    const line =
      '{"v":1,"seq":1,"type":"session_start","payload":{"sessionId":"s","projectHash":"\\ud83d\\u00e9\\n漢"}}\n'
    expect((await replayOf(line, '\ud83dé\n漢')).ok).toBe(true)
    expect(await replayOf(line, '\ud83d')).toMatchObject({
      error: 'Project hash mismatch: expected \ud83d got \ud83dé\n漢',
    })
  })

  test('required fields are checked before the hash', async () => {
    expect(await replayOf(file(start({ sessionId: '' })), 'feedface')).toMatchObject({
      error: 'Invalid session_start: missing required fields',
    })
  })
})

describe('session events', () => {
  test('are collected in order, exactly severity and message, and are never in the history', async () => {
    const result = await replayedOf(
      session(
        content('a'),
        sessionEvent('tool timed out', 'warning'),
        sessionEvent('', 'error'),
        content('b'),
        sessionEvent('done'),
      ),
    )
    expect(result.sessionEvents).toStrictEqual([
      { severity: 'warning', message: 'tool timed out' },
      { severity: 'error', message: '' },
      { severity: 'info', message: 'done' },
    ])
    expect(textsOf(result.history)).toStrictEqual(['a', 'b'])
  })

  test('have only the fields of the contract, and are kept through compressions and rewinds', async () => {
    const noted = ['session_event', { severity: 'info', message: 'kept', timestamp: 'x', seq: 9, extra: {} }] as const
    const result = await replayedOf(session(content('a'), noted, compressed('sum'), rewind(9)))
    expect(result.sessionEvents).toStrictEqual([{ severity: 'info', message: 'kept' }])
    expect(result.history).toStrictEqual([])
  })
})

describe('for any session', () => {
  const inert = fc.oneof(
    contentEvent,
    compressedEvent,
    rewindEvent,
    noteEvent,
    lateStartEvent,
    unknownEvent,
    malformedEvent,
  )
  test.prop([fc.array(inert, { maxLength: 25 })], runs(100))(
    'metadata stays the same through any events that do not concern it',
    async (events) => {
      expect((await replayedOf(session(...events))).metadata).toStrictEqual(START_METADATA)
    },
  )

  const identity = fc.record(
    {
      sessionId: filledString,
      projectHash: filledString,
      workspaceDirs: fc.array(anyString, { maxLength: 4 }),
      provider: anyString,
      model: anyString,
      startTime: anyString,
    },
    { noNullPrototype: true },
  )
  test.prop([identity, fc.array(inert, { maxLength: 5 })], runs(100))(
    'metadata is that of the session_start, whatever the strings',
    async (payload, events) => {
      const text = file(['session_start', payload], ...events)
      expect((await replayedOf(text)).metadata).toStrictEqual(payload)
      expect((await replayOf(text, payload.projectHash)).ok).toBe(true)
    },
  )

  test.prop([filledString, filledString], runs(60))(
    'any other hash is refused, and the error names both',
    async (given, expected) => {
      const result = await replayOf(file(start({ projectHash: given })), expected)
      expect(result.ok).toBe(given === expected)
      if (!result.ok) expect(result.error).toBe(`Project hash mismatch: expected ${expected} got ${given}`)
    },
  )

  const change = fc.oneof(
    fc.record({ provider: filledString, model: anyString }).map((payload): Event => ['provider_switch', payload]),
    fc
      .record({ directories: fc.array(anyString, { maxLength: 3 }) })
      .map((payload): Event => ['directories_changed', payload]),
    anyEvent.filter(([type]) => !['provider_switch', 'directories_changed', 'session_metadata'].includes(type)),
  )
  test.prop([fc.array(change, { maxLength: 20 })], runs(80))(
    'the last provider, the last filled model and the last directories count',
    async (events) => {
      const expected = { ...START_METADATA }
      for (const [type, payload] of events as [string, { provider: string; model: string; directories: string[] }][]) {
        if (type === 'provider_switch')
          Object.assign(expected, { provider: payload.provider, model: payload.model || expected.model })
        if (type === 'directories_changed') expected.workspaceDirs = payload.directories
      }
      expect((await replayedOf(session(...events))).metadata).toStrictEqual(expected)
    },
  )

  test.prop(
    [fc.array(fc.record({ severity, message: anyString }, { noNullPrototype: true }), { maxLength: 10 }), anyEvents],
    runs(60),
  )('all session events are returned, in order, and add nothing to the history', async (notes, events) => {
    const others = events.filter(([type]) => type !== 'session_event')
    const noteEvents = notes.map((note): Event => ['session_event', note])
    const woven = others
      .flatMap((event, at) => [...noteEvents.slice(at, at + 1), event])
      .concat(noteEvents.slice(others.length))
    const result = await replayedOf(session(...woven))
    expect(result.sessionEvents).toStrictEqual(notes)
    expectSame(result.history, (await replayedOf(session(...others))).history)
  })
})
