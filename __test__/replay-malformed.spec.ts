// Payloads that don't fit their type, one by one, and types that nobody knows.

import { describe, expect, test } from 'vitest';
import { eachCase } from './support/each-case.js';
import { START_METADATA, content, file, item, replayOf, replayedOf, session, start, textsOf } from './support/session-file.js';

/** The first warning of a session in which the event stands between two sound ones, after a check that it did nothing. */
async function warningOf(type: string, payload: unknown): Promise<string | undefined> {
  const result = await replayedOf(session(content('before'), [type, payload], content('after')));
  expect(textsOf(result.history)).toStrictEqual(['before', 'after']);
  expect(result.metadata).toStrictEqual(START_METADATA);
  expect(result.sessionEvents).toStrictEqual([]);
  expect(result.eventCount).toBe(4);
  expect(result.lastSeq).toBe(4);
  return result.warnings[0];
}

describe('session_start on line 1', () => {
  test('%s: the replay ends there', () =>
    eachCase([
    ['no payload', undefined],
    ['a payload of null', null],
    ['a payload that is text', 'abc'],
    ['a payload that is an array', ['s', 'p']],
    ['nothing in it', {}],
    ['no sessionId', { projectHash: 'p' }],
    ['an empty sessionId', { sessionId: '', projectHash: 'p' }],
    ['a sessionId that is a number', { sessionId: 7, projectHash: 'p' }],
    ['no projectHash', { sessionId: 's' }],
    ['an empty projectHash', { sessionId: 's', projectHash: '' }],
    ['a projectHash that is a list', { sessionId: 's', projectHash: ['p'] }],
  ], async (_, payload) => {
    expect(await replayOf(file(['session_start', payload], content('a'), ['rewind', {}]))).toStrictEqual({
      ok: false,
      error: 'Invalid session_start: missing required fields',
      warnings: [],
    });
  }));

  test('keys that only look like the required ones', async () => {
    const payload = '{"__proto__":{"sessionId":"s","projectHash":"p"},"sessionid":"s","project_hash":"p"}';
    expect(await replayOf(`{"type":"session_start","payload":${payload}}`)).toMatchObject({ ok: false, error: 'Invalid session_start: missing required fields' });
  });
});

test('session_start in the middle with the payload %o is misplaced, not malformed', () =>
    eachCase([[undefined], [null], [{}], ['text'], [{ sessionId: 7 }]], async (payload) => {
  const result = await replayedOf(session(content('a'), ['session_start', payload], content('b')));
  expect(result.warnings).toStrictEqual(['session_start at line 3 (expected line 1)']);
  expect(result.eventCount).toBe(4);
}));

describe.each(['content', 'compressed', 'rewind', 'provider_switch', 'directories_changed'])('%s', (type) => {
  test('with the payload %o', () =>
    eachCase([[undefined], [null], [0], [1], [''], ['text'], [true], [[]], [[{}]], [{}]], async (payload) => {
    expect(await warningOf(type, payload)).toBe(`Line 3: malformed ${type} event, skipping`);
  }));
});

describe('session_event', () => {
  test('with the payload %o (whose warning does not say "event" twice)', () =>
    eachCase([
    [undefined], [null], [[]], ['info'], [{}], [{ severity: 'info' }], [{ message: 'm' }], [{ severity: 'info', message: 7 }],
    [{ severity: 'info', message: null }], [{ severity: 'Info', message: 'm' }], [{ severity: 'fatal', message: 'm' }],
    [{ severity: '', message: 'm' }], [{ severity: ['info'], message: 'm' }], [{ severity: 'constructor', message: 'm' }],
  ], async (payload) => {
    expect(await warningOf('session_event', payload)).toBe('Line 3: malformed session_event, skipping');
  }));
});

describe('content whose item', () => {
  test('%s', () =>
    eachCase([
    ['is null', null], ['is text', 'hello'], ['is a list', [item('ai', 'x')]], ['is a number', 7], ['has no speaker', { blocks: [] }],
    ['has an empty speaker', { speaker: '', blocks: [] }], ['has a speaker that is no string', { speaker: ['ai'], blocks: [] }],
    ['has a speaker of another case', { Speaker: 'ai', blocks: [] }],
  ], async (_, content) => {
    expect(await warningOf('content', { content })).toBe('Line 3: malformed content event, skipping');
  }));

  test('has no blocks, or blocks that are no list, is sound: only the speaker is looked at', async () => {
    const items = [{ speaker: 'ai' }, { speaker: 'ai', blocks: null }, { speaker: 'ai', blocks: 'text' }];
    const result = await replayedOf<unknown>(session(...items.map((content) => ['content', { content }] as const)));
    expect(result.history).toStrictEqual(items);
    expect(result.warnings).toStrictEqual([]);
  });
});

describe('compressed', () => {
  const summary = item('ai', 'sum');

  test('%s', () =>
    eachCase([
    ['without a summary', { itemsCompressed: 2 }],
    ['with a summary that is null', { summary: null, itemsCompressed: 2 }],
    ['with a summary that is text', { summary: 'sum', itemsCompressed: 2 }],
    ['with a summary without speaker', { summary: { blocks: [] }, itemsCompressed: 2 }],
    ['with a summary of an empty speaker', { summary: { ...summary, speaker: '' }, itemsCompressed: 2 }],
    ['without itemsCompressed', { summary }],
    ['with itemsCompressed as text', { summary, itemsCompressed: '2' }],
    ['with itemsCompressed null', { summary, itemsCompressed: null }],
    ['with content instead of a summary', { content: summary, itemsCompressed: 2 }],
  ], async (_, payload) => {
    expect(await warningOf('compressed', payload)).toBe('Line 3: malformed compressed event, skipping');
  }));

  test('with itemsCompressed %s fits: any number does', () =>
    eachCase(['0', '-1', '-0', '1.5', '1e999', '-1e999', '1e-400'], async (count) => {
    const line = `{"seq":3,"type":"compressed","payload":{"itemsCompressed":${count},"summary":{"speaker":"ai"}}}`;
    const result = await replayedOf<unknown>(session(content('a'), line));
    expect(result.history).toStrictEqual([{ speaker: 'ai' }]);
    expect(result.warnings).toStrictEqual([]);
  }));
});

describe('rewind', () => {
  test('%s', () =>
    eachCase([
    ['without itemsRemoved', '{}'], ['negative', '{"itemsRemoved":-1}'], ['barely negative', '{"itemsRemoved":-5e-324}'],
    ['by minus infinity', '{"itemsRemoved":-1e999}'], ['by text', '{"itemsRemoved":"1"}'], ['by null', '{"itemsRemoved":null}'],
    ['by true', '{"itemsRemoved":true}'], ['by a list', '{"itemsRemoved":[1]}'], ['last negative', '{"itemsRemoved":1,"itemsRemoved":-1}'],
  ], async (_, payload) => {
    const result = await replayedOf(session(content('a'), `{"seq":3,"type":"rewind","payload":${payload}}`, content('b')));
    expect(textsOf(result.history)).toStrictEqual(['a', 'b']);
    expect(result.warnings[0]).toBe('Line 3: malformed rewind event, skipping');
  }));

  test('a negative number too small to be one rounds to -0, which fits', async () => {
    const result = await replayedOf(session(content('a'), '{"seq":3,"type":"rewind","payload":{"itemsRemoved":-1e-400}}'));
    expect(result.warnings).toStrictEqual([]);
    expect(textsOf(result.history)).toStrictEqual(['a']);
  });
});

describe('provider_switch whose provider', () => {
  test('%s, model or not', () =>
    eachCase([['is missing', undefined], ['is empty', ''], ['is null', null], ['is a number', 1], ['is a list', ['openai']]], async (_, provider) => {
    expect(await warningOf('provider_switch', { provider, model: 'gpt-5' })).toBe('Line 3: malformed provider_switch event, skipping');
  }));
});

describe('directories_changed whose directories', () => {
  test('%s', () =>
    eachCase([
    ['are text', '/a'], ['are null', null], ['hold a number', ['/a', 1]], ['hold null', [null]], ['hold a list', [['/a']]], ['are an object', { 0: '/a', length: 1 }],
  ], async (_, directories) => {
    expect(await warningOf('directories_changed', { directories })).toBe('Line 3: malformed directories_changed event, skipping');
  }));
});

describe('unknown types', () => {
  test('%j', () =>
    eachCase([
    ['checkpoint', 'checkpoint'], ['', ''], ['Content', 'Content'], ['content ', 'content '], ['undefined', 'undefined'], ['__proto__', '__proto__'],
    ['constructor', 'constructor'], ['toString', 'toString'], ["it's 'quoted'", "it's 'quoted'"], ['a\nb\u2028', 'a\nb\u2028'], ['é漢😀', 'é漢😀'],
  ], async (type, shown) => {
    const result = await replayedOf(session(content('a'), [type, { any: 'thing' }], content('b')));
    expect(result.warnings).toStrictEqual([`Line 3: unknown event type '${shown}', skipping`]);
    expect(textsOf(result.history)).toStrictEqual(['a', 'b']);
  }));

  test('a type of %s shows as JSON text', () =>
    eachCase([
    ['null', 'null'], ['7', '7'], ['-0', '0'], ['1e999', 'null'], ['1E3', '1000'], ['0.10', '0.1'], ['true', 'true'], ['[]', '[]'], ['{ }', '{}'],
    ['["content" , 1.0]', '["content",1]'], ['{"b":1,"a":"\\u0041\\/","b":2}', '{"b":2,"a":"A/"}'], ['{"x":0,"10":1,"9":2}', '{"9":2,"10":1,"x":0}'],
    ['["\\ud800","\\ud83d\\ude00","\\u2028","\\u007f"]', '["\\ud800","😀","\u2028","\u007f"]'], ['[1e21,1e-7,123456789012345678901]', '[1e+21,1e-7,123456789012345680000]'],
    ['{"__proto__":[]}', '{"__proto__":[]}'], ['["\\b\\f\\u000b\\u0000"]', '["\\b\\f\\u000b\\u0000"]'],
  ], async (type, shown) => {
    const result = await replayedOf(session(`{"seq":2,"type":${type},"payload":{}}`));
    expect(result.warnings).toStrictEqual([`Line 2: unknown event type '${shown}', skipping`]);
  }));

  test('no type at all', async () => {
    const result = await replayedOf(session('{}', '{"Type":"content"}', '{"payload":{"type":"content"}}'));
    expect(result.warnings).toStrictEqual([2, 3, 4].map((line) => `Line ${line}: unknown event type 'undefined', skipping`));
  });

  test('a type of half a surrogate pair is shown as it is', async () => {
    const result = await replayedOf(session('{"type":"\\ud83d","seq":2}'));
    expect(result.warnings).toStrictEqual(["Line 2: unknown event type '\ud83d', skipping"]);
  });

  test('are not malformed, whatever their payload', async () => {
    const result = await replayedOf(session(['novelty', undefined], ['novelty', null], ['novelty', []]));
    expect(result.warnings).toHaveLength(3);
    expect(result.warnings.join()).not.toMatch(/malformed/);
  });
});

test('an event without an envelope around it is an unknown event', async () => {
  const result = await replayedOf(session(JSON.stringify(item('ai', 'a')), JSON.stringify(start()[1])));
  expect(result.warnings).toStrictEqual([2, 3].map((line) => `Line ${line}: unknown event type 'undefined', skipping`));
});
