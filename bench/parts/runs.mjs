/** Runs: replay with and without verification, appending, comparing; and bundles of runs and sessions. */
import { strictEqual } from 'node:assert/strict'
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import * as tape from '../../index.mjs'
import { collectGarbage, threadWork } from '../measure.mjs'
import { peak } from '../memory.mjs'
import { DATA, PLAIN, replayFile } from '../workloads.mjs'
import { endlessRun, linesOf, recordedRun } from './run-workloads.mjs'

const logOf = (directory) => join(directory, 'events.cath-log')

async function replay({ directory, events }, verify) {
  const { ok, eventCount } = await tape.replayRun(directory, { verify })
  if (!ok || eventCount !== events) throw new Error(`${directory} does not replay (${verify})`)
}

export async function* runs({ scale, large }) {
  for (const events of [1000, 175_000, 1e6, ...(large ? [10e6] : [])]) {
    const run = await recordedRun(events * scale)
    const { ok, scheduleMatch, outputHashesMatch, chain } = await tape.verifyRun(run.directory)
    strictEqual([ok, scheduleMatch, outputHashesMatch, chain.checked === run.events].every(Boolean), true)
    const what = `${run.events} events, \`verify\``
    const parse = ['JSON.parse of the lines alone', parsing(logOf(run.directory), run.events)]
    yield { what: `${what}: none`, ours: () => replay(run, 'none'), other: parse, target: '≥ 4×' }
    yield { what: `${what}: chain`, ours: () => replay(run, 'chain'), other: parse }
    yield {
      what: `${what}: full`,
      ours: () => replay(run, 'full'),
      other: ['none', () => replay(run, 'none')],
      target: '≤ 1.25×',
    }
    if (events >= 1e6) {
      const perSecond = async () => {
        const started = performance.now()
        await replay(run, 'none')
        return (run.events / (performance.now() - started)) * 1000
      }
      yield { what: `${what}: none`, unit: 'events/s', ours: perSecond, target: '≥ 2000000 events/s' }
      for (const verify of ['none', 'full'])
        yield { what: `${what}: ${verify}, peak memory`, unit: 'MiB', ours: () => peak('run', run.directory, verify) }
    }
    if (events > 1e6) rmSync(run.directory, { recursive: true })
  }
  const events = Math.round(70_000 * scale)
  const few = [`a graph of ${NODES[0]} nodes`, () => appendAll(NODES[0], events)]
  for (const nodes of NODES.slice(1))
    yield {
      what: `JavaScript thread, an event in a graph of ${nodes} nodes`,
      unit: 'µs',
      ours: () => appendAll(nodes, events),
      other: few,
      target: '≤ 1.25×',
    }
}

/** `JSON.parse` without reading, splitting lines and creating strings, of which not all fit into memory at once. */
function parsing(log, events) {
  const LINES_AT_ONCE = 50_000
  const bytes = readFileSync(log)
  let lines
  return {
    before() {
      lines = []
      for (let start = 0; start < bytes.length && lines.length < LINES_AT_ONCE; start = bytes.indexOf(10, start) + 1)
        lines.push(bytes.toString('utf8', start, bytes.indexOf(10, start)))
    },
    run() {
      for (let n = 0; n < Math.max(1, Math.round(events / lines.length)); n++)
        for (const line of lines) JSON.parse(line)
    },
  }
}

const NODES = [10, 1000, 100_000]
const BURST = 100

/** Microseconds of the JavaScript thread per event. */
async function appendAll(nodes, events) {
  const directory = join(DATA, 'run-endless')
  const { recorder, events: source } = endlessRun(directory, nodes)
  const list = Array.from({ length: events }, () => source.next().value)
  await recorder.flush()
  collectGarbage()
  const before = threadWork()
  for (let i = 0; i < events; ) {
    for (const end = Math.min(i + BURST, events); i < end; i++) recorder.append(list[i])
    await nextTurn()
  }
  await recorder.flush()
  const { ms } = threadWork(before)
  await recorder.dispose()
  strictEqual(linesOf(directory), events + 2)
  rmSync(directory, { recursive: true })
  return (ms / events) * 1000
}

export async function* diff({ scale }) {
  const events = 1e6 * scale
  const [run, again, shifted] = [
    await recordedRun(events),
    await recordedRun(events, 'again'),
    await recordedRun(events, 'shifted'),
  ]
  const changed = changedRun(again.directory)
  const other = await recordedRun(100, 'other')
  const compare = (directory, options) => () => tape.diff(run.directory, directory, options)
  const full = compare(changed, { full: true })
  strictEqual(await compare(again.directory)(), null)
  strictEqual(await compare(shifted.directory)(), null)
  strictEqual((await full()).edits.length, 1)
  strictEqual((await compare(other.directory)()).divergence_event, 0)
  const both = async () => (await replay(run, 'chain'), replay(again, 'chain'))
  const replays = ['replayRun of both', both]
  yield {
    what: `the same ${run.events} events, recorded again`,
    ours: compare(again.directory),
    other: replays,
    target: '≤ 1.2×',
  }
  yield {
    what: 'the same, with other ids of calls and all times shifted',
    ours: compare(shifted.directory),
    other: replays,
    target: '≤ 1.2×',
  }
  yield { what: 'one with another output in the middle, `full`', ours: full, other: replays }
  yield { what: 'one that differs from the first event on', ours: compare(other.directory) }
  yield { what: 'peak memory', unit: 'MiB', ours: () => peak('diff', run.directory, again.directory) }
}

/** A copy of the run with a different output in its middle. Its chain is broken, which a diff does not check. */
function changedRun(source) {
  const directory = `${source}.changed`
  if (existsSync(directory)) return directory
  cpSync(source, directory, { recursive: true })
  const log = readFileSync(logOf(source))
  const key = '"outputHash":"'
  log.write('0'.repeat(64), log.indexOf(key, log.length >> 1) + key.length, 'latin1')
  writeFileSync(logOf(directory), log)
  return directory
}

export async function* bundles({ scale }) {
  const work = join(DATA, 'bundles')
  rmSync(work, { recursive: true, force: true })
  mkdirSync(work, { recursive: true })
  try {
    const run = await recordedRun(1e6 * scale)
    const { filePath } = await replayFile(PLAIN, scale)
    for (const [title, source] of [
      ['a run', run.directory],
      ['a session', filePath],
    ])
      yield* bundled(title, source, work)
    const [archive, bundle, directory] = ['memory.tar.zst', 'whole.tar.zst', 'imported'].map((name) => join(work, name))
    await tape.exportBundle(run.directory, bundle)
    const fresh = (path) => rmSync(path, { recursive: true, force: true })
    const jobs = { export: [run.directory, archive], verify: [bundle], import: [bundle, directory] }
    for (const [job, args] of Object.entries(jobs)) {
      const ours = () => (fresh(archive), fresh(directory), peak(job, ...args))
      yield { what: `${job} of a run, peak memory`, unit: 'MiB', ours, target: '≤ 128 MiB' }
    }
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}

async function* bundled(title, source, work) {
  const path = (side, form) => join(work, `${side}.${form === 'archive' ? 'cath-bundle.tar.zst' : 'cath-bundle'}`)
  const remove = (side, form) => () => rmSync(path(side, form), { recursive: true, force: true })
  for (const form of ['archive', 'directory']) {
    const { bytes } = await tape.exportBundle(source, path('kept', form))
    const what = `${title} of ${Math.round(bytes / 1e6)} MB, ${form}`
    const exported = { run: () => tape.exportBundle(source, path('new', form)), after: remove('new', form) }
    yield { what: `${what}: export`, ours: exported, bytes, target: '≥ 400 MB/s' }
    const verified = async () => strictEqual((await tape.verifyBundle(path('kept', form))).ok, true)
    yield { what: `${what}: verify`, ours: verified, bytes, target: '≥ 400 MB/s' }
    if (form === 'archive') {
      const ratio = () => bytes / statSync(path('kept', form)).size
      yield { what: `${what}: the source against it`, unit: 'times', ours: ratio, rounds: 1 }
      const imported = {
        run: () => tape.importBundle(path('kept', form), path('new', 'directory')),
        after: remove('new', 'directory'),
      }
      yield { what: `${what}: import`, ours: imported, bytes }
    }
    remove('kept', form)()
  }
}
