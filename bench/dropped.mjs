/**
 * Results that a program drops at once, in a process that may take 400 MB: replays one after the other, and an iteration over a file that is larger.
 *
 * Imported, it starts the processes; started as a script, it is such a process.
 */
import { execFile } from 'node:child_process'
import {
  closeSync,
  createReadStream,
  existsSync,
  mkdirSync,
  openSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { openSession } from '../index.mjs'
import { ENGINES } from './engines.mjs'
import { DATA, startLine } from './workloads.mjs'

const SELF = fileURLToPath(import.meta.url)
export const LIMIT = 400e6
const REPLAYS = 40

/** Items of this size take hardly any memory in the engine's own heap. */
const ITEM_BYTES = 50_000

export async function benchDropped({ scale, say }) {
  const replays = Math.round(REPLAYS * scale)
  return {
    replays,
    replay: await compared('replay', 60e6, replays, say),
    items: await compared('items', 1e9 * scale, 1, say),
  }
}

async function compared(kind, bytes, times, say) {
  say(`dropped: ${kind}`)
  const filePath = fileOf(bytes)
  try {
    const measure = (side) => peakWithin(LIMIT, [kind, side, filePath, String(times)])
    return { bytes: statSync(filePath).size, tape: await measure('addon'), plain: await measure('plain') }
  } finally {
    rmSync(filePath)
  }
}

function fileOf(bytes) {
  const filePath = join(DATA, `dropped-${bytes}.jsonl`)
  if (existsSync(filePath)) return filePath
  mkdirSync(DATA, { recursive: true })
  const file = openSync(`${filePath}.part`, 'w')
  const text = 'words of a tool '.repeat(ITEM_BYTES / 16)
  let written = writeSync(file, startLine(1))
  for (let seq = 2; written < bytes; seq++) {
    const payload = { content: { speaker: 'tool', blocks: [{ type: 'text', text: `${seq} ${text}` }] } }
    written += writeSync(
      file,
      `${JSON.stringify({ v: 1, seq, ts: '2026-02-11T16:00:00.000Z', type: 'content', payload })}\n`,
    )
  }
  closeSync(file)
  renameSync(`${filePath}.part`, filePath)
  return filePath
}

/** The peak of a process under a limit, `killed` if the system ended it. Where no limit can be set, only the peak is measured. */
async function peakWithin(bytes, args) {
  const group = limitedGroup(bytes)
  const enter = group === null ? [] : ['sh', '-c', `echo $$ > ${group}/cgroup.procs && exec "$@"`, 'sh']
  const [command, ...rest] = [...enter, process.execPath, SELF, ...args]
  try {
    const { stdout } = await promisify(execFile)(command, rest)
    return { ...JSON.parse(stdout), isLimited: group !== null }
  } catch (error) {
    if (error.signal !== 'SIGKILL') throw error
    return { killed: true, isLimited: true }
  } finally {
    if (group !== null) rmdirSync(group)
  }
}

/** A control group with a limit of memory, without swap; null where there can be none. */
function limitedGroup(bytes) {
  const [group, name, swap] = existsSync('/sys/fs/cgroup/memory')
    ? ['/sys/fs/cgroup/memory/session-tape-bench', 'memory.limit_in_bytes', null]
    : ['/sys/fs/cgroup/session-tape-bench', 'memory.max', 'memory.swap.max']
  try {
    mkdirSync(group)
    writeFileSync(join(group, name), String(bytes))
    if (swap !== null) writeFileSync(join(group, swap), '0')
    return group
  } catch {
    return null
  }
}

const measurements = {
  async replay(side, filePath, times) {
    for (let time = 0; time < times; time++)
      if (!(await ENGINES[side](filePath)).ok) throw new Error('the session was not replayed')
  },
  async items(side, filePath) {
    let count = 0
    for await (const item of side === 'addon' ? itemsOf(filePath) : linesOf(filePath)) count += Number(item !== null)
    if (count === 0) throw new Error('the session has no items')
  },
}

async function* itemsOf(filePath) {
  const { session } = await openSession(filePath)
  yield* session
  session.close()
}

async function* linesOf(filePath) {
  for await (const line of createInterface({ input: createReadStream(filePath) })) yield JSON.parse(line)
}

if (process.argv[1] === SELF) {
  const [kind, side, filePath, times] = process.argv.slice(2)
  const started = performance.now()
  await measurements[kind](side, filePath, Number(times))
  process.stdout.write(JSON.stringify({ peak: process.resourceUsage().maxRSS * 1024, ms: performance.now() - started }))
}
