/** The rules of a replay, each as one or more files: the result is that of the plain engine in either mode, to the last warning. */
import { describe, test } from 'vitest'
import type { ReplayOptions } from '../../index.js'
import { replayBytes } from '../support/plain-engine.mjs'
import { expectSameReplay } from '../support/same-replay.js'
import {
  compressed,
  content,
  envelope,
  type Event,
  file,
  item,
  PROJECT_HASH,
  replayOf,
  rewind,
  session,
  sessionEvent,
  start,
} from '../support/session-file.js'

type File = string | Uint8Array
interface Reading extends Pick<ReplayOptions, 'throughSeq' | 'auditTrail'> {
  hash?: string
}

async function expectAsPlain(files: readonly File[], { hash, ...options }: Reading = {}): Promise<void> {
  for (const text of files) {
    for (const strict of [false, true]) {
      const found = await replayOf(text, hash, { ...options, strict })
      expectSameReplay(found, replayBytes(Buffer.from(text as string), hash, { ...options, strict }))
    }
  }
}

function rules(about: string, files: Record<string, File | File[]>): void {
  describe(about, () => {
    test.each(Object.entries(files))('%s', (_, some) => expectAsPlain(Array.isArray(some) ? some : [some]))
  })
}

const times = <T>(count: number, value: T): T[] => Array.from({ length: count }, () => value)
/** A line whose members are JSON text. */
const raw = (type: string, payload: string, seq = '2') =>
  `{"v":1,"seq":${seq},"ts":"t","type":"${type}","payload":${payload}}`
const said = (members: string) => raw('content', `{"content":{"speaker":"ai",${members}}}`)
const numbered = (...seqs: unknown[]) => seqs.map((seq, at) => `${envelope(seq, content(`${at}`))}\n`).join('')
const startOf = (seq: unknown) => `${envelope(seq, start())}\n`
const around = (bytes: Uint8Array | number[]) => {
  const [before, after] = said('"text":"<>"').split('<>') as [string, string]
  return Buffer.concat([Buffer.from(before), Buffer.from(bytes), Buffer.from(`${after}\n`)])
}
const BOM = '\ufeff'
const ALL = session(content('a'), compressed('s'), content('b'), rewind(1), sessionEvent('x'))

rules('a line', {
  'ends at \\n, with a \\r before it or not, and the last one at the end of the file': [
    ALL.replaceAll('\n', '\r\n'),
    ALL.trimEnd(),
    `${ALL.trimEnd()}\r`,
  ],
  'does not end at a lone \\r, at U+2028 or at U+2029': ['\r', '\u2028', '\u2029'].map((end) =>
    session(envelope(2, content(`one${end}two`)) + end + envelope(3, content('b')), content(`three${end}four`)),
  ),
  'of white space that JavaScript knows is skipped, but counted': session(
    ...['', '\r', ' \t ', '\v\f', '\u00a0', BOM, '\u2028\u2029', '\u1680\u2000\u200a\u202f\u205f\u3000'],
    'corrupt',
    content('a'),
  ),
  'of what only resembles white space does not parse': session(
    ...['\u0085', '\u180e', '\u200b', '\u0000', '\u001f', '\u2060'],
    content('a'),
  ),
  'that is null is no event, any other value that is no object is an unknown one': [
    session('null', ' \tnull\r', content('a')),
    ...['0', '-1.5e3', 'true', '""', '"content"', '[]', '[{"type":"content","seq":1}]', '[null]', '{}'].map((value) =>
      session(value, content('a')),
    ),
  ],
  'that is torn at the end of the file causes no warning, in the middle it does': [
    session(content('a'), 'torn'),
    session(content('a'), 'torn').trimEnd(),
    session(content('a'), 'corrupt', ''),
    `${session(content('a'), 'corrupt')} `,
    session(content('a'), 'corrupt', 'torn'),
    session(content('a'), '{"v":1,"seq":3,"ty', content('b')),
    session(envelope(3, content('b')).slice(0, 30) + envelope(3, content('c')), content('d')),
    Buffer.from(session(content('é😀'))).subarray(0, -8),
    `${session('torn')}{"v":1}`,
  ],
  'that JSON.parse refuses does not parse': session(
    ...['NaN', 'undefined', "{'a':1}", '{"a":1,}', '[1,]', '01', '-', '1.', '.5', '+1', '1e', '0x1f', 'nul', 'truee'],
    ...['"\\x41"', '"\\u12"', '"\\ud8zz"', '"\t"', '"\u0000"', '"', '{"a"', '{} {}', '//x', `${BOM}{}`, '{}\u00a0'],
    ...['\v1', '[}', '{"a":1 "b":2}', '{1:2}', '"\\', '['.repeat(200_000), `${'['.repeat(5000)}${']'.repeat(4999)}`],
    content('a'),
  ),
  'may have bytes that are not UTF-8 in its strings, and nowhere else': [
    Buffer.concat([
      Buffer.from(session()),
      ...[[0x80], [0xc3], [0xc0, 0x80], [0xe2, 0x82], [0xed, 0xa0, 0x80], [0xf0, 0x9f, 0x98], [0xf0, 0x9f, 0x41]].map(
        around,
      ),
      ...[
        [0xf4, 0x90, 0x80, 0x80],
        [0xff, 0xfe],
        [0xef, 0xbb, 0xbf],
        [0xc3, 0xa9, 0xe9],
      ].map(around),
    ]),
    Buffer.concat([Buffer.from(session()), Buffer.from([0xff, 0x0a]), Buffer.from(envelope(2, content('a')))]),
    Buffer.concat([Buffer.from(session()), Buffer.from([0xf0, 0x9f, 0x0a]), Buffer.from(envelope(2, content('a')))]),
  ],
  'may follow a byte order mark at the start of the file, and only there': [
    BOM + ALL,
    BOM + BOM + ALL,
    session(BOM + envelope(2, content('lost')), content(`${BOM}kept`)),
    Buffer.concat([Buffer.from([0xef, 0xbb]), Buffer.from(ALL)]),
  ],
  'is needed: a file without one is empty': ['', BOM],
})

rules('a value', {
  'is what JSON.parse makes of it: numbers, strings, duplicate and odd keys': session(
    ...['-0', '0.1', '1e999', '-1e999', '9007199254740993', '123456789012345678901234567890', '5e-324', '1e-400'],
    ...['"\\ud800"', '"\\udc00\\ud83d"', '{"a":1,"a":2}', '{"b":1,"a":2,"b":3}', '{"10":1,"9":2,"x":3,"0":4}'],
    ...['{"__proto__":{"polluted":true}}', '{"__proto__":1,"__proto__":[]}', '{"constructor":null,"toString":1}'],
    ...['{"\\u0061":1,"a":2}', '{"":{"":[]}}', '"\u2028\u2029"', '"\\u2028"', '"\u0080\u00ff\u0100\uffff😀"'],
  )
    .split('\n')
    .map((line) => (line === '' || line.startsWith('{"v":1') ? line : said(`"value":${line}`)))
    .join('\n'),
  'may be nested thousands of levels deep, used or not': [
    ...[127, 128, 129, 5000, 200_000].map((depth) => session(said(`"value":${'['.repeat(depth)}${']'.repeat(depth)}`))),
    session(
      ...['novelty', 'rewind'].map((type) => raw(type, `${'{"a":'.repeat(5000)}null${'}'.repeat(5000)}`)),
      `{"type":${'['.repeat(2000)}${']'.repeat(2000)}}`,
      content('a'),
    ),
  ],
  'of __proto__ gives an item no member': session(
    raw('content', '{"__proto__":{"content":{"speaker":"ai"}}}'),
    '{"v":1,"seq":3,"__proto__":{"type":"content"},"payload":{"content":{"speaker":"ai"}}}',
    raw('content', '{"content":{"__proto__":{"speaker":"ai"}}}'),
  ),
  'is that of the last of equal keys, and a key is the same however it is spelled': [
    session(
      '{"type":"rewind","seq":1,"payload":{"itemsRemoved":1},"type":"content","seq":2,"payload":{"content":{"speaker":"ai","speaker":"tool","n":1,"n":2}}}',
      '{"type":"content","payload":{"content":{"speaker":"ai"}},"payload":{"content":{"speaker":"ai","speaker":""}}}',
      '{"type":"content","seq":9,"payload":{"content":{"speaker":"ai"},"content":7},"seq":"x"}',
      '{"type":"content","payload":{"content":{"speaker":"ai"}},"type":7}',
    ),
    session(
      '{"v":1,"ty\\u0070e":"c\\u006Fntent","\\u0073eq":7,"p\\u0061yload":{"c\\u006fntent":{"sp\\u0065aker":"\\u0061i","blocks":[]}}}',
      '{"type":"content","ty\\u0070e":"session_event","payload":{"s\\u0065verity":"\\u0069nfo","message":"x"}}',
    ),
  ],
})

rules('a history', {
  'is reset by a compression to its summary, and a rewind removes items from its end, the summary included': [
    session(content('a'), compressed('s'), content('b'), compressed('t'), content('c'), rewind(1), content('d')),
    session(compressed('nothing yet', 0)),
    session(content('a'), compressed('s'), content('b'), rewind(2), content('c'), rewind(9), rewind(1), content('d')),
  ],
  'is rewound by any number: fractions round up, huge numbers empty it': [
    ...['0', '-0', '1.0', '1.5', '0.0000001', '5e-324', '1e-400', '-1e-400', '2.0000000000000001', '2.000000000000001'],
    ...['4294967296', '4294967297', '18446744073709551617', '9007199254740993', '1e999'],
  ].map((count) => session(content('a'), content('b'), content('c'), raw('rewind', `{"itemsRemoved":${count}}`, '5'))),
  'has items of any speaker, with or without blocks; strict replays know three, and need blocks': session(
    ...['human', 'ai', 'tool', 'user', 'Human', 'ai ', '__proto__', ' '].map(
      (speaker): Event => ['content', { content: { speaker, blocks: [] } }],
    ),
    ...[undefined, null, 'text', {}].map((blocks): Event => ['content', { content: { speaker: 'ai', blocks } }]),
    ['compressed', { summary: { speaker: 'user', blocks: [] }, itemsCompressed: 1 }],
    said('"speaker":1,"blocks":0,"blocks":[],"speaker":"\\u0061i"'),
  ),
})

/** Payloads that do not fit, by type. Each is reported in its line. */
const NO_PAYLOAD = [undefined, null, 0, 1, '', 'text', true, [], [{}], {}]
const FORK = { parentSessionId: 'parent', parentSequence: 7, checkpointId: 'c', checkpointName: 'before' }
const NO_ITEM = [
  null,
  'hello',
  [item('ai', 'x')],
  7,
  { blocks: [] },
  ...['', ['ai'], null, 1].map((speaker) => ({ speaker, blocks: [] })),
]
const NO_NAME = [
  undefined,
  null,
  1,
  ['n'],
  '',
  ' ',
  '\t\n\v\f\r\u2028\u2029',
  '\ufeff\u00a0\u1680\u2000\u200a\u202f\u205f\u3000',
]
const MISFITS: Record<string, unknown[]> = {
  content: [...NO_ITEM, { Speaker: 'ai', blocks: [] }].map((entry) => ({ content: entry })),
  compressed: [
    ...[undefined, ...NO_ITEM].map((summary) => ({ content: item('ai', 's'), summary, itemsCompressed: 2 })),
    ...[undefined, null, '2', [2], {}, true].map((itemsCompressed) => ({ summary: item('ai', 's'), itemsCompressed })),
  ],
  rewind: [-1, -5e-324, '1', null, true, [1]].map((itemsRemoved) => ({ itemsRemoved })),
  provider_switch: [undefined, '', null, 1, ['openai'], {}].map((provider) => ({ provider, model: 'gpt-5' })),
  session_event: [
    { severity: 'info' },
    { message: 'm' },
    ...[7, null].map((message) => ({ severity: 'info', message })),
    ...['Info', 'fatal', '', ['info'], 'constructor'].map((severity) => ({ severity, message: 'm' })),
  ],
  directories_changed: ['/a', null, ['/a', 1], [null], [['/a']], { 0: '/a', length: 1 }].map((directories) => ({
    directories,
  })),
  session_metadata: [0, true, {}, ['t']].map((title) => ({ title })),
  checkpoint_created: [
    ...[undefined, '', 3, null].map((checkpointId) => ({ checkpointId, name: 1 })),
    ...NO_NAME.map((name) => ({ checkpointId: 'c', name })),
  ],
  checkpoint_renamed: [
    ...[undefined, '', 3, null].map((checkpointId) => ({ checkpointId, name: 'n' })),
    ...NO_NAME.map((name) => ({ checkpointId: 'c', name })),
  ],
  checkpoint_deleted: [undefined, '', {}].map((checkpointId) => ({ checkpointId })),
  session_forked: [
    ...['', 1].map((checkpointId) => ({ ...FORK, checkpointId, parentSequence: -1 })),
    { ...FORK, parentSessionId: 1 },
    { ...FORK, parentSessionId: undefined },
    { ...FORK, checkpointName: null },
    ...[undefined, '7', -1, 1.5, 2 ** 53].map((parentSequence) => ({ ...FORK, parentSequence })),
  ],
  session_named: [undefined, 0, false, {}].map((name) => ({ name })),
  semantic_media_purge: [
    ...[
      [[], 1, 0],
      [[], 0, 1],
      [[item('ai', 'x')], 1, 0],
      [[item('ai', 'x')], 0, 1],
      [[item('ai', 'x')], 0, -1],
      [{}, 0, 0],
      [[1], 0, 0],
    ].map(([history, contentIndex, blockIndex]) => ({ history, frontier: { contentIndex, blockIndex } })),
  ],
  novelty: [{ any: 'thing' }],
}

rules('an event that does not fit has no effect, and is reported:', {
  ...Object.fromEntries(
    Object.entries(MISFITS).map(([type, payloads]) => [
      type,
      session(content('a'), ...[...NO_PAYLOAD, ...payloads].map((payload): Event => [type, payload]), content('b')),
    ]),
  ),
  'a rewind whose last count is negative': session(
    content('a'),
    raw('rewind', '{"itemsRemoved":1,"itemsRemoved":-1}', '3'),
  ),
  'a checkpoint without a position, before anything else': [
    ...['"1"', 'null', '1.5', '-1', '9007199254740992', '1e999'],
  ].map((seq) =>
    session(
      ...['checkpoint_created', 'checkpoint_renamed', 'checkpoint_deleted'].map((type) =>
        raw(type, '{"checkpointId":"","name":""}', seq),
      ),
      '{"v":1,"type":"checkpoint_deleted","payload":{"checkpointId":"c"}}',
    ),
  ),
  'one of an unknown type, as it is or as JSON text': session(
    ...[
      'checkpoint',
      '',
      'Content',
      'content ',
      'undefined',
      '__proto__',
      'constructor',
      "it's",
      'a\nb\u2028',
      'é漢😀',
    ].map((type): Event => [type, {}]),
    ...[
      'null',
      '7',
      '-0',
      '1e999',
      '1E3',
      '0.10',
      '[]',
      '{ }',
      '["content" , 1.0]',
      '{"b":1,"a":"\\u0041\\/","b":2}',
    ].map((type) => `{"v":1,"seq":99,"type":${type}}`),
    ...[
      '{"x":0,"10":1,"9":2}',
      '["\\ud800","\\ud83d\\ude00","\\u2028","\\u007f"]',
      '{"__proto__":[]}',
      '"\\ud83d"',
    ].map((type) => `{"v":1,"seq":99,"type":${type}}`),
    ...['[1e21,1e-7,123456789012345678901]', '["\\b\\f\\u000b\\u0000"]'].map(
      (type) => `{"v":1,"seq":99,"type":${type}}`,
    ),
    ...['{}', '{"Type":"content"}', '{"payload":{"type":"content"}}', JSON.stringify(item('ai', 'a'))],
  ),
})

rules('the session_start', {
  'needs its fields: two of them are needed always, five in strict mode': [
    ...NO_PAYLOAD.map((payload) => file(['session_start', payload], content('a'), ['rewind', {}])),
    ...['sessionId', 'projectHash', 'provider', 'model', 'startTime'].flatMap((field) =>
      [undefined, null, '', 0, ['x']].map((value) => file(start({ [field]: value }), content('a'))),
    ),
    file(['session_start', { sessionid: 's', project_hash: 'p' }]),
    '{"type":"session_start","payload":{"__proto__":{"sessionId":"s","projectHash":"p"}}}',
  ],
  'may lack others, or have them of other types, and more': [
    file(['session_start', { sessionId: 's', projectHash: 'p', future: { x: 1 } }]),
    ...['/a', { 0: '/a', length: 1 }, null, true, ['/a', 1]].map((workspaceDirs) => file(start({ workspaceDirs }))),
    ...['/w', '', null, 1, ['/w']].map((cwd) => file(start({ cwd }))),
    ...['subagent', 'main', 1].map((kind) => file(start({ kind, parentSessionId: kind === 1 ? 1 : 'p' }))),
  ],
  'is on line 1: elsewhere it is misplaced, whatever its payload': [
    session(content('a'), start({ sessionId: 'other' }), ['session_start', {}], ['session_start', null], content('b')),
    `\n${ALL}`,
    file('{"v":1,"seq":1,"type":"session_sta', content('a'), ['rewind', {}], ['novelty', {}]),
    ...['\n', '\r\n \r\n\t', ' ', 'null\n', `${BOM}\n`, envelope(1, start()).slice(0, -1)],
    file(
      ['provider_switch', { provider: 'openai' }],
      ['directories_changed', { directories: ['/a'] }],
      ['provider_switch', { provider: '' }],
      ['directories_changed', {}],
      start(),
    ),
    file(['checkpoint_deleted', { checkpointId: 'c' }], content('a')),
  ],
  'may have any number': [7, 0, -0, -3, 'one', 1.5].map((seq) => startOf(seq) + numbered(2)),
})

rules('the metadata', {
  'have the last provider, the last filled model and the last directories': session(
    ['provider_switch', { provider: 'openai', model: 'gpt-5' }],
    ...[undefined, '', null, 7, {}, ['gpt-5']].map(
      (model): Event => ['provider_switch', { provider: 'google', model }],
    ),
    ['directories_changed', { directories: ['/a', '', '/ü b'] }],
  ),
  'have the last title and name, which may be null, and the first fork with all its members': [
    session(['session_metadata', {}]),
    session(
      ...['one', null, 'two'].map((title): Event => ['session_metadata', { title }]),
      ['session_metadata', { other: 1 }],
      ...[null, 'n'].map((name): Event => ['session_named', { name }]),
      ['session_forked', { ...FORK, parentSequence: -1 }],
      ['session_forked', { zeta: [1, { a: null }], ...FORK, parentSessionId: '', checkpointName: '' }],
      ['session_forked', FORK],
    ),
    session(
      ['session_metadata', { title: '' }],
      ['session_metadata', { title: null }],
      ['session_named', { name: null }],
    ),
    ...['{"title":1,"t\\u0069tle":"two"}', '{"title":"one","title":null}', '{"__proto__":{"title":"x"}}'].map(
      (payload) => session(raw('session_metadata', payload)),
    ),
  ],
  'have session events with severity and message only, through compressions and rewinds': session(
    content('a'),
    ['session_event', { severity: 'warning', message: 'kept', timestamp: 'x', seq: 9 }],
    compressed('s'),
    rewind(9),
    sessionEvent('', 'error'),
  ),
})

rules('seq', {
  'is reported where it does not increase, and reorders nothing': [
    startOf(1) + numbered(3, 2, 4),
    startOf(1) + numbered(9, 5),
    startOf(1) + numbered(1),
    startOf('x') + numbered(0, -3),
    startOf(0) + numbered(-0),
    `${startOf(1)}${numbered(9, 4)}{"v":1,"seq":20.5}\n${numbered(6)}null\n${numbered(5)}`,
  ],
  'that is no number is treated as missing, in strict mode its line is malformed': [
    session(content('a'), ...[undefined, null, '7', true, [3], {}].map((seq) => envelope(seq, content('a')))),
    ...['"2"', 'null', '[2]', '-1', '1.5', '9007199254740992', '1e999', '-1e999', '1e-5'].map((seq) =>
      session(
        ...['content', 'rewind', 'session_start', 'unheard of', 'session_named'].map((type) => raw(type, '{}', seq)),
        ...times(120, content('a')),
      ),
    ),
    session('{"v":1}', '{"v":2,"SEQ":2}', '{"v":1,"seq":2,"seq":-2}'),
  ],
  'is a number as JavaScript reads and prints it': [
    session(
      ...['0', '-0', '2.0', '1e3', '2e0', '9007199254740991', '0.2e1'].map((seq) =>
        raw('content', '{"content":{"speaker":"ai","blocks":[]}}', seq),
      ),
    ),
    session(
      ...[
        '1e999',
        '1e21',
        '-1e999',
        '-0',
        '0.1',
        '1e-7',
        '123456789012345678901',
        '9007199254740993',
        '100',
        '-1E3',
        '1e999',
        '1e999',
      ].map((seq) => raw('content', '{"content":{"speaker":"ai"}}', seq)),
    ),
  ],
  'counts unknown, malformed and misplaced events, but no corrupt lines, blank lines and null': session(
    ['novelty', {}],
    ['rewind', {}],
    start(),
    ...['corrupt', '', 'null', '42', '[]'],
    content('a'),
  ),
  'is named by the first of two warnings about a line':
    startOf(5) + envelope(5, ['rewind', {}]) + '\n' + envelope(4, ['novelty', 1]),
  'is corrupt beyond the warnings that are shown, too': session(
    ...times(150, '{'),
    content('a'),
    envelope(2, content('b')),
  ),
})

rules('v', {
  'other than 1 and 2 ends a strict replay, before anything else is looked at': [
    ...['{"v":3,"seq":2}', '{"v":"1","seq":2}', '{"seq":2}', '{"v":null}', '{"v":true}', '{"v":1.5}', '{"v":-0}'],
    ...[
      '{"v":1e999}',
      '{"v":{"a":1}}',
      '{"v":[1,[null,"x"],{}]}',
      '{"v":"\\ud800"}',
      '{"v":1,"v":7}',
      '5',
      '"x"',
      '[{"v":1}]',
      'true',
    ],
  ].map((line) => session(content('a'), 'torn', line, content('b'))),
  'is looked at in the first line, too': envelope(1, start({ provider: 1 })).replace('"v":1', '"v":9'),
  'may be spelled in another way': ['2', '1.0', '0.2e1'].map((v) =>
    session(envelope(2, content('a')).replace('"v":1', `"v":${v}`)),
  ),
})

const UNKNOWN: Event = ['novelty', {}]
const MALFORMED: Event = ['rewind', {}]
rules('warnings', {
  'about lines are a hundred at most, whatever they are about; a torn last line is none of them': [
    ...[100, 101, 102].map((count) => session(...times(count, UNKNOWN))),
    ...[100, 101].map((count) => session(...times(count, UNKNOWN), 'torn')),
    session(...times(99, UNKNOWN), 'corrupt', 'torn', '', UNKNOWN, 'torn'),
    session(...times(30, ['corrupt', UNKNOWN, MALFORMED, ['session_start', {}] as Event]).flat()),
    file(...times(150, MALFORMED)),
    session(...times(120, raw('content', '{}', '"x"'))),
  ],
  'end with a summary of what is more than 5 % of the known events or of the lines': [
    ...[16, 17, 18, 36, 37].flatMap((good) => [
      session(MALFORMED, ...times(good, content('a'))),
      session('corrupt', ...times(good, content('a'))),
      session(MALFORMED, 'corrupt', ...times(good, content('a'))),
      session('{"v":1,"seq":-1}', ...times(good, content('a'))),
    ]),
    session(
      ...times(16, content('a')),
      ['session_start', {}],
      MALFORMED,
      UNKNOWN,
      '42',
      '',
      'null',
      'corrupt',
      rewind(0),
    ),
    session(...times(16, content('a')), ['session_start', {}], MALFORMED, UNKNOWN),
    session('corrupt', '', 'null', UNKNOWN, ...times(16, content('a')), '', 'torn'),
    session('corrupt', UNKNOWN, UNKNOWN, ...times(16, content('a'))),
    session(...times(60, MALFORMED), ...times(60, 'corrupt'), content('a')),
    session(...times(120, 'corrupt'), content('a')),
  ],
  'show a share as toFixed rounds it': (
    [
      [3, 16],
      [1, 8],
      [1, 3],
      [2, 3],
      [1, 2],
      [5, 80],
      [21, 400],
      [201, 4000],
    ] as [number, number][]
  ).map(([bad, known]) => session(...times(known - 1 - bad, content('a')), ...times(bad, MALFORMED))),
})

const created = (checkpointId: unknown, name: unknown): Event => ['checkpoint_created', { checkpointId, name }]
const renamed = (checkpointId: unknown, name: unknown): Event => ['checkpoint_renamed', { checkpointId, name }]
const deleted = (checkpointId: unknown): Event => ['checkpoint_deleted', { checkpointId }]
rules('checkpoints', {
  'have the place and the time of their creation, and their last name': session(
    content('a'),
    created('c', ' first '),
    renamed('c', 'second'),
    created('d', 'other'),
    deleted('d'),
  ),
  'may have any name that is not blank, untrimmed': session(
    ...['\u200b', '\u180e', '\u0085', '\b', ' x ', '\ud800', '\u0000'].flatMap((name, at) => [
      created(`${at}`, name),
      renamed(`${at}`, ` ${name}`),
    ]),
  ),
  'are never created again; the deletion of one that is unknown is remembered': [
    session(
      created('c', 'one'),
      created('c', 'two'),
      deleted('c'),
      created('c', 'three'),
      renamed('c', 'four'),
      deleted('c'),
    ),
    session(renamed('c', 'x'), deleted('c'), renamed('c', 'y'), created('c', 'one'), renamed('c', 'two'), deleted('c')),
    session(deleted('c'), created('c', 'one')),
  ],
  'are in the order of their numbers, then of the file; any spelling of a number will do': session(
    ...[9, 3, 9, 0].map((seq, at) => envelope(seq, created(`${at}`, 'n'))),
    ...['-0', '1.0', '1e3', '9007199254740991', '9007199254740991.4'].map((seq) =>
      raw('checkpoint_created', `{"checkpointId":"${seq}","name":"e"}`, seq),
    ),
    ...['1', 'null', '{}'].map(
      (ts) =>
        `{"v":1,"seq":2,"ts":${ts},"type":"checkpoint_created","payload":{"checkpointId":"t${ts.length}","name":"n"}}`,
    ),
  ),
  'have ids that are compared as decoded strings, and named as they are': [
    session(
      ...['c', 'a b', 'Überblick', '\ud800', '"\n', 'ID', 'x'.repeat(5000)].flatMap((id) => [
        renamed(id, 'n'),
        created(id, 'n'),
        created(id, 'n'),
        deleted(id),
        deleted(id),
      ]),
    ),
    session(
      created('\ud800', 'n'),
      created('\u00e9', 'n'),
      ...['\\ud800', '\\u00e9'].map((id) => raw('checkpoint_deleted', `{"checkpointId":"${id}"}`)),
    ),
    Buffer.concat([
      Buffer.from(
        session(created('a\ufffd', 'n')) + '{"v":1,"seq":9,"type":"checkpoint_deleted","payload":{"checkpointId":"a',
      ),
      Buffer.from([0xff]),
      Buffer.from('"}}\n'),
    ]),
  ],
  'have a hundred warnings of their own at most, behind all others': [
    session(...times(103, deleted('c')), 'not json', ['session_metadata', { title: 1 }]),
    session(...times(100, deleted('c'))),
  ],
})

const keyed = (text: string, seq: unknown, more: object = {}) => ({
  ...item('ai', text),
  metadata: { ...more, chronology: { seq, userTurn: 1, step: 2, recordedAt: 3 } },
})
const keyedItem = (text: string, seq: unknown): Event => ['content', { content: keyed(text, seq) }]
const mutation = (removedSeqs: unknown, replacements: [unknown, unknown][]): Event => [
  'density_mutation',
  { removedSeqs, replacements: replacements.map(([replacedSeq, replacement]) => ({ replacedSeq, replacement })) },
]
const insertion = (text: string, chronologySeq: unknown, afterSeq: unknown): Event => [
  'synthetic_insert',
  { content: keyed(text, chronologySeq), chronologySeq, afterSeq },
]
const binding = (rowIndex: unknown, seq: unknown, more: object = {}): Event => [
  'chronology_bind',
  { rowIndex, chronology: { seq, userTurn: 7, step: 8, recordedAt: 9 }, ...more },
]
const purge = (history: unknown, contentIndex: unknown, blockIndex: unknown): Event => [
  'semantic_media_purge',
  { history, frontier: { contentIndex, blockIndex } },
]
const cut = (itemsRemoved: unknown, cutSeq: unknown): Event => ['rewind', { itemsRemoved, cutSeq }]
const FOUR = [keyedItem('a', 1), keyedItem('b', 2), keyedItem('c', 3), keyedItem('d', 2)]
const PURGED = [
  keyedItem('a', 1),
  purge([keyed('A', 1), item('ai', 'B')], 1, 0),
  content('c'),
  mutation([], [[1, item('ai', 'x')]]),
]
rules('edits', {
  'of density remove and replace items wherever they are, also those that were replaced, in place and with their marker':
    [
      session(
        ...FOUR,
        content('e'),
        mutation(
          [1],
          [
            [2, item('ai', 'B')],
            [3, keyed('C', 99, { x: 1 })],
          ],
        ),
        mutation(
          [],
          [
            [2, item('ai', 'y')],
            [2, item('ai', 'z')],
          ],
        ),
      ),
      session(
        content('a'),
        keyedItem('b', -1),
        keyedItem('c', '4'),
        keyedItem('d', undefined),
        mutation([4], [[0, item('ai', 'x')]]),
      ),
    ],
  'insert behind the first item with the key, or are malformed': [
    session(...FOUR, insertion('x', 5, 2), insertion('y', 6, 5), insertion('z', 7, 3)),
    session(keyedItem('a', 1), rewind(1), insertion('x', 2, 1)),
  ],
  'bind four numbers to an item, which is found under its new key, or are malformed': [
    session(
      content('a'),
      keyedItem('b', 1),
      binding(0, 4),
      binding(1, 5, { chronology: { recordedAt: 9, more: 1, seq: 5, userTurn: 7, step: 8 }, content: item('ai', 'B') }),
      insertion('x', 6, 4),
    ),
    session(content('a'), binding(1, 4)),
    ...[null, 7, 'ab', ['x', ['y']], { z: 1, chronology: 0, 2: 3 }].map((metadata) =>
      session(['content', { content: { ...item('ai', 'a'), metadata } }], binding(0, 4)),
    ),
  ],
  'rewind to the first item with a key, whatever the count is, or by the count': [
    ...[cut(0, 2), cut(1, 9), cut(99, 3), cut(1, '2'), cut(-1, 1)].map((event) => session(...FOUR, event)),
  ],
  'purge the history for another one, whose last frontier is told, also in lines of version 2': [
    session(...PURGED),
    session(...PURGED).replaceAll(/"v":1(?=[^\n]*semantic_media_purge)/g, '"v":2'),
    session(content('a'), purge([], 0, 0)),
  ],
  'that do not fit the history are reported in the order of the file, under one limit': session(
    keyedItem('a', 1),
    ...times(40, [binding(5, 1), insertion('x', 1, 9), ['rewind', {}] as Event]).flat(),
  ),
})

describe('throughSeq', () => {
  const EVENTS: Event[] = [
    created('c', 'one'),
    renamed('c', 'two'),
    ['session_named', { name: 'n' }],
    ['session_forked', FORK],
    deleted('c'),
  ]
  test.each([-Infinity, -1, 0, 0.5, 1, 2, 3, 3.5, 5, 7, 9, 11, 1e9, Infinity])('%d ends a replay', (throughSeq) =>
    expectAsPlain(
      [
        session(content('a'), ...EVENTS, content('b'), compressed('ab'), content('c'), rewind(1), sessionEvent('x')),
        startOf(1) + numbered(2, 9, 3),
        session(
          content('a'),
          ...['7', '9007199254740992', '7.5', '"999"'].map((seq) => envelope(JSON.parse(seq), content('x'))),
          content('b'),
        ),
        ...[
          ['novelty', {}],
          ['rewind', {}],
          ['session_start', {}],
          [7, {}],
        ].map(([type, payload]) =>
          session(content('a'), JSON.stringify({ v: 1, seq: 99, type, payload }), content('b')),
        ),
        session(content('a'), 'corrupt', content('b')),
        session(content('a'), 'torn'),
        `${session(content('a'), ...EVENTS)}{"v":1,"seq":4,"type":"checkpoint_ren`,
        ...['4', '9007199254740992', '4.5', '1e999', '"4"'].flatMap((seq) =>
          [
            `{"v":3,"seq":${seq},"type":"content","payload":{}}`,
            `{"seq":${seq}}`,
            `{"v":"1","seq":${seq},"type":"newer"}`,
          ].map((later) => session(content('a'), content('b'), later, content('c'))),
        ),
      ],
      { throughSeq },
    ),
  )
})

test('auditTrail adds the time and the number of the line as they are', () =>
  expectAsPlain(
    [
      '',
      '"seq":"7","ts":"t",',
      '"seq":7.5,',
      '"ts":"a","seq":7,"ts":"b","seq":8,',
      '"t\\u0073":"\\u0061","se\\u0071":9,',
    ]
      .concat('"ts":{"b":[1,null],"a":-0},', '"ts":null,', '"seq":1e999,')
      .map((members) =>
        session(`{"v":1,${members}"type":"session_event","payload":{"severity":"info","message":"m"}}`),
      ),
    { auditTrail: true },
  ))

test.each([PROJECT_HASH, '', 'feedface', '\ud83dé\n漢', '\ud83d'])(
  'the project hash %j is compared as a string, behind the required fields',
  (hash) =>
    expectAsPlain(
      [
        session(content('a'), ['rewind', {}]),
        file(start({ model: 1 })),
        file(start({ sessionId: '' })),
        '{"v":1,"seq":1,"type":"session_start","payload":{"sessionId":"s","projectHash":"\\ud83d\\u00e9\\n漢"}}\n',
      ],
      { hash },
    ),
)
