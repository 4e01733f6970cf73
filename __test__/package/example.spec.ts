// The example as a copy of its folder: a project of its own, with the package installed by name. `npm test` also runs its tests in place.
import { cp, mkdtemp, mkdir, readdir, readFile, realpath, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'

import * as tape from '../../index.js'
import * as facade from '../../examples/cli-facade/src/index.js'
import { succeed } from './packing/command.js'
import { ROOT } from './packing/release.js'

const EXAMPLE = join(ROOT, 'examples', 'cli-facade')
const TOOLS = join(ROOT, 'node_modules')

let project: string

beforeAll(async () => {
  project = join(await realpath(await mkdtemp(join(tmpdir(), 'session-tape-example-'))), 'copy')
  await cp(EXAMPLE, project, { recursive: true, filter: (path) => !path.includes('node_modules', EXAMPLE.length) })
  await mkdir(join(project, 'node_modules'))
  const packages = { 'session-tape': ROOT, '@types': join(TOOLS, '@types'), vitest: join(TOOLS, 'vitest') }
  for (const [name, target] of Object.entries(packages))
    await symlink(target, join(project, 'node_modules', name), 'junction')
})
afterAll(async () => {
  if (project) await rm(join(project, '..'), { recursive: true, force: true })
})

test('it compiles, strictly', async () => {
  await succeed(process.execPath, [join(TOOLS, 'typescript', 'bin', 'tsc')], project)
})

/** Items of other CLIs: one with metadata of any names, one that has nothing in common but its speakers and blocks. */
const ITEMS = [
  `export interface IContent { speaker: 'human' | 'ai' | 'tool'; blocks: Block[]; metadata?: Metadata }
   interface Block { type: 'text' | 'media'; [name: string]: unknown }
   interface Metadata { id?: string; responsesStored?: boolean; timestamp?: number; [name: string]: unknown }`,
  'export type IContent = Readonly<{ speaker: string; blocks: readonly number[]; metadata: null; own: symbol }>;',
]
test.each(ITEMS)('it compiles with the items of another CLI, which only content.ts names', async (item) => {
  const content = join(project, 'src', 'content.ts')
  const config = join(project, 'theirs.json')
  const before = await readFile(content, 'utf8')
  await writeFile(join(project, 'src', 'theirs.ts'), item)
  await writeFile(content, before.replace("from './item.js'", "from './theirs.js'"))
  await writeFile(config, JSON.stringify({ extends: './tsconfig.json', include: ['src'], exclude: ['src/item.ts'] }))
  try {
    await succeed(process.execPath, [join(TOOLS, 'typescript', 'bin', 'tsc'), '-p', config], project)
  } finally {
    await writeFile(content, before)
    for (const made of [join(project, 'src', 'theirs.ts'), config]) await rm(made)
  }
})

test('no file of it differs in case only from another, or from one of the CLI', async () => {
  const names = await readdir(join(EXAMPLE, 'src'))
  const ofCli = ['SessionJanitor.ts', 'ChatsDirWatcher.ts', 'HistoryMutationService.ts', 'RecordingIntegration.ts']
  for (const name of [...names, ...ofCli])
    expect(names.filter((other) => other !== name && other.toLowerCase() === name.toLowerCase())).toEqual([])
  for (const name of names.filter((one) => one !== 'content.ts')) {
    expect([name, /from '\.\/item\.js'/.test(await readFile(join(EXAMPLE, 'src', name), 'utf8'))]).toEqual([
      name,
      false,
    ])
  }
})

test('its tests pass', async () => {
  const printed = await succeed(
    process.execPath,
    [join(TOOLS, 'vitest', 'vitest.mjs'), 'run', '--reporter=json'],
    project,
  )
  const { numTotalTests, numFailedTests } = JSON.parse(printed) as { numTotalTests: number; numFailedTests: number }
  expect(numTotalTests).toBeGreaterThan(15)
  expect(numFailedTests).toBe(0)
})

test('it depends on this version of the package', async () => {
  const [{ version }, { dependencies }] = await Promise.all(
    [ROOT, EXAMPLE].map(async (path) => JSON.parse(await readFile(join(path, 'package.json'), 'utf8'))),
  )
  expect(dependencies).toEqual({ 'session-tape': `^${version}` })
})

test('it has every name of the table in docs/swapping-in.md', async () => {
  const guide = await readFile(join(ROOT, 'docs/swapping-in.md'), 'utf8')
  const rows = guide.slice(guide.indexOf('| name in the CLI |')).split('\n\n')[0]!.split('\n').slice(2)
  const code = rows.flatMap((row) => [...row.split(' | ')[0]!.matchAll(/`([^`]+)`/g)].map(([, text]) => text!))
  // `Class.method(arguments)`, `.method` of the class before, or `function(arguments)`.
  const named = code.flatMap((text) => [...text.replace(/\(.*/, '').matchAll(/\w+/g)].map(([name]) => name))
  const { CheckpointService, ResumeCursorBoot, SessionDiscovery, SessionLockManager, SessionTransitionService } = facade
  const recorder = tape.SessionRecordingService.prototype
  const holders = [
    recorder,
    new CheckpointService(),
    SessionDiscovery,
    SessionLockManager,
    new SessionTransitionService(),
    new ResumeCursorBoot('f', 1),
    ResumeCursorBoot.prototype,
    facade,
  ]
  const offered = new Set(holders.flatMap((holder) => Object.getOwnPropertyNames(holder)))
  expect(named.length).toBeGreaterThan(35)
  // Types, the ends of names, and options and fields.
  const others = new Set([
    'LockHandle',
    'UnreadableRecording',
    'Detailed',
    'internals',
    'maxQueueBytes',
    'resolveProviderModel',
    'io',
    'responsesStored',
    'kind',
    'subagent',
    'parentSessionId',
    'skippedCount',
    'recordingErrors',
    'unreadableRecordings',
    'skippedRecordings',
    'history',
    'boot',
  ])
  expect(named.filter((name) => !offered.has(name) && !others.has(name))).toEqual([])
})
