/** The life of a session in a project of 200, and what reads, keeps and repairs many. */
import { deepStrictEqual, strictEqual } from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import {
  copyFileSync,
  createReadStream,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { readHeaderWithReadline, replayFileWithReadline } from '../../__test__/support/plain-engine.mjs'
import * as tape from '../../index.mjs'
import { longestStop } from '../measure.mjs'
import { peak } from '../memory.mjs'
import {
  DATA,
  PLAIN,
  PROJECT_HASH,
  RARE_WORD,
  headerFiles,
  largeFile,
  pool,
  projectFiles,
  replayFile,
  searchedFiles,
} from '../workloads.mjs'

const isInstalled = (program) => spawnSync(program, ['--version']).status === 0

export async function* sessions({ scale }) {
  const { directory, paths } = projectFiles(Math.max(8, Math.round(200 * scale)))
  const ours = () => tape.listContinueTargets(directory, PROJECT_HASH)
  const whole = (files) => () => pool(files, 8, (path) => replayFileWithReadline(path, undefined, { strict: true }))
  strictEqual((await ours()).targets.filter(({ kind }) => kind === 'session').length, (await whole(paths)()).length)
  const what = `\`listContinueTargets\` of ${paths.length} sessions of 2 MB`
  yield { what, ours, other: ['plain engine, 8 at once', whole(paths)], target: '≥ 6×' }
  yield { what: `${what}, longest stop`, unit: 'ms', ours: () => longestStop(ours), target: '≤ 25 ms' }
  yield* listing(headerFiles(Math.round(10_000 * scale)), whole)
  yield* life(paths, Math.round(200e6 * scale))
  yield {
    what: 'a lock acquired and released',
    ours: async () => (await tape.acquireSessionLock(DATA, 'bench')).release(),
  }
}

async function* listing(paths, whole) {
  const directory = dirname(paths[0])
  const plain = async () => {
    const found = await pool(await readdir(directory), 32, async (name) => {
      const filePath = join(directory, name)
      const [header, { size, mtime }] = [await readHeaderWithReadline(filePath), await stat(filePath)]
      return { ...header, filePath, fileSize: size, lastModified: mtime }
    })
    return found.sort((a, b) => b.lastModified - a.lastModified || b.sessionId.localeCompare(a.sessionId))
  }
  const ours = () => tape.listSessions(directory)
  const seen = (list) => list.map(({ sessionId, fileSize }) => [sessionId, fileSize])
  deepStrictEqual(seen((await ours()).sessions), seen(await plain()))
  const other = ['readdir, stat and readline, 32 at once', plain]
  yield { what: `\`listSessions\` of ${paths.length} small ones`, ours, other, target: '≥ 20×' }
  const targets = () => tape.listContinueTargets(directory, PROJECT_HASH)
  yield { what: '`listContinueTargets` of them', ours: targets, other: ['plain engine, 8 at once', whole(paths)] }
}

/** The project with another session of 200 MB. Its files are links, but for that one, which is recorded to and truncated again. */
async function* life(paths, bytes) {
  const chatsDir = join(DATA, 'sessions-life')
  rmSync(chatsDir, { recursive: true, force: true })
  mkdirSync(chatsDir)
  try {
    for (const path of paths) linkSync(path, join(chatsDir, basename(path)))
    const filePath = join(chatsDir, 'session-2026-02-11T16-00-00-bench-large.jsonl')
    copyFileSync(largeFile(bytes), filePath)
    const { sessionId, provider, model, workspaceDirs } = await tape.readSessionHeader(filePath)
    const source = { sessionId, filePath }
    const checkpoint = await tape.createCheckpoint({ ...source, chatsDir }, PROJECT_HASH, 'near the end')
    const size = statSync(filePath).size
    const found = { projectHash: PROJECT_HASH, chatsDir, workspaceDirs }

    let recording
    const ours = async (starting) => {
      const started = await starting
      if (!started.ok) throw new Error(started.error)
      recording = started.recording
    }
    const request = { ...found, continueRef: sessionId, currentProvider: provider, currentModel: model }
    const resume = {
      // Other sides' data is written back, so that it does not count as part of the lock's sync.
      before: () => spawnSync('sync'),
      run: () => ours(tape.resumeSession(request)),
      // The event about the resume is cut off.
      after: async () => (await recording.dispose(), truncateSync(filePath, size)),
    }
    const replayed = () => tape.replaySession(filePath, PROJECT_HASH, { strict: true })
    yield {
      what: `\`resumeSession\` of ${Math.round(bytes / 1e6)} MB`,
      ours: resume,
      other: ['replaySession', replayed],
    }
    const target = { checkpointId: checkpoint.checkpointId, checkpointName: '', source }
    const fork = {
      run: () => ours(tape.forkSession(target, { ...found, provider, model })),
      after: async () => (await recording.dispose(), rmSync(recording.getFilePath())),
    }
    yield {
      what: '`forkSession` of it',
      ours: fork,
      other: ['plain engine, replayed and written', () => plainFork(filePath)],
    }
  } finally {
    rmSync(chatsDir, { recursive: true, force: true })
  }
}

/** What a CLI does without the library: it replays, and records the items again. */
async function plainFork(filePath) {
  const forked = join(DATA, 'plain-fork')
  const { history } = await replayFileWithReadline(filePath, PROJECT_HASH, { strict: true })
  const ts = '2026-02-11T16:00:00.000Z'
  const lines = history.map((content, index) =>
    JSON.stringify({ v: 1, seq: index + 3, ts, type: 'content', payload: { content } }),
  )
  writeFileSync(forked, `${lines.join('\n')}\n`, { flush: true })
  await replayFileWithReadline(forked)
  rmSync(forked)
}

/** Numbers of lines in the output of programs are never followed by this. */
const EXPRESSION = '[0-9]{2}:[0-9]{2}:[0-9]{2}'

export async function* search({ scale }) {
  const { directory, paths } = searchedFiles(Math.max(20, Math.round(2000 * scale)))
  const hits =
    (query, options, where = directory) =>
    async () => {
      const found = []
      for await (const { filePath, line } of tape.searchSessions(where, query, options))
        found.push(`${filePath}:${line}`)
      return found.sort()
    }
  const plainly = (matches) => ['readline, JSON.parse, every string', () => searchedPlainly(paths, matches)]
  const literal = plainly((string) => string.toLowerCase().includes(RARE_WORD))
  const pattern = new RegExp(EXPRESSION)
  deepStrictEqual(await hits(RARE_WORD)(), (await literal[1]()).sort())
  const rare = { what: `a rare word in ${paths.length} sessions of 266 KiB`, ours: hits(RARE_WORD) }
  yield { ...rare, other: literal, target: '≥ 25×' }
  if (isInstalled('rg'))
    yield { ...rare, other: ['rg -c -i', () => spawnSync('rg', ['-c', '-i', RARE_WORD, directory])], target: '≥ 0.5×' }
  const expression = hits(EXPRESSION, { regex: true })
  yield { what: 'an expression', ours: expression, other: plainly((string) => pattern.test(string)), target: '≥ 8×' }
  const common = hits('session', { limit: 100_000 })
  yield { what: '100 000 hits of a common word', ours: common }
  yield { what: '100 000 hits, longest stop', unit: 'ms', ours: () => longestStop(common), target: '≤ 16 ms' }
  yield { what: 'the first hit', ours: hits('session', { limit: 1 }), target: '≤ 20 ms' }
  const many = headerFiles(Math.round(10_000 * scale))
  yield {
    what: `the first hit in ${many.length} sessions`,
    ours: hits('session', { limit: 1 }, dirname(many[0])),
    target: '≤ 60 ms',
  }
}

/** As programs do it: one file after the other, every line parsed, every string looked at. */
async function searchedPlainly(paths, matches) {
  const hasMatch = (value) => {
    if (typeof value === 'string') return matches(value)
    return typeof value === 'object' && value !== null && Object.values(value).some(hasMatch)
  }
  const found = []
  for (const path of paths) {
    let number = 0
    for await (const line of createInterface({ input: createReadStream(path), crlfDelay: Infinity })) {
      number++
      for (const block of JSON.parse(line).payload.content?.blocks ?? [])
        if (hasMatch(block)) found.push(`${path}:${number}`)
    }
  }
  return found
}

export async function* archives({ scale }) {
  const { filePath: source } = await replayFile(PLAIN, scale)
  const directory = mkdtempSync(join(DATA, 'archives-'))
  try {
    const [filePath, other, byZstd] = ['one.jsonl', 'two.jsonl', 'one.zst'].map((name) => join(directory, name))
    for (const path of [filePath, other]) copyFileSync(source, path)
    const { bytes, archivedBytes, filePath: archived } = await tape.archiveSession(other)
    deepStrictEqual(await tape.replaySession(archived), await tape.replaySession(filePath))
    const [archive, restore] = [() => tape.archiveSession(filePath), () => tape.restoreSession(filePath)]
    const zstd = () => spawnSync('zstd', ['-q', '-f', '-9', '-T2', filePath, '-o', byZstd])
    const size = `${Math.round(bytes / 1e6)} MB (to ${(archivedBytes / 1e6).toFixed(1)} MB)`
    const archiving = {
      what: `\`archiveSession\` of ${size}, verified`,
      ours: { run: archive, after: restore },
      bytes,
      target: '≥ 40 MB/s',
    }
    yield isInstalled('zstd') ? { ...archiving, other: ['zstd -9 -T2', zstd] } : archiving
    yield { what: '`restoreSession`', ours: { before: archive, run: restore }, bytes }
    yield {
      what: 'replay of the archive',
      ours: () => tape.replaySession(archived),
      other: ['of the file', () => tape.replaySession(filePath)],
    }
    yield {
      what: '`archiveSession`, peak memory',
      unit: 'MiB',
      ours: () => archivedPeak(filePath),
      target: '≤ 128 MiB',
    }
    const sessions = headerFiles(Math.round(10_000 * scale))
    const policy = { minAge: 0, archiveAfter: 0 }
    const dryRun = () => tape.keepSessions(dirname(sessions[0]), policy, { dryRun: true })
    strictEqual((await dryRun()).archived.length, sessions.length)
    const list = ['listSessions', () => tape.listSessions(dirname(sessions[0]))]
    yield {
      what: `\`keepSessions\` of ${sessions.length} sessions, a dry run`,
      ours: dryRun,
      other: list,
      target: '≤ 1.5×',
    }
  } finally {
    rmSync(directory, { recursive: true })
  }
}

async function archivedPeak(filePath) {
  const most = await peak('archive', filePath)
  await tape.restoreSession(filePath)
  return most
}

/** One record in so many is torn, and the next one is in the same line. */
const TORN_EVERY = 1000

export async function* repair({ scale }) {
  const { filePath, records } = await replayFile(PLAIN, scale)
  const directory = mkdtempSync(join(DATA, 'repair-'))
  try {
    const [damaged, destination, braces] = ['damaged', 'repaired', 'braces'].map((name) =>
      join(directory, `${name}.jsonl`),
    )
    const lines = readFileSync(filePath, 'utf8').split(/(?<=\n)/)
    const isTorn = (at) => at > 0 && at % TORN_EVERY === 0 && at + 1 < lines.length
    writeFileSync(damaged, lines.map((line, at) => (isTorn(at) ? line.slice(0, line.length >> 1) : line)).join(''))
    const { recovered, records: kept, fragments } = await tape.repairSession(damaged, destination)
    deepStrictEqual([recovered, kept], [fragments.length, records - fragments.length])
    const repaired = (source) => ({
      before: () => rmSync(destination, { force: true }),
      run: () => tape.repairSession(source, destination).catch(({ code }) => strictEqual(code, 'NoRecords')),
    })
    const bytes = statSync(damaged).size
    const what = `a session of ${Math.round(bytes / 1e6)} MB, ${fragments.length} torn records`
    yield {
      what,
      ours: repaired(damaged),
      other: ['replaySession', () => tape.replaySession(damaged)],
      bytes,
      target: '≥ 100 MB/s',
    }
    writeFileSync(braces, Buffer.alloc(Math.round(1e9 * scale), '{'))
    yield {
      what: 'nothing but {, at each of which an object begins',
      ours: repaired(braces),
      bytes: statSync(braces).size,
      rounds: 1,
    }
  } finally {
    rmSync(directory, { recursive: true })
  }
}
