/**
 * `npm run bench`: measures the addon and its JavaScript competitors in turn in one process, on each runtime that is found. The figures are saved to
 * `results.json` and `RESULTS.md`; those selected with `--only`, `--runtime`, `--workload` or `--quick` are only printed. `README.md` describes the
 * options.
 */
import { spawn } from 'node:child_process'
import { rmSync, writeFileSync } from 'node:fs'
import { loadavg } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { readOptions } from './options.mjs'
import { PARTS } from './parts.mjs'
import { report } from './report/report.mjs'
import { addFigures, noResults, saveResults, savedResults } from './results.mjs'
import { findRuntimes, ownRuntime } from './runtimes.mjs'
import { DATA } from './workloads.mjs'

const CHILD = fileURLToPath(new URL('child.mjs', import.meta.url))
const REPORT = fileURLToPath(new URL('RESULTS.md', import.meta.url))

const say = (text) => process.stderr.write(`${text}\n`)

async function measureAll({ parts, runtimes, save, ...how }) {
  const results = save ? savedResults() : noResults()
  for (const part of parts) {
    const suited = PARTS[part].everyRuntime ? runtimes : runtimes.filter(({ name }) => name === ownRuntime())
    for (const runtime of suited) addFigures(results, part, runtime, await measured(part, runtime, how))
    if (save) saveResults(results)
  }
  rmSync(join(DATA, 'record'), { recursive: true, force: true })
  return results
}

async function measured(part, runtime, how) {
  say(`== ${part}, ${runtime.title}`)
  const load = loadavg()[0]
  const figures = await figuresOf(runtime.path, ['--expose-gc', CHILD, part, JSON.stringify(how)])
  return { date: new Date().toISOString().slice(0, 10), load, rounds: how.rounds, scale: how.scale, figures }
}

/** Runs a process. Resolves with the JSON that it prints. */
function figuresOf(command, args) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] })
    const chunks = []
    child.stdout.on('data', (chunk) => chunks.push(chunk))
    child.on('error', reject)
    child.on('close', (code, signal) => {
      if (code === 0) resolve(JSON.parse(Buffer.concat(chunks).toString('utf8')))
      else reject(new Error(`${command} ended with ${signal ?? code}`))
    })
  })
}

function listed({ parts, runtimes, workloads }) {
  const programs = runtimes.map(({ name, version, path }) => `  ${name.padEnd(8)}${version}, ${path}\n`).join('')
  return `parts: ${parts.join(', ')}\nworkloads: ${workloads.join(', ')}\nruntimes:\n${programs}`
}

function optionsOrExit() {
  try {
    return readOptions(process.argv.slice(2), findRuntimes())
  } catch (error) {
    say(`bench: ${error.message}`)
    process.exit(2)
  }
}

const options = optionsOrExit()
if (options.list) {
  process.stdout.write(listed(options))
} else {
  const results = await measureAll(options)
  if (options.save) {
    writeFileSync(REPORT, report(results))
    say(`written: ${REPORT}`)
  } else {
    process.stdout.write(report(results))
  }
}
