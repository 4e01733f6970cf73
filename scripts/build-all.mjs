// Builds the addon for every platform on one Linux machine, which needs Rust (rustup), Node.js and Python, and checks the results. Each addon goes to
// its folder in npm/. Addons that are up to date are not built again, so the script can be interrupted and restarted.
//
//   npm run build:all -- [--jobs N] [--profile NAME] [--twice] [PLATFORM...]
//
// A platform has the name of its folder in npm/; by default, all are built. `--profile dev` shows in a fraction of the time whether everything links;
// `dist` is the profile that is published. `--twice` builds each addon again in another directory, and fails if the bytes differ.

import { mkdirSync } from 'node:fs'
import { availableParallelism, freemem } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

import { build, isCurrent, isReproducible, keyOf, logOf } from './platforms/build.mjs'
import { ROOT } from './platforms/commands.mjs'
import { problemsOf } from './platforms/judge.mjs'
import { table } from './platforms/table.mjs'
import { TARGETS, addonPath } from './platforms/targets.mjs'
import { describeToolchain, inspect, machinePaths, prepareToolchain } from './platforms/toolchain.mjs'

/** Memory that rustc needs to compile this crate as one codegen unit, and then the linker. */
const BYTES_A_BUILD = 3 * 2 ** 30

const OPTIONS = {
  jobs: { type: 'string' },
  profile: { type: 'string', default: 'dist' },
  twice: { type: 'boolean', default: false },
}
const { values, positionals } = parseArgs({ allowPositionals: true, options: OPTIONS })
const { profile, twice } = values
const targets = chosen(positionals)
const jobs = Number(values.jobs ?? availableParallelism())
if (!Number.isInteger(jobs) || jobs < 1) fail(`--jobs takes a number of processors, not ${values.jobs}`)

mkdirSync(join(ROOT, 'target', 'platforms'), { recursive: true })
say('preparing the tools')
await prepareToolchain(targets, join(ROOT, 'target', 'platforms', 'tools.log'))
const toolchain = await describeToolchain()
const failures = await buildAll()
const addons = await judged(failures)
console.log(table(addons))
for (const { file, problems } of addons) problems.forEach((problem) => console.error(`${file}: ${problem}`))
failures.forEach((message) => console.error(message))
process.exitCode = failures.length > 0 || addons.some(({ problems }) => problems.length > 0) ? 1 : 0

/** Runs as many builds at a time as memory and processors allow. The last and longest step of a build uses one processor. */
async function buildAll() {
  const queue = [...targets]
  const atATime = Math.max(1, Math.min(jobs, queue.length, Math.floor(freemem() / BYTES_A_BUILD)))
  const problems = []
  const work = async () => {
    for (let target = queue.shift(); target !== undefined; target = queue.shift()) {
      await buildOne(target, Math.max(1, Math.floor(jobs / atATime))).catch((error) =>
        problems.push(`${target.name}: ${error.message}`),
      )
    }
  }
  await Promise.all(Array.from({ length: atATime }, work))
  return problems
}

async function buildOne(target, processors) {
  const key = await keyOf(target, toolchain, profile)
  const how = { profile, jobs: processors }
  if (isCurrent(target, key)) say(`${target.name}: up to date`)
  else await timed(target, `building, ${logOf(target)}`, () => build(target, key, toolchain, how))
  if (twice && !(await timed(target, 'building once more', () => isReproducible(target, toolchain, how)))) {
    throw new Error('two builds of the same sources differ')
  }
}

async function timed(target, what, work) {
  say(`${target.name}: ${what}`)
  const start = Date.now()
  const result = await work()
  say(`${target.name}: built in ${Math.round((Date.now() - start) / 1000)} s`)
  return result
}

/** Checks only the addons that were built from the current sources, which may have changed while others were built. */
async function judged(failures) {
  const texts = await machinePaths()
  const results = []
  for (const target of targets) {
    if (!isCurrent(target, await keyOf(target, toolchain, profile))) {
      failures.push(`${target.name}: not as its sources are now`)
      continue
    }
    const file = addonPath(target)
    const facts = await inspect(join(ROOT, file), texts)
    results.push({ file, facts, problems: problemsOf(facts, target.expected) })
  }
  return results
}

function chosen(names) {
  const unknown = names.filter((name) => !TARGETS.some((target) => target.name === name))
  if (unknown.length > 0)
    fail(`there is no npm/${unknown[0]}; it is one of ${TARGETS.map(({ name }) => name).join(', ')}`)
  return names.length === 0 ? TARGETS : TARGETS.filter(({ name }) => names.includes(name))
}

function say(text) {
  console.error(`build-all: ${text}`)
}

function fail(message) {
  say(message)
  process.exit(2)
}
