// Runs the addons of `npm run build:all` as far as this machine can: `scripts/smoke.mjs` with each runtime of scripts/platforms/runtimes.mjs. With
// `--suite` it also runs the tests of the core and the specs that each runtime can run: all on this machine's Nodes, on Node for musl, and on Bun.
//
//   npm run test:platforms -- [--suite] [PLATFORM...]

import { execFileSync, spawnSync } from 'node:child_process'
import { closeSync, existsSync, mkdirSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

import { workDirectory } from './platforms/build.mjs'
import { ROOT } from './platforms/commands.mjs'
import { runCoreTests } from './platforms/core-tests.mjs'
import { installRuntimes, missingFor, runtimesOf } from './platforms/runtimes.mjs'
import { addonPath, chosenTargets } from './platforms/targets.mjs'
import { copyWorkTree } from './platforms/work-tree.mjs'

/** Limits for processes that hang. Under emulation, a smoke test takes seconds, and the suite some minutes. */
const SMOKE_MS = 300_000
const SUITE_MS = 3_600_000

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { suite: { type: 'boolean', default: false } },
})
const toolsLog = join(ROOT, 'target', 'platforms', 'tools.log')
mkdirSync(join(ROOT, 'target', 'platforms'), { recursive: true })
await installRuntimes(toolsLog)
for (const target of chosenTargets(positionals)) await testPlatform(target)

async function testPlatform(target) {
  const runtimes = runtimesOf(target.name)
  if (runtimes.length === 0) return report(target, '', 'not run: nothing here can run it')
  if (!existsSync(join(ROOT, addonPath(target))))
    return report(target, '', 'not run: `npm run build:all` has not built it')
  const tree = await copyWorkTree(target)
  // As in the workflow: what is built, except for the addon, is not in the repository.
  build(tree, 'build-library.mjs')
  if (values.suite) build(tree, 'build-page-libraries.mjs')
  for (const runtime of runtimes) {
    const missing = missingFor(runtime)
    if (missing.length > 0) {
      report(target, runtime.name, `not run: ${missing.join(', ')}`)
      continue
    }
    await runtime.prepare?.(toolsLog)
    smoke(target, runtime, tree)
    if (values.suite && runtime.emulator !== null) await core(target, runtime)
    if (values.suite && runtime.suite !== null) suite(target, runtime, tree)
  }
}

function build(tree, script) {
  execFileSync(process.execPath, [join(tree, 'scripts', script)], { cwd: tree, stdio: 'inherit' })
}

function smoke(target, runtime, tree) {
  const { status, printed, log } = start(
    target,
    runtime,
    tree,
    [runtime.path(join(tree, 'scripts', 'smoke.mjs'))],
    SMOKE_MS,
  )
  const works = status === 0 && printed.includes('session-tape works with')
  report(target, runtime.name, works ? printed.split('\n').at(-1) : `FAILED, see ${log}\n${printed}`)
  if (!works) process.exitCode = 1
}

/** Runs the suite as the workflow does, with the same limit on the size of the addon. */
function suite(target, runtime, tree) {
  const [runner, args] = runtime.differs
    ? throughTestBun(runtime, tree)
    : [{ ...runtime, ...runtime.vitest }, vitest(tree, runtime.suite)]
  const { status, printed, log } = start(target, runner, tree, args, SUITE_MS, { SESSION_TAPE_ADDON: 'published' })
  const counts = printed
    .replace(/\x1b\[[0-9;]*m/g, '')
    .split('\n')
    .filter((line) => /^ *(Test Files|Tests|Under Bun) /.test(line))
  report(
    target,
    runtime.name,
    `${status === 0 ? 'suite' : `suite FAILED, see ${log}`}: ${counts.map((line) => line.trim().replace(/ +/g, ' ')).join(', ')}`,
  )
  if (status !== 0) process.exitCode = 1
}

function vitest(tree, args) {
  return [join(tree, 'node_modules', 'vitest', 'vitest.mjs'), 'run', '--reporter=dot', ...args]
}

/** Compares failures with the known differences. */
function throughTestBun({ name, command }, tree) {
  return [
    { name, command: [process.execPath], environment: { BUN: command[0] } },
    [join(tree, 'scripts', 'test-bun.mjs')],
  ]
}

async function core(target, runtime) {
  const { passed, failed, log } = await runCoreTests(target, runtime.emulator)
  report(target, runtime.name, `core${failed > 0 ? ` FAILED, see ${log}` : ''}: ${passed} passed, ${failed} failed`)
  if (failed > 0) process.exitCode = 1
}

/** Writes the output to a file: under Wine it gets lost in a pipe. */
function start(target, { name, command, environment }, tree, args, timeout, more = {}) {
  const log = join(workDirectory(target), `${name.replaceAll(/\W+/g, '-')}.log`)
  const file = openSync(log, 'w')
  const { status } = spawnSync(command[0], [...command.slice(1), ...args], {
    cwd: tree,
    stdio: ['ignore', file, file],
    timeout,
    env: { ...process.env, ...environment, ...more },
  })
  closeSync(file)
  return { status, printed: readFileSync(log, 'utf8').trim(), log }
}

function report({ name }, runtime, text) {
  console.log(`${name.padEnd(18)}${runtime.padEnd(25)}${text}`)
}
