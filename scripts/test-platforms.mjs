// Runs the addons of `npm run build:all` as far as this machine can: `scripts/smoke.mjs` with each runtime of scripts/platforms/runtimes.mjs. The
// workflow runs all specs, on machines of each kind.
//
//   npm run test:platforms -- [PLATFORM...]

import { spawnSync } from 'node:child_process'
import {
  closeSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { basename, join } from 'node:path'

import { ROOT, run } from './platforms/commands.mjs'
import { installRuntimes, missingFor, runtimesOf } from './platforms/runtimes.mjs'
import { addonPath, chosenTargets } from './platforms/targets.mjs'

/** A limit for processes that hang. Under emulation, a smoke test takes seconds. */
const SMOKE_MS = 300_000
/** What a program has of the package besides the addon, and the test. */
const PACKAGE = ['package.json', 'index.js', 'index.mjs', 'dist', 'scripts/smoke.mjs']

installRuntimes()
run(process.execPath, ['scripts/build-library.mjs'])
for (const target of chosenTargets(process.argv.slice(2))) await testPlatform(target)

async function testPlatform(target) {
  const runtimes = runtimesOf(target.name)
  if (runtimes.length === 0) return report(target, '', 'not run: nothing here can run it')
  if (!existsSync(join(ROOT, addonPath(target))))
    return report(target, '', 'not run: `npm run build:all` has not built it')
  const tree = copyPackage(target)
  for (const runtime of runtimes) {
    const missing = missingFor(runtime)
    if (missing.length > 0) {
      report(target, runtime.name, `not run: ${missing.join(', ')}`)
      continue
    }
    await runtime.prepare?.()
    smoke(target, runtime, tree)
  }
}

/** The package with the addon of the platform next to package.json, where the library looks first. */
function copyPackage(target) {
  const tree = join(ROOT, 'target', 'platforms', target.name, 'tree')
  rmSync(tree, { recursive: true, force: true })
  for (const name of PACKAGE) cpSync(join(ROOT, name), join(tree, name), { recursive: true })
  copyFileSync(join(ROOT, addonPath(target)), join(tree, basename(addonPath(target))))
  return tree
}

/** Its output goes to a file: under Wine it gets lost in a pipe. */
function smoke(target, runtime, tree) {
  const { name, command, path = (file) => file, environment } = runtime
  const log = join(tree, `${name.replaceAll(/\W+/g, '-')}.log`)
  const file = openSync(log, 'w')
  const { status } = spawnSync(command[0], [...command.slice(1), path(join(tree, 'scripts', 'smoke.mjs'))], {
    cwd: tree,
    stdio: ['ignore', file, file],
    timeout: SMOKE_MS,
    env: { ...process.env, ...startingAgain(runtime, tree), ...environment },
  })
  closeSync(file)
  const printed = readFileSync(log, 'utf8').trim()
  const works = status === 0 && printed.includes('session-tape works with')
  report(target, name, works ? printed.split('\n').at(-1) : `FAILED, see ${log}\n${printed}`)
  if (!works) process.exitCode = 1
}

/** Under an emulator or a loader, the test starts its second process by a script: the runtime does not know how itself was started. */
function startingAgain({ name, command, path }, tree) {
  if (command.length < 3 || path !== undefined) return {}
  const script = join(tree, name.replaceAll(/\W+/g, '-'))
  const words = command.map((word) => `'${word.replaceAll("'", "'\\''")}'`)
  mkdirSync(tree, { recursive: true })
  writeFileSync(script, `#!/bin/sh\nexec ${words.join(' ')} "$@"\n`, { mode: 0o755 })
  return { SMOKE_RUNTIME: script }
}

function report({ name }, runtime, text) {
  console.log(`${name.padEnd(18)}${runtime.padEnd(25)}${text}`)
}
