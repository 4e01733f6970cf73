/** Replay, records, headers and loading, compared with the plain engine: readline and `JSON.parse` of each line. */
import { deepStrictEqual, strictEqual } from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { readHeaderWithReadline, replayFileWithReadline } from '../../__test__/support/plain-engine.mjs'
import * as tape from '../../index.mjs'
import { addonFile } from '../../scripts/platform.mjs'
import { longestStop } from '../measure.mjs'
import { peakOver } from '../memory.mjs'
import { REPLAY_WORKLOADS, headerFiles, pool, replayFile } from '../workloads.mjs'

const PLAIN = 'plain engine'
const RATIOS = { compacted: '≥ 20×', plain: '≥ 4×', small: '≥ 4×', tiny: '≥ 2.5×' }
const AT_ONCE = 32

export async function* replay({ scale, workloads }) {
  for (const workload of REPLAY_WORKLOADS.filter(({ name }) => workloads.some((wanted) => name.startsWith(wanted)))) {
    const { shape, title } = workload
    const { filePath } = await replayFile(workload, scale)
    await checkSame(filePath)
    const ours = () => tape.replaySession(filePath)
    // The plain engine applies each edit to the whole history: no target.
    yield { what: title, ours, other: [PLAIN, () => replayFileWithReadline(filePath)], target: RATIOS[shape] }
    yield { what: `${title}, longest stop`, unit: 'ms', ours: () => longestStop(ours), target: '≤ 16 ms' }
    if (workload.alphabet === 'ascii') continue
    const peak = `${title}, peak memory above the result`
    yield { what: peak, unit: 'MiB', ours: () => peakOver('replay', filePath), target: '≤ 64 MiB' }
  }
}

/** Checks that both results are equal, including the order of keys, which `deepStrictEqual` ignores: a fast replay that is wrong is worthless. */
async function checkSame(filePath) {
  const [plain, ours] = [await replayFileWithReadline(filePath), await tape.replaySession(filePath)]
  if (!plain.ok || !ours.ok) throw new Error(`${filePath} does not replay`)
  deepStrictEqual(ours, plain)
  strictEqual(await digest(ours.history), await digest(plain.history))
}

async function digest(values) {
  const hash = createHash('sha256')
  for await (const value of values) hash.update(JSON.stringify(value))
  return hash.digest('hex')
}

export async function* records({ scale }) {
  for (const workload of REPLAY_WORKLOADS.filter(({ name }) => /^(plain|small)-wide/.test(name))) {
    const { filePath } = await replayFile(workload, scale)
    const read = () => tape.readSessionRecords(filePath)
    strictEqual(await digest(bare(read())), await digest(bare(plainRecords(filePath))))
    const other = ['readline and JSON.parse', () => sumOf(plainRecords(filePath))]
    yield { what: workload.title, ours: () => sumOf(read()), other, target: '≥ 1.5×' }
    const withHistory = () => sumOf(tape.readSessionRecords(filePath, { history: true }))
    yield { what: `${workload.title}, with \`history\``, ours: withHistory, other }
  }
}

async function* plainRecords(filePath) {
  for await (const line of createInterface({ input: createReadStream(filePath), crlfDelay: Infinity }))
    yield { record: JSON.parse(line) }
}

async function* bare(read) {
  for await (const { record } of read) yield record
}

/** Looks at each record, as any reader does. */
async function sumOf(read) {
  let sum = 0
  for await (const { record } of read) sum += record.seq
  return sum
}

export async function* header({ scale }) {
  const paths = headerFiles(Math.round(10_000 * scale))
  const directory = dirname(paths[0])
  const each = (read, together) => () => pool(paths, together, read)
  const listed = async () =>
    pool((await readdir(directory)).sort(), AT_ONCE, (name) => readHeaderWithReadline(join(directory, name)))
  const [loop, together] = [1, AT_ONCE].map((count) => each(readHeaderWithReadline, count))
  deepStrictEqual(await tape.readSessionHeaders(paths), await together())
  const [inTurn, atOnce] = [
    ['readline, in turn', loop],
    [`readline, ${AT_ONCE} at once`, together],
  ]
  const target = '≥ 5×'
  yield {
    what: `\`readSessionHeader\` of ${paths.length} files, in turn`,
    ours: each(tape.readSessionHeader, 1),
    other: inTurn,
    target,
  }
  yield { what: `the same, ${AT_ONCE} at once`, ours: each(tape.readSessionHeader, AT_ONCE), other: atOnce, target }
  yield { what: '`readSessionHeaders`, one call', ours: () => tape.readSessionHeaders(paths), other: inTurn, target }
  yield { what: '`readSessionHeaders`, one call', ours: () => tape.readSessionHeaders(paths), other: atOnce, target }
  const ours = () => tape.readSessionHeaders(directory)
  yield { what: '`readSessionHeaders` of the directory', ours, other: [atOnce[0], listed], target }
}

/** Each time in a new process. */
export async function* loading() {
  const [library, addon] = ['index.js', addonFile()].map((name) =>
    fileURLToPath(new URL(`../../${name}`, import.meta.url)),
  )
  const loaded = (load) => async () => {
    const code = `const started = performance.now(); ${load}; console.log(performance.now() - started)`
    return Number((await promisify(execFile)(process.execPath, ['-e', code])).stdout)
  }
  const ours = loaded(`require(${JSON.stringify(library)})`)
  const other = ['process.dlopen of the addon', loaded(`process.dlopen({ exports: {} }, ${JSON.stringify(addon)})`)]
  yield { what: "`require('session-tape')`", unit: 'ms', ours, other, rounds: 15, target: '≤ 4 ms' }
}
