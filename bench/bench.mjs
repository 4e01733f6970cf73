/**
 * `npm run bench`: measures each part in a process of its own, on each runtime that is found, and writes one table to RESULTS.md. What is chosen with
 * `--only`, `--runtime`, `--workload` or `--quick` is only printed, unless `--save` puts it into the table. README.md describes the options.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { availableParallelism, cpus, loadavg, release, totalmem, type } from 'node:os'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

const SELF = fileURLToPath(import.meta.url)
const RESULTS = fileURLToPath(new URL('RESULTS.md', import.meta.url))
/** The rows of all parts and runtimes, of which RESULTS.md is a view. */
const ROWS = fileURLToPath(new URL('results.json', import.meta.url))

/** The parts, each with its module; `everyRuntime`: measured on each, others only on the runtime that was started. */
const PARTS = {
  replay: { module: 'replay', everyRuntime: true },
  records: { module: 'replay', everyRuntime: true },
  header: { module: 'replay', everyRuntime: true },
  loading: { module: 'replay', everyRuntime: true },
  record: { module: 'record', everyRuntime: true },
  acknowledged: { module: 'record' },
  sessions: { module: 'sessions' },
  search: { module: 'sessions' },
  archives: { module: 'sessions' },
  repair: { module: 'sessions' },
  agents: { module: 'agents', everyRuntime: true },
  runs: { module: 'runs', everyRuntime: true },
  diff: { module: 'runs' },
  bundles: { module: 'runs' },
  memory: { module: 'memory' },
  view: { module: 'view' },
}
const CHROMIUM = process.env.CHROMIUM_PATH ?? '/usr/bin/chromium'
/** The environment variables that name further runtimes by their paths. */
const RUNTIMES = ['NODE_22', 'NODE_24', 'BUN']
const COLUMNS = ['part', 'what', 'on', 'session-tape', 'compared with', 'ratio', 'target', 'met', 'measured']

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    large: { type: 'boolean', default: false },
    list: { type: 'boolean', default: false },
    save: { type: 'boolean', default: false },
    rounds: { type: 'string' },
    only: { type: 'string' },
    runtime: { type: 'string' },
    workload: { type: 'string', default: '' },
    child: { type: 'string' },
  },
})
const { quick, large, child } = values
const how = {
  scale: quick ? 0.1 : 1,
  large,
  rounds: Number(values.rounds ?? (quick ? 1 : 4)),
  workloads: values.workload.split(','),
}
const say = (text) => process.stderr.write(`${text}\n`)

if (child === undefined) main()
else await measurePart(child)

function main() {
  if (!(how.rounds >= 1)) fail(`--rounds takes a number from 1 on, not '${values.rounds}'`)
  const runtimes = runtimesFound()
  const possible = Object.keys(PARTS).filter((part) => part !== 'view' || values.only || existsSync(CHROMIUM))
  const parts = chosen('--only', values.only, possible)
  const names = chosen('--runtime', values.runtime, Object.keys(runtimes))
  if (values.list)
    return console.log(
      `parts: ${parts.join(', ')}\nruntimes: ${names.map((name) => `${name} (${runtimes[name]})`).join(', ')}`,
    )
  const isWhole = !quick && !values.workload && values.rounds === undefined
  if (values.save && !isWhole) fail('--save takes whole parts: neither --quick, --rounds nor --workload')
  const isSaved = values.save || (isWhole && !values.only && !values.runtime)
  const [own] = Object.keys(runtimes)
  for (const part of parts)
    for (const name of PARTS[part].everyRuntime ? names : names.filter((one) => one === own)) {
      say(`== ${part}, ${name}, load ${loadavg()[0].toFixed(1)}`)
      const found = measured(part, name, runtimes[name])
      if (!isSaved) process.stdout.write(table([COLUMNS, COLUMNS.map(() => '---'), ...found]))
      else save(found)
    }
  if (isSaved) say(`written: ${RESULTS}`)
}

/** The rows of a part, measured in a new process. */
function measured(part, runtime, path) {
  const args = ['--expose-gc', SELF, ...process.argv.slice(2), '--child', part]
  const { status, stdout } = spawnSync(path, args, {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
    maxBuffer: 1 << 26,
  })
  if (status !== 0) fail(`${part} failed on ${runtime}`)
  const when = `${new Date().toISOString().slice(0, 10)}, ${said('git', 'rev-parse', '--short', 'HEAD')}`
  return JSON.parse(stdout).map(([what, ...cells]) => [part, what, runtime, ...cells, when])
}

async function measurePart(part) {
  const [{ rowOf }, module] = await Promise.all([import('./measure.mjs'), import(`./parts/${PARTS[part].module}.mjs`)])
  const rows = []
  for await (const one of module[part](how)) {
    say(`   ${one.what}`)
    rows.push(await rowOf(one, quick ? how.rounds : (one.rounds ?? how.rounds)))
  }
  process.stdout.write(JSON.stringify(rows))
}

/** The runtimes by their names: that which runs this, and those that variables name. */
function runtimesFound() {
  const found = {}
  for (const path of [process.execPath, ...RUNTIMES.map((variable) => process.env[variable]).filter(Boolean)]) {
    try {
      const { bun, node } = JSON.parse(said(path, '-p', 'JSON.stringify(process.versions)'))
      found[bun ? `Bun ${bun}` : `Node ${Number.parseInt(node, 10)}`] ??= path
    } catch {
      fail(`no JavaScript runtime: ${path}`)
    }
  }
  return found
}

function chosen(option, list, names) {
  if (list === undefined) return names
  const wanted = list.split(',')
  const unknown = wanted.find((one) => !names.includes(one))
  if (unknown !== undefined) fail(`${option} takes of ${names.join(', ')}, not '${unknown}'`)
  return names.filter((name) => wanted.includes(name))
}

function table(rows) {
  return rows.map((cells) => `| ${cells.join(' | ')} |\n`).join('')
}

/** Puts the rows in place of older ones of their parts and runtimes. */
function save(rows) {
  const isNew = ([part, , on]) => rows.some((row) => row[0] === part && row[2] === on)
  const kept = JSON.parse(readFileSync(ROWS, 'utf8')).filter((row) => row[0] in PARTS && !isNew(row))
  const rank = ([part]) => Object.keys(PARTS).indexOf(part)
  const all = [...kept, ...rows].sort((one, other) => rank(one) - rank(other))
  writeFileSync(ROWS, `[\n${all.map((row) => JSON.stringify(row)).join(',\n')}\n]\n`)
  writeFileSync(RESULTS, report(all))
}

/** One row for each thing measured, with a column for each runtime. */
function report(rows) {
  const runtimes = [...new Set(rows.map(([, , on]) => on))]
  const lines = new Map()
  for (const [part, what, on, ours, compared, ratio, target, met] of rows) {
    const head = [part, what, compared.replace(/:.*/, ''), target]
    const line = lines.get(head.join()) ?? { head, cells: {} }
    const [shown, of] = ratio === '' ? [ours, ''] : [ratio.replace(/ .*/, ''), `, ${ours}`]
    line.cells[on] = (met === '**no**' ? `**${shown}**` : shown) + of
    lines.set(head.join(), line)
  }
  const body = [...lines.values()].map(({ head, cells }) => [...head, ...runtimes.map((on) => cells[on] ?? '')])
  const columns = ['part', 'what', 'compared with', 'target', ...runtimes]
  const measured = [...new Set(rows.map((row) => row.at(-1)))].join('; ')
  return `# Benchmark results

Written by \`npm run bench\`, which [README.md](README.md) describes. Ratios to what is compared, and times of session-tape; what misses its target is bold. ${machine()} Measured: ${measured}.

${table([columns, columns.map(() => '---'), ...body])}`
}

function machine() {
  const memory = `${Math.round(totalmem() / 2 ** 30)} GiB`
  const system = [cpus()[0].model.trim(), `${availableParallelism()} cores`, memory, `${type()} ${release()}`]
  return `Last on ${system.join(', ')}, ${said('rustc', '--version')}.`
}

function said(command, ...args) {
  return execFileSync(command, args, { encoding: 'utf8' }).trim()
}

function fail(message) {
  say(`bench: ${message}`)
  process.exit(2)
}
