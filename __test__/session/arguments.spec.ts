/** Arguments of the wrong type: each function throws at once a TypeError that names the wrong one. */
import { createRequire } from 'node:module'
import { describe, expect } from 'vitest'
import { eachCase } from '../support/each-case'
import { fc, test } from '../support/property'

const tape = createRequire(import.meta.url)('../../index.js') as Record<string, (...args: unknown[]) => unknown>

/** The name of the wrong argument, and the arguments of a call. */
type Call = readonly [named: string, ...args: unknown[]]

/** Calls of a function with a wrong argument, one for each of these values. */
const each = (named: string, values: readonly unknown[], argumentsWith: (value: unknown) => unknown[]): Call[] =>
  values.map((value) => [named, ...argumentsWith(value)])
/** Calls with an object of which one member is wrong. */
const members = (named: string, whole: object, wrong: Record<string, unknown[]>, before: unknown[] = []): Call[] =>
  Object.entries(wrong).flatMap(([name, values]) =>
    each(`${named}.${name}`, values, (value) => [...before, { ...whole, [name]: value }]),
  )

const NO_STRING = [undefined, null, 7, {}, ['a'], Symbol('a')]
const NO_FILLED_STRING = [...NO_STRING, '']
const NO_FUNCTION = ['call me', {}, 1]
const NO_SIGNAL = [{}, 7, 'abort', null, new AbortController()]
const SCAN = { signal: NO_SIGNAL, onProgress: NO_FUNCTION }

const path: Call[] = each('filePath', NO_STRING, (value) => [value])
const CLOSED = { filePath: 'f', chatsDir: 'd', sessionId: 's' }
const REQUEST = {
  continueRef: 'x',
  chatsDir: '.',
  projectHash: 'h',
  currentProvider: 'p',
  currentModel: 'm',
  workspaceDirs: [],
}
const TARGET = { checkpointId: 'c', checkpointName: 'n', source: { sessionId: 's', filePath: 'f' } }
const FORK = { chatsDir: 'd', projectHash: 'h', provider: 'p', model: 'm', workspaceDirs: [] }
const RECORDER = {
  cwd: [7],
  fileName: ['hours'],
  onWarning: NO_FUNCTION,
  durability: ['disk'],
  exclusive: [1],
}

/** The calls of a function that gives or removes a name, with further arguments between the project's hash and the options. */
function naming(more: Record<string, string>, hasOptions = true): Call[] {
  const good = Object.values(more)
  return [
    ...each('place', [null, undefined, 'x', []], (place) => [place, 'h', ...good]),
    ...each('place', [{}, { ...CLOSED, filePath: 1 }, { flush() {} }], (place) => [place, 'h', ...good]),
    ...members('place', CLOSED, { filePath: [''], chatsDir: [''], sessionId: [5] }).map(
      (call): Call => [...call, 'h', ...good],
    ),
    ...each('projectHash', [undefined, '', 7], (hash) => [CLOSED, hash, ...good]),
    ...Object.keys(more).map(
      (named, index): Call => [named, CLOSED, 'h', ...good.map((value, at) => (at === index ? 5 : value))],
    ),
    ...(hasOptions
      ? [
          ...each('options', [null, 'x'], (options) => [CLOSED, 'h', ...good, options]),
          ...members('options', {}, { overwrite: [1] }, [CLOSED, 'h', ...good]),
        ]
      : []),
  ]
}

const CALLS: Record<string, Call[]> = {
  replaySession: [
    ...path,
    ...each('expectedProjectHash', [7, true, {}, ['a'], Symbol('a')], (hash) => ['x', hash]),
    ...each('options', [7, true, 'auditTrail', Symbol('a')], (options) => ['x', undefined, options]),
    ...members(
      'options',
      {},
      { throughSeq: ['7', 7n, {}, true], auditTrail: ['yes', 1], strict: ['yes', 1], map: [1], ...SCAN },
      ['x', undefined],
    ),
  ],
  openSession: [
    ...path,
    ...each('expectedProjectHash', [7], (hash) => ['x', hash]),
    ...members('options', {}, { throughSeq: ['1'] }, ['x', undefined]),
  ],
  readSessionHeader: path,
  readSessionPreview: [
    ...path,
    ...each('options', [null, 7, 'x', [], true], (options) => ['x', options]),
    ...members('options', {}, { length: [null, -1, 1.5, NaN, Infinity, 2 ** 53, '7', 7n, {}], signal: NO_SIGNAL }, [
      'x',
    ]),
  ],
  readSessionTitle: [
    ...path,
    ...each('options', [7], (options) => ['x', options]),
    ...members('options', {}, { signal: NO_SIGNAL }, ['x']),
  ],
  readSessionHeaders: each('filePaths', [null, undefined, 7, {}, [7], ['a', null], new Set(['a'])], (value) => [value]),
  readSessionRecords: [
    ...each('path', NO_STRING, (value) => [value]),
    ...each('options', ['b', null], (options) => ['x', options]),
    ...members('options', {}, { history: [1], strict: ['yes'], types: ['content'], from: [7], signal: NO_SIGNAL }, [
      'x',
    ]),
    ['options.types[1]', 'x', { types: ['content', 7] }],
    ['options.types[0]', 'x', { types: [, 'content'] }],
    ...members('options.from', { line: 1, offset: 0 }, { line: [0, undefined], offset: [-1, 0.5, undefined] }).map(
      ([named, from]): Call => [named, 'x', { from }],
    ),
  ],
  readSessionMedia: [
    ...each('path', [7, undefined], (value) => [value]),
    ['options', 'x', 7],
    ...members('options', {}, { signal: [7] }, ['x']),
  ],
  verifySessionMedia: [
    ...each('path', [7, undefined], (value) => [value]),
    ['options', 'x', 7],
    ...members('options', {}, { signal: [7], mediaDir: [7, '', null] }, ['x']),
  ],
  listSessions: [
    ...each('chatsDir', [undefined, 7, ['a']], (value) => [value]),
    ...each('options', ['hash', null], (options) => ['x', options]),
    ...members('options', {}, { projectHash: [7, null] }, ['x']),
  ],
  describeSessions: [
    ...each('chatsDir', [undefined, '', 7], (value) => [value]),
    ...each('options', ['hash', null], (options) => ['x', options]),
    ...members('options', {}, { projectHash: [7], ...SCAN }, ['x']),
  ],
  listContinueTargets: [
    ...each('chatsDir', [undefined, ''], (value) => [value, 'h']),
    ...each('projectHash', [undefined, '', { projectHash: 'h' }], (hash) => ['x', hash]),
    ...each('options', [null], (options) => ['x', 'h', options]),
    ...members('options', {}, SCAN, ['x', 'h']),
  ],
  resumeSession: [
    ...each('request', [null, 'latest'], (request) => [request]),
    ...members('request', REQUEST, {
      continueRef: [7, undefined],
      projectHash: [''],
      chatsDir: ['', ['.']],
      currentProvider: ['', undefined],
      currentModel: [null],
      workspaceDirs: ['/w', ['/w', 7]],
      recorder: [null],
      history: ['array', true, null],
      map: [1],
    }),
    ...members('request.recorder', {}, RECORDER).map(([named, recorder]): Call => [named, { ...REQUEST, recorder }]),
  ],
  deleteSession: [
    ...each('ref', [7, undefined], (ref) => [ref, '.', 'h']),
    ...each('chatsDir', ['', null], (chatsDir) => ['x', chatsDir, 'h']),
    ...each('projectHash', ['', undefined], (hash) => ['x', '.', hash]),
    ...each('options', [null, true], (options) => ['x', '.', 'h', options]),
    ...members('options', {}, { exact: [1] }, ['x', '.', 'h']),
  ],
  removeSessionFiles: each('filePath', NO_FILLED_STRING, (value) => [value]),
  forkSession: [
    ['target', undefined, FORK],
    ...members('target', TARGET, { checkpointId: [''], checkpointName: [1], source: [null] }).map(
      (call): Call => [...call, FORK],
    ),
    ...members('target.source', TARGET.source, { sessionId: [undefined], filePath: [''] }).map(
      ([named, source]): Call => [named, { ...TARGET, source }, FORK],
    ),
    ['options', TARGET, undefined],
    ...members(
      'options',
      FORK,
      { chatsDir: [''], projectHash: [''], provider: [''], model: [''], workspaceDirs: [[1]], source: [{}] },
      [TARGET],
    ),
    ...members('options.recorder', {}, RECORDER).map(
      ([named, recorder]): Call => [named, TARGET, { ...FORK, recorder }],
    ),
  ],
  archiveSession: [...each('filePath', [7, ''], (value) => [value]), ...members('options', {}, { signal: [1] }, ['x'])],
  restoreSession: each('filePath', [7, ''], (value) => [value]),
  keepSessions: [
    ['where', 7],
    ['where', ['a', '']],
    ...members(
      'policy',
      {},
      { minAge: ['7'], archiveAfter: [-1], deleteAfter: ['1m'], maxSessions: [1.5], maxBytes: [NaN] },
      ['x'],
    ),
    ...members('options', {}, { keep: [1] }, ['x', {}]),
  ],
  repairSession: [
    ['source', 1, 'a'],
    ['destination', 'a', ''],
    ['options', 'a', 'b', null],
    ...members('options', {}, { projectHash: [1], receiptPath: [''], dryRun: [1], ...SCAN }, ['a', 'b']),
  ],
  exportSession: [
    ...each('path', [7, ''], (value) => [value, 'x', { format: 'atif' }]),
    ['dest', 'x', null, { format: 'atif' }],
    ['options', 'x', 'y'],
    ...members('options', { format: 'atif' }, { format: ['csv'], signal: [1] }, ['x', 'y']),
  ],
  importSession: [
    ['options', 'x', undefined],
    ...members(
      'options',
      { chatsDir: 'd', projectHash: 'h' },
      { chatsDir: [undefined], projectHash: [''], sessionId: ['a b'], workspaceDirs: [[1]] },
      ['x'],
    ),
  ],
  sessionLockPath: [
    ['chatsDir', '', 'id'],
    ['sessionId', '/c', 1],
  ],
  sessionLockPathOf: each('filePath', ['', 1, null, undefined], (value) => [value]),
  acquireSessionLock: [
    ['chatsDir', undefined, 'id'],
    ['sessionId', '/c', null],
  ],
  isSessionLocked: [['chatsDir', {}, 'id']],
  removeStaleLock: [['chatsDir', '', 'id']],
  cleanUpLocks: each('chatsDir', ['', 7], (value) => [value]),
  isLockStale: [
    ['lockPath', ''],
    ['options', '/c', null],
    ['options.pidReuse', '/c', { pidReuse: 1 }],
  ],
  createCheckpoint: naming({ name: 'n' }),
  renameCheckpoint: naming({ checkpointId: 'c', name: 'n' }),
  deleteCheckpoint: naming({ checkpointId: 'c' }, false),
  nameSession: naming({ name: 'n' }),
  listCheckpoints: [
    ['filePath', '', 'h'],
    ['filePath', 5, 'h'],
    ['projectHash', 'f', ''],
  ],
  foldCheckpoints: each('events', [undefined, null, {}, 'x', new Set(), { length: 1, 0: {} }], (value) => [value]),
}

const refusalOf = (named: string) =>
  expect.objectContaining({
    name: 'TypeError',
    code: 'ERR_INVALID_ARG_TYPE',
    message: expect.stringMatching(`^${named.replace(/[[\].]/g, '\\$&')}(\\[\\d+\\])? must be `) as string,
  })

describe('a wrong argument', () => {
  test.each(Object.entries(CALLS))('of %s is named', (name, calls) =>
    eachCase(calls, ([named, ...args]) => expect(() => tape[name]!(...args)).toThrow(refusalOf(named))),
  )

  const PATHS = ['replaySession', 'openSession', 'readSessionHeader', 'readSessionPreview', 'readSessionTitle']
  test.prop([fc.constantFrom(...PATHS), fc.anything().filter((value) => typeof value !== 'string')], { numRuns: 200 })(
    'may be anything that is no path',
    (name, value) => {
      expect(() => tape[name]!(value)).toThrow(refusalOf('filePath'))
    },
  )

  const noOption = fc.anything().filter((value) => value !== undefined && value !== null)
  test.prop([noOption], { numRuns: 100 })('may be anything that is no hash or no number', (value) => {
    if (typeof value !== 'string')
      expect(() => tape['replaySession']!('x', value)).toThrow(refusalOf('expectedProjectHash'))
    if (typeof value !== 'number')
      expect(() => tape['replaySession']!('x', undefined, { throughSeq: value })).toThrow(
        refusalOf('options.throughSeq'),
      )
  })
})
