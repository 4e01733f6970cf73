/**
 * Bundles: how much smaller an archive is than its files, the throughput of exporting a source and verifying a bundle, and the memory needed.
 *
 * Imported, it measures; started as a script, it is the process whose memory is measured.
 */
import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { exportBundle, importBundle, verifyBundle } from '../index.mjs'
import { inTurn, median, timed } from './measure.mjs'
import { peakOf } from './memory.mjs'
import { recordedRun } from './run-workloads.mjs'
import { DATA, PLAIN, replayFile } from './workloads.mjs'

const SELF = fileURLToPath(import.meta.url)
const RECORDINGS = fileURLToPath(new URL('../../shared/data/sessions/', import.meta.url))
const WORK = join(DATA, 'bundles')
const LEVELS = [1, 3, 9]
const FORMS = { archive: 'b.cath-bundle.tar.zst', directory: 'b.cath-bundle' }

export async function benchBundles({ rounds, scale, say }) {
  mkdirSync(WORK, { recursive: true })
  try {
    say('bundles: sizes')
    const sizes = await benchSizes()
    say('bundles: export and verify')
    const run = await recordedRun(1e6 * scale)
    const { filePath } = await replayFile(PLAIN, scale)
    const speeds = [
      { title: 'a run', ...(await benchSpeed(run.directory, rounds)) },
      { title: 'a session', ...(await benchSpeed(filePath, rounds)) },
    ]
    say('bundles: memory')
    return { sizes, speeds, memory: await benchMemory(run.directory) }
  } finally {
    rmSync(WORK, { recursive: true, force: true })
  }
}

/** Measures real recordings, each separately, if they are available. */
async function benchSizes() {
  if (!existsSync(RECORDINGS)) return []
  const names = readdirSync(RECORDINGS)
    .filter((name) => name.endsWith('.jsonl'))
    .sort()
  const sizes = []
  for (const name of names) sizes.push(await sizesOf(name, join(RECORDINGS, name)))
  return sizes
}

async function sizesOf(name, source) {
  const archives = {}
  for (const level of LEVELS) {
    const path = join(WORK, `${level}.tar.zst`)
    await exportBundle(source, path, { level })
    archives[level] = statSync(path).size
    rmSync(path)
  }
  return { name: name.replace('.jsonl', ''), bytes: statSync(source).size, archives }
}

async function benchSpeed(source, rounds) {
  const path = (form, side) => join(WORK, `${side}-${FORMS[form]}`)
  let info
  for (const form of Object.keys(FORMS)) info = await exportBundle(source, path(form, 'kept'))
  const exporting = (form) => async () => {
    const measured = await timed(() => exportBundle(source, path(form, 'new')))
    rmSync(path(form, 'new'), { recursive: true })
    if (measured.value.bundleId !== info.bundleId) throw new Error(`${source} has another bundle each time`)
    return measured
  }
  const verifying = (form) => async () => {
    const measured = await timed(() => verifyBundle(path(form, 'kept')))
    if (!measured.value.ok) throw new Error(`${source}: its bundle does not verify`)
    return measured
  }
  const importing = async () => {
    const measured = await timed(() => importBundle(path('archive', 'kept'), path('directory', 'new')))
    rmSync(path('directory', 'new'), { recursive: true })
    return measured
  }
  const sides = {
    'export, archive': exporting('archive'),
    'export, directory': exporting('directory'),
    'verify, archive': verifying('archive'),
    'verify, directory': verifying('directory'),
    'import, archive': importing,
  }
  const measured = await inTurn(sides, rounds)
  const archive = statSync(path('archive', 'kept')).size
  for (const form of Object.keys(FORMS)) rmSync(path(form, 'kept'), { recursive: true })
  const perSecond = (ms) => (info.bytes / median(ms)) * 1000
  const figures = Object.entries(measured).map(([name, list]) => ({
    name,
    ms: median(list.map(({ ms }) => ms)),
    perSecond: perSecond(list.map(({ ms }) => ms)),
    perCpuSecond: perSecond(list.map(({ cpuMs }) => cpuMs)),
  }))
  return { bytes: info.bytes, files: info.files, archive, figures }
}

async function benchMemory(source) {
  const archive = join(WORK, FORMS.archive)
  const [bundle, imported] = [join(WORK, 'memory.tar.zst'), join(WORK, 'imported')]
  await exportBundle(source, bundle)
  const peak = {}
  for (const [job, ...args] of [
    ['export', source, archive],
    ['verify', bundle],
    ['import', bundle, imported],
  ]) {
    const { stdout } = await promisify(execFile)(process.execPath, ['--expose-gc', SELF, job, ...args])
    peak[job] = JSON.parse(stdout).peak
  }
  return peak
}

if (process.argv[1] === SELF) {
  const [job, ...args] = process.argv.slice(2)
  const jobs = { export: exportBundle, verify: verifyBundle, import: importBundle }
  process.stdout.write(JSON.stringify(await peakOf(() => jobs[job](...args))))
}
