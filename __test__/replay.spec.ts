// What each event does to a replay: history, metadata, session events, counts.

import { renameSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { describe, expect, test } from 'vitest';
import { replaySession } from '../index.js';
import {
  START_METADATA,
  compressed,
  content,
  envelope,
  file,
  item,
  replayOf,
  replayedOf,
  rewind,
  session,
  sessionEvent,
  start,
  textsOf,
  writeSession,
} from './support/session-file.js';
import { eachCase } from './support/each-case.js';
import { expectSame } from './support/same-replay.js';

describe('history', () => {
  test('a user turn and an answer come back in order, with the metadata of the session_start', async () => {
    const result = await replayOf(session(content('hello', 'human'), content('good day', 'ai')));
    expect(result).toStrictEqual({
      ok: true,
      history: [item('human', 'hello'), item('ai', 'good day')],
      metadata: START_METADATA,
      lastSeq: 3,
      eventCount: 3,
      warnings: [],
      sessionEvents: [],
    });
  });

  test('a session that has only begun replays to an empty history', async () => {
    const result = await replayedOf(session());
    expect(result.history).toStrictEqual([]);
    expect(result.lastSeq).toBe(1);
    expect(result.eventCount).toBe(1);
  });

  test('text, tool_call, tool_response and fields unknown to the addon are preserved, key order and all', async () => {
    const call = {
      zeta: 1,
      speaker: 'ai',
      blocks: [
        { type: 'text', text: 'reading the file', vendor: { z: null, a: [1.5, -0.25, 'é\u2028😀'] } },
        { type: 'tool_call', id: 'call_1', name: 'read_file', parameters: { path: '/a b/ü.ts', limit: 20, deep: { list: [{}, []] } } },
        { type: 'hologram', rays: [0, 1e21, 1e-7] },
      ],
      metadata: { tokens: 12, cached: false },
      alpha: '',
    };
    const answer = {
      speaker: 'tool',
      blocks: [{ type: 'tool_response', callId: 'call_1', toolName: 'read_file', result: { text: 'a\n\tb' }, error: 'cut\u0000' }],
    };
    const { history } = await replayedOf<unknown>(session(['content', { content: call }], ['content', { content: answer }]));
    expectSame(history, [call, answer]);
  });

  test('every speaker that is a non-empty string is a speaker', async () => {
    const items = ['human', 'ai', 'tool', 'critic', '__proto__', ' '].map((speaker) => ({ speaker }));
    const { history, warnings } = await replayedOf<unknown>(session(...items.map((entry) => ['content', { content: entry }] as const)));
    expectSame(history, items);
    expect(warnings).toStrictEqual([]);
  });

  test('a compression resets the history to its summary', async () => {
    const { history } = await replayedOf(session(content('a'), content('b'), compressed('a and b', 2), content('c')));
    expect(textsOf(history)).toStrictEqual(['a and b', 'c']);
    expect(history[0]).toStrictEqual(item('ai', 'a and b'));
  });

  test('of several compressions the last counts', async () => {
    const events = [content('a'), compressed('first', 1), content('b'), compressed('second', 2), content('c'), content('d')];
    const { history } = await replayedOf(session(...events));
    expect(textsOf(history)).toStrictEqual(['second', 'c', 'd']);
  });

  test('a compression of nothing still leaves its summary', async () => {
    const { history } = await replayedOf(session(compressed('nothing yet', 0)));
    expect(textsOf(history)).toStrictEqual(['nothing yet']);
  });

  test('a rewind takes the last items', async () => {
    const { history } = await replayedOf(session(content('a'), content('b'), content('c'), rewind(2), content('d')));
    expect(textsOf(history)).toStrictEqual(['a', 'd']);
  });

  test('a rewind beyond the length empties the history and reaches no further', async () => {
    const { history } = await replayedOf(session(content('a'), content('b'), rewind(3), content('c')));
    expect(textsOf(history)).toStrictEqual(['c']);
  });

  test('a rewind after a compression takes the summary as one item', async () => {
    const kept = await replayedOf(session(content('a'), compressed('sum', 1), content('b'), rewind(1)));
    expect(textsOf(kept.history)).toStrictEqual(['sum']);
    const emptied = await replayedOf(session(content('a'), compressed('sum', 1), content('b'), rewind(2), content('c')));
    expect(textsOf(emptied.history)).toStrictEqual(['c']);
  });

  test('rewind by %s of three items', () =>
    eachCase([
    ['0', ['a', 'b', 'c']],
    ['-0', ['a', 'b', 'c']],
    ['1.0', ['a', 'b']],
    ['1.5', ['a']],
    ['0.0000001', ['a', 'b']],
    ['5e-324', ['a', 'b']],
    ['1e-400', ['a', 'b', 'c']],
    ['2.0000000000000001', ['a']],
    ['2.000000000000001', []],
    ['4294967296', []],
    ['4294967297', []],
    ['18446744073709551617', []],
    ['9007199254740993', []],
    ['1e999', []],
  ], async (itemsRemoved, left) => {
    const line = `{"v":1,"seq":5,"type":"rewind","payload":{"itemsRemoved":${itemsRemoved}}}`;
    const { history, warnings } = await replayedOf(session(content('a'), content('b'), content('c'), line));
    expect(warnings).toStrictEqual([]);
    expect(textsOf(history)).toStrictEqual(left);
  }));

  test('content, compressed and rewind interleaved', async () => {
    const { history } = await replayedOf(
      session(
        content('a'), rewind(1), content('b'), content('c'), compressed('bc', 2), rewind(0), content('d'), rewind(5),
        rewind(1), content('e'), content('f'), rewind(1), content('g'), compressed('eg', 2), content('h'),
      ),
    );
    expect(textsOf(history)).toStrictEqual(['eg', 'h']);
  });

  test('what was compressed or rewound leaves nothing behind in a later replay of the same file', async () => {
    const filePath = writeSession(session(content('a'), rewind(1), content('b')));
    const first = await replaySession(filePath);
    if (first.ok) first.history.push(item('ai', 'added by the caller'));
    const second = await replaySession(filePath);
    expect(second.ok && textsOf(second.history)).toStrictEqual(['b']);
  });
});

describe('metadata', () => {
  test('provider_switch changes provider and model; the last one counts', async () => {
    const { metadata } = await replayedOf(
      session(['provider_switch', { provider: 'openai', model: 'gpt-5' }], ['provider_switch', { provider: 'google', model: 'gemini' }]),
    );
    expect(metadata).toStrictEqual({ ...START_METADATA, provider: 'google', model: 'gemini' });
  });

  test('provider_switch with the model %o keeps the old model and fits', () =>
    eachCase([[undefined], [''], [null], [7], [{}], [['gpt-5']]], async (model) => {
    const { metadata, warnings } = await replayedOf(session(['provider_switch', { provider: 'openai', model }]));
    expect(metadata).toStrictEqual({ ...START_METADATA, provider: 'openai' });
    expect(warnings).toStrictEqual([]);
  }));

  test('directories_changed replaces the workspace directories', async () => {
    const { metadata } = await replayedOf(session(['directories_changed', { directories: ['/a', '', '/ü b'] }]));
    expect(metadata).toStrictEqual({ ...START_METADATA, workspaceDirs: ['/a', '', '/ü b'] });
    const emptied = await replayedOf(session(['directories_changed', { directories: [] }]));
    expect(emptied.metadata.workspaceDirs).toStrictEqual([]);
  });

  test('session_start fields that are not strings become empty, workspaceDirs that is not an array of strings []', async () => {
    const odd = start({ provider: 7, model: null, startTime: ['now'], workspaceDirs: ['/a', 1] });
    const { metadata, warnings } = await replayedOf(file(odd));
    expect(metadata).toStrictEqual({ ...START_METADATA, provider: '', model: '', startTime: '', workspaceDirs: [] });
    expect(warnings).toStrictEqual([]);
  });

  test('session_start with only its required fields, and with fields that nobody knows', async () => {
    const { metadata } = await replayedOf(file(['session_start', { sessionId: 's', projectHash: 'p', future: { x: 1 } }]));
    expect(metadata).toStrictEqual({ sessionId: 's', projectHash: 'p', provider: '', model: '', startTime: '', workspaceDirs: [] });
  });

  test('workspaceDirs of %o becomes []', () =>
    eachCase([['/a'], [{ 0: '/a', length: 1 }], [null], [true]], async (workspaceDirs) => {
    const { metadata } = await replayedOf(file(start({ workspaceDirs })));
    expect(metadata.workspaceDirs).toStrictEqual([]);
  }));
});

describe('the session_start', () => {
  test('missing: the first line is some other event', async () => {
    const result = await replayOf(file(content('a'), content('b')));
    expect(result).toStrictEqual({ ok: false, error: 'Missing or corrupt session_start event', warnings: [] });
  });

  test('corrupt: the replay goes on to the end and fails there, with the warnings of the lines', async () => {
    const result = await replayOf(file('{"v":1,"seq":1,"type":"session_sta', content('a'), ['rewind', {}], ['novelty', {}]));
    expect(result).toStrictEqual({
      ok: false,
      error: 'Missing or corrupt session_start event',
      warnings: [
        'Line 1: failed to parse JSON',
        'Line 3: malformed rewind event, skipping',
        "Line 4: unknown event type 'novelty', skipping",
      ],
    });
  });

  test('on any other line it is reported and skipped, whatever is in it, and is not malformed', async () => {
    const result = await replayedOf(session(content('a'), start({ sessionId: 'other' }), ['session_start', {}], ['session_start', null], content('b')));
    expect(result.metadata).toStrictEqual(START_METADATA);
    expect(textsOf(result.history)).toStrictEqual(['a', 'b']);
    expect(result.eventCount).toBe(6);
    expect(result.warnings).toStrictEqual([
      'session_start at line 3 (expected line 1)',
      'session_start at line 4 (expected line 1)',
      'session_start at line 5 (expected line 1)',
    ]);
  });

  test('after a blank first line it stands on line 2, which is the wrong place', async () => {
    const result = await replayOf('\n' + session(content('a')));
    expect(result).toStrictEqual({
      ok: false,
      error: 'Missing or corrupt session_start event',
      warnings: ['session_start at line 2 (expected line 1)'],
    });
  });

  test('before it, provider_switch and directories_changed that fit do nothing and those that do not are malformed', async () => {
    const events = [
      ['provider_switch', { provider: 'openai', model: 'gpt-5' }],
      ['directories_changed', { directories: ['/a'] }],
      ['provider_switch', { provider: '' }],
      ['directories_changed', {}],
    ] as const;
    expect(await replayOf(file(...events, start()))).toStrictEqual({
      ok: false,
      error: 'Missing or corrupt session_start event',
      warnings: [
        'Line 3: malformed provider_switch event, skipping',
        'Line 4: malformed directories_changed event, skipping',
        'session_start at line 5 (expected line 1)',
      ],
    });
  });

  test('its seq may be anything', async () => {
    expect((await replayedOf(envelope(7, start()))).lastSeq).toBe(7);
    expect((await replayedOf(envelope('one', start()))).lastSeq).toBe(0);
  });
});

describe('the project hash', () => {
  test('the expected one replays, another is refused at once', async () => {
    const text = session(content('a'), ['rewind', {}]);
    expect((await replayOf(text, START_METADATA.projectHash)).ok).toBe(true);
    expect(await replayOf(text, 'feedface')).toStrictEqual({
      ok: false,
      error: `Project hash mismatch: expected feedface got ${START_METADATA.projectHash}`,
      warnings: [],
    });
  });

  test('the empty string is a hash that no session has', async () => {
    const result = await replayOf(session(), '');
    expect(result).toMatchObject({ ok: false, error: `Project hash mismatch: expected  got ${START_METADATA.projectHash}` });
  });

  test('is compared and shown as a JavaScript string: escapes, halves of pairs, any script', async () => {
    const line = '{"v":1,"seq":1,"type":"session_start","payload":{"sessionId":"s","projectHash":"\\ud83d\\u00e9\\n漢"}}\n';
    expect((await replayOf(line, '\ud83dé\n漢')).ok).toBe(true);
    expect(await replayOf(line, '\ud83d')).toMatchObject({ error: 'Project hash mismatch: expected \ud83d got \ud83dé\n漢' });
  });

  test('required fields are checked before the hash', async () => {
    expect(await replayOf(file(start({ sessionId: '' })), 'feedface')).toMatchObject({
      error: 'Invalid session_start: missing required fields',
    });
  });
});

describe('session events', () => {
  test('are collected in order, exactly severity and message, and are never in the history', async () => {
    const result = await replayedOf(
      session(content('a'), sessionEvent('tool timed out', 'warning'), sessionEvent('', 'error'), content('b'), sessionEvent('done')),
    );
    expect(result.sessionEvents).toStrictEqual([
      { severity: 'warning', message: 'tool timed out' },
      { severity: 'error', message: '' },
      { severity: 'info', message: 'done' },
    ]);
    expect(textsOf(result.history)).toStrictEqual(['a', 'b']);
  });

  test('drop fields that the contract does not name, and survive compressions and rewinds', async () => {
    const noted = ['session_event', { severity: 'info', message: 'kept', timestamp: 'x', seq: 9, extra: {} }] as const;
    const result = await replayedOf(session(content('a'), noted, compressed('sum'), rewind(9)));
    expect(result.sessionEvents).toStrictEqual([{ severity: 'info', message: 'kept' }]);
    expect(result.history).toStrictEqual([]);
  });
});

describe('seq and counts', () => {
  test('seq 1, 3, 2, 4: reported, never reordered', async () => {
    const text = [start(), content('a'), content('b'), content('c')].map((event, at) => envelope([1, 3, 2, 4][at], event)).join('\n');
    const result = await replayedOf(text);
    expect(textsOf(result.history)).toStrictEqual(['a', 'b', 'c']);
    expect(result.warnings).toStrictEqual(['Line 3: non-monotonic seq 2 (expected > 3)']);
    expect(result.lastSeq).toBe(4);
  });

  test('lastSeq is the last one seen, not the largest', async () => {
    const text = [start(), content('a'), content('b')].map((event, at) => envelope([1, 9, 5][at], event)).join('\n');
    const result = await replayedOf(text);
    expect(result.lastSeq).toBe(5);
    expect(result.warnings).toStrictEqual(['Line 3: non-monotonic seq 5 (expected > 9)']);
  });

  test('a seq that repeats is not monotonic', async () => {
    const text = [start(), content('a')].map((event) => envelope(1, event)).join('\n');
    expect((await replayedOf(text)).warnings).toStrictEqual(['Line 2: non-monotonic seq 1 (expected > 1)']);
  });

  test('a seq that is missing or not a number is as if absent: no warning, lastSeq stays', async () => {
    const odd = [undefined, null, '7', true, [3], {}].map((seq) => envelope(seq, content('a')));
    const result = await replayedOf(session(content('a'), ...odd));
    expect(result.warnings).toStrictEqual([]);
    expect(result.lastSeq).toBe(2);
    expect(result.eventCount).toBe(8);
  });

  test('before any numeric seq the previous one is 0', async () => {
    const result = await replayedOf([envelope('x', start()), envelope(0, content('a')), envelope(-3, content('b'))].join('\n'));
    expect(result.warnings).toStrictEqual([
      'Line 2: non-monotonic seq 0 (expected > 0)',
      'Line 3: non-monotonic seq -3 (expected > 0)',
    ]);
    expect(result.lastSeq).toBe(-3);
  });

  test('numbers print as JavaScript prints them', async () => {
    const seqs = ['1e999', '1e21', '-1e999', '-0', '0.1', '1e-7', '123456789012345678901', '9007199254740993', '100', '-1E3', '0.00001'];
    const lines = seqs.map((seq) => `{"seq":${seq},"type":"content","payload":{"content":{"speaker":"ai"}}}`);
    const result = await replayedOf(session(...lines));
    expect(result.warnings).toStrictEqual([
      'Line 3: non-monotonic seq 1e+21 (expected > Infinity)',
      'Line 4: non-monotonic seq -Infinity (expected > 1e+21)',
      'Line 7: non-monotonic seq 1e-7 (expected > 0.1)',
      'Line 9: non-monotonic seq 9007199254740992 (expected > 123456789012345680000)',
      'Line 10: non-monotonic seq 100 (expected > 9007199254740992)',
      'Line 11: non-monotonic seq -1000 (expected > 100)',
    ]);
    expect(result.lastSeq).toBe(0.00001);
  });

  test('-0 is a seq, prints as 0 and stays -0 in lastSeq', async () => {
    const line = (seq: string) => `{"seq":${seq},"type":"content","payload":{"content":{"speaker":"ai"}}}`;
    const result = await replayedOf(session(line('-0')));
    expect(result.warnings).toStrictEqual(['Line 2: non-monotonic seq 0 (expected > 1)']);
    expectSame(result.lastSeq, -0);
  });

  test('1e999 is a seq: nothing is larger', async () => {
    const line = '{"seq":1e999,"type":"content","payload":{"content":{"speaker":"ai"}}}';
    const result = await replayedOf(session(line, line));
    expect(result.lastSeq).toBe(Infinity);
    expect(result.warnings).toStrictEqual(['Line 3: non-monotonic seq Infinity (expected > Infinity)']);
  });

  test('eventCount and seq count unknown, malformed and misplaced events; corrupt and blank lines and null count nowhere', async () => {
    const result = await replayedOf(
      session(['novelty', {}], ['rewind', {}], start(), 'corrupt', '', 'null', '42', '[]', content('a')),
    );
    expect(result.eventCount).toBe(7);
    expect(result.lastSeq).toBe(5);
  });

  test('one line may earn two warnings: the seq first', async () => {
    const result = await replayedOf([envelope(5, start()), envelope(5, ['rewind', {}]), envelope(4, ['novelty', 1])].join('\n'));
    expect(result.warnings.slice(0, 4)).toStrictEqual([
      'Line 2: non-monotonic seq 5 (expected > 5)',
      'Line 2: malformed rewind event, skipping',
      'Line 3: non-monotonic seq 4 (expected > 5)',
      "Line 3: unknown event type 'novelty', skipping",
    ]);
  });
});

test('a path of any script, and a relative one', async () => {
  const from = writeSession(session(content('a')));
  const to = join(dirname(from), "sessão 漢 😀 'x'.jsonl");
  renameSync(from, to);
  expect((await replaySession(to)).ok).toBe(true);
  expect((await replaySession(relative(process.cwd(), to))).ok).toBe(true);
});

test('many replays at once, each of its own file', async () => {
  const files = Array.from({ length: 40 }, (_, at) => writeSession(session(...Array.from({ length: at }, (_, turn) => content(`${at}.${turn}`)))));
  const results = await Promise.all(files.map((filePath) => replaySession(filePath)));
  results.forEach((result, at) => {
    expect(result.ok && textsOf(result.history)).toStrictEqual(Array.from({ length: at }, (_, turn) => `${at}.${turn}`));
  });
});
