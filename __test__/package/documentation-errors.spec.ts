/**
 * docs/errors.md against the sources: it has exactly the codes that they define, and exactly the messages about sessions that can be
 * printed.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { exportBundle, replaySession } from '../../index.js'
import { PROJECT } from '../support/command-line'
import { completedRun, freshPath } from '../support/run-directory'
import { envelope, file, session, start, writeSession } from '../support/session-file'
import { declarations } from '../support/declarations'

const read = (path: string): string => readFileSync(join(PROJECT, path), 'utf8')

const filesOf = (folder: string, ending: string): string[] =>
  readdirSync(join(PROJECT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith(ending))
    .map((name) => `${folder}/${name}`)

const page = read('docs/errors.md')

function section(title: string): string {
  const found = new RegExp(`^## ${title}\n([^]*?)(?=^## |(?![^]))`, 'm').exec(page)?.[1]
  if (found === undefined) throw new Error(`docs/errors.md has no section '${title}'`)
  return found
}

/** The code spans that begin each entry of a section's list. */
const entriesOf = (title: string): string[] =>
  [...section(title).matchAll(/^- (`[^`]+`(?:, `[^`]+`)*)/gm)].flatMap(([, spans]) =>
    [...spans!.matchAll(/`([^`]+)`/g)].map(([, code]) => code!),
  )

const unique = (texts: Iterable<string>): string[] => [...new Set(texts)].sort()

// ---- Codes -------------------------------------------------------------------------------------

/** A code's form: `ENOENT`, `ERR_INVALID_ARG_TYPE`, `NotARun`. */
const CODE = /'(E[A-Z]+|ERR_[A-Z_]+|UNKNOWN|(?:[A-Z][a-z0-9]*)+)'/g

/** The codes of a `codes! { … }` table: its names are the codes. */
function codesOfTable(file: string): string[] {
  const table = /^codes! \{\n([^]*?)^\}/m.exec(read(file))?.[1] ?? ''
  return [...table.matchAll(/^ {4}(\w+),$/gm)].map(([, code]) => code!)
}

/** The strings that the Rust functions `code` return. */
const codesOfFunctions = (source: string): string[] =>
  [...source.matchAll(/fn code\(&self\) -> &'static str \{\n([^]*?)^ {4}\}/gm)].flatMap(([, body]) =>
    [...body!.matchAll(/"(\w+)"/g)].map(([, code]) => code!),
  )

/** The names of system errors. */
const codesOfSystem = (): string[] =>
  [...withoutTests(read('crates/core/src/disk/system/os_error.rs')).matchAll(/\(\s*(?:libc::\w+, )?"(\w+)", "/g)].map(
    ([, code]) => code!,
  )

const withoutTests = (source: string): string => source.replace(/^#\[cfg\((?:all\()?test[^]*/m, '')

/** The strings in the form of a code, on lines of JavaScript about codes. The `code` in the payload of an event is the user's. */
const codesOfJavaScript = (source: string): string[] =>
  source
    .replace(/\(\n\s+/g, '(')
    .split('\n')
    .filter((text) => /(?<!'|payload\.)\bcode\b|Complaint\(|\bfailure\(|panicCode/.test(text))
    .flatMap((text) => [...text.matchAll(CODE)].map(([, code]) => code!))

/** The codes of errors and warnings in the type declarations. */
const codesOfTypes = (): string[] =>
  [...declarations.matchAll(/^export type \w+Code = ([^;]*);/gm)].flatMap(([, union]) =>
    [...union!.matchAll(CODE)].map(([, code]) => code!),
  )

/** The codes for which the command line exits with 1. */
const codesOfDamage = (): string[] =>
  [.../DAMAGE = new Set\(\[([^\]]*)\]/.exec(read('packages/cli/complaint.js'))![1]!.matchAll(CODE)].map(
    ([, code]) => code!,
  )

describe('the list of codes', () => {
  const rust = [...filesOf('src', '.rs'), ...filesOf('crates/core/src', '.rs')]
  const tables = rust.filter((file) => /^codes! \{/m.test(read(file)))
  const sources = {
    tables: tables.flatMap(codesOfTable),
    functions: rust.flatMap((file) => codesOfFunctions(withoutTests(read(file)))),
    system: codesOfSystem(),
    javaScript: [
      ...filesOf('lib', '.ts'),
      ...filesOf('packages/cli', '.js').filter((file) => !file.includes('html/libraries')),
    ].flatMap((file) => codesOfJavaScript(read(file))),
    types: codesOfTypes(),
    damage: codesOfDamage(),
  }
  const documented = entriesOf('All codes')

  // Without this, a pattern that no longer finds anything would pass for every page.
  test.each([
    ['tables', ['NotAJsonLine', 'Cancelled', 'AbsolutePath', 'InvalidOption']],
    [
      'functions',
      [
        'ESESSIONLOCKED',
        'ERUNLOCKED',
        'RunMismatch',
        'NotComparable',
        'Changed',
        'InvalidPrivateKey',
        'InvalidPublicKey',
      ],
    ],
    ['system', ['ENOENT', 'EXDEV', 'EOF', 'UNKNOWN', 'EROFS']],
    [
      'javaScript',
      [
        'ERR_INVALID_ARG_TYPE',
        'ESESSIONCLOSED',
        'EBUNDLEPANIC',
        'TornTail',
        'Usage',
        'NoAddon',
        'Unexpected',
        'KindMismatch',
      ],
    ],
    ['types', ['ENOSPC', 'EEXIST', 'RecorderDisposed', 'WrongHash']],
    ['damage', ['ChainBroken', 'SourceInvalid']],
  ] as const)('is compared with codes that are found in the %s', (source, some) => {
    expect(sources[source]).toEqual(expect.arrayContaining([...some]))
  })

  test.each(Object.entries(sources))('has every code in the %s', (_, codes) => {
    expect(unique(codes).filter((code) => !documented.includes(code))).toEqual([])
  })

  test('has no other codes', () => {
    // The types and the list of damage only repeat codes.
    const { types, damage, ...defining } = sources
    const defined = Object.values(defining).flat()
    expect(documented.filter((code) => !defined.includes(code))).toEqual([])
  })

  test('has each code once, in alphabetical order', () => {
    expect(documented).toEqual([...new Set(documented)])
    const leading = [...section('All codes').matchAll(/^- `(\w+)`/gm)].map(([, code]) => code!.toLowerCase())
    expect(leading).toEqual([...leading].sort())
  })

  test('says for each code what it means and what to do', () => {
    for (const entry of section('All codes').match(/^- .*$/gm)!)
      expect(entry).toMatch(/^- `\w+`(?:, `\w+`)*: \S.* → \S/)
  })
})

test('the documented codes with which the command line exits with 1 are those of the program', () => {
  const listed = /exits with 1 if[^]*?: ([^]*?)\. With/.exec(section('Exit codes of the command line'))![1]!
  expect(unique([...listed.matchAll(/`(\w+)`/g)].map(([, code]) => code!))).toEqual(unique(codesOfDamage()))
})

// ---- Messages about sessions -------------------------------------------------------------------

/** The literal parts of the messages in a Rust file, without their placeholders. */
const fragments = (file: string): string[] =>
  [...withoutTests(read(file)).matchAll(/(?:Message::text\(|Part::Text\(|format!\(\s*|#\[error\(|Err\()"([^"]+)"/g)]
    .flatMap(([, text]) => text!.split(/\{[^}]*\}/))
    .map((text) => text.trim())
    .filter((text) => /[a-z]{4}/i.test(text))

/** A message of the page as a pattern: `…`, `CODE` and single capital letters stand for any text. */
function patternOf(message: string): RegExp {
  const escaped = message.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')
  return new RegExp(`^${escaped.replaceAll(/…|CODE|\b[A-Z]\b/g, '.+')}$`, 's')
}

describe('the messages about sessions', () => {
  const errors = entriesOf('Sessions that cannot be replayed')
  const warnings = entriesOf('Warnings of a replay')

  test.each([
    'crates/core/src/session/read/replay.rs',
    'crates/core/src/session/fold/warnings.rs',
    'crates/core/src/session/fold/checkpoint.rs',
  ])('include all messages in %s', (file) => {
    expect(fragments(file).length).toBeGreaterThan(2)
    expect(fragments(file).filter((text) => !page.includes(text))).toEqual([])
  })

  test('are exactly those that can be printed', async () => {
    const bundleOfRun = freshPath()
    const noBundle = `${freshPath()}.tar.zst`
    await exportBundle(completedRun().write(freshPath()), bundleOfRun)
    writeFileSync(noBundle, 'not a bundle')
    const odd = [
      envelope(2, ['content', {}]),
      envelope(3, ['session_event', {}]),
      envelope(4, ['novelty', {}]),
      envelope(4, ['session_start', {}]),
      '{"v":1',
      '',
    ]
    const aboutCheckpoints = [
      'checkpoint_deleted',
      'checkpoint_created',
      'checkpoint_created',
      'checkpoint_renamed',
      ...Array.from({ length: 102 }, () => 'checkpoint_deleted'),
    ]
    const oddCheckpoints = [
      ...aboutCheckpoints.map((type, at) => envelope(at + 2, [type, { checkpointId: 'c', name: 'n' }])),
      envelope(200, ['checkpoint_created', {}]),
      envelope(201, ['checkpoint_created', { checkpointId: 'c' }]),
      envelope(202, ['session_metadata', { title: 1 }]),
    ].join('\n')
    const damaged = Array.from({ length: 102 }, () => '{"v":1\n').join('')
    const replays = await Promise.all([
      replaySession('no-such-file'),
      replaySession(bundleOfRun),
      replaySession(noBundle),
      ...['', '{}\n', file(start({ sessionId: '' })), session() + odd.join('\n'), session() + damaged].map((text) =>
        replaySession(writeSession(text)),
      ),
      replaySession(writeSession(session()), 'another project'),
      replaySession(writeSession(session() + oddCheckpoints)),
      replaySession(writeSession(`${session()}{}\n`), undefined, { strict: true }),
      replaySession(
        writeSession(`${session()}{"v":1}\n${envelope(3, ['rewind', { itemsRemoved: 1, cutSeq: -1 }])}`),
        undefined,
        { strict: true },
      ),
      replaySession(writeSession(file(start({ startTime: '' }))), undefined, { strict: true }),
    ])
    const printed = replays.flatMap((replay) => (replay.ok ? replay.warnings : [replay.error, ...replay.warnings]))
    const documented = [...errors, ...warnings]
    expect(printed.filter((text) => !documented.some((message) => patternOf(message).test(text)))).toEqual([])
    // These need half a gigabyte of data, or another process at the right moment.
    const rare = (message: string): boolean => /longer than B bytes|changed while/.test(message)
    expect(
      documented.filter((message) => !rare(message) && !printed.some((text) => patternOf(message).test(text))),
    ).toEqual([])
  })
})
