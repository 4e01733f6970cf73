// Runs the specs with vitest under Bun, including workers and child processes, and compares the failures with scripts/bun-differences.mjs.
//
//   npm run test:bun -- [SPEC...]
//
// Uses the Bun at the path in BUN or, on Linux x64, the one of scripts/platforms/nodes.

import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join, relative } from 'node:path'

import { DIFFERENCES } from './bun-differences.mjs'
import { ROOT } from './platforms/commands.mjs'
import { BUN, installRuntimes } from './platforms/runtimes.mjs'
import { platformName } from './platform.mjs'

const results = join(ROOT, 'target', 'bun.json')
mkdirSync(join(ROOT, 'target'), { recursive: true })
rmSync(results, { force: true })
const [bun, ...options] = [process.env.BUN ?? installed(), '--bun']
const vitest = [join(ROOT, 'node_modules', 'vitest', 'vitest.mjs'), 'run', '--typecheck.enabled=false']
const reporters = ['--reporter=dot', '--reporter=json', `--outputFile.json=${results}`]
const { status, error } = spawnSync(bun, [...options, ...vitest, ...reporters, ...process.argv.slice(2)], {
  cwd: ROOT,
  stdio: 'inherit',
})
if (error) throw error

const report = JSON.parse(readFileSync(results, 'utf8'))
const tests = report.testResults.flatMap(testsOf)
const failures = tests.filter((test) => test.status === 'failed')
const unknown = failures.filter((test) => differenceOf(test) === undefined)
const passed = tests.filter((test) => test.status === 'passed').length
console.log(
  `\nUnder Bun ${passed} tests passed, ${failures.length - unknown.length} ended as scripts/bun-differences.mjs says, ${unknown.length} did not:`,
)
unknown.forEach(({ spec, name }) => console.log(`  ${spec}: ${name}`))
if (unknown.length > 0 || passed === 0 || (status !== 0 && failures.length === 0)) process.exitCode = 1

function installed() {
  if (platformName() !== 'linux-x64-gnu') throw new Error('set BUN to the path of a Bun')
  installRuntimes()
  return BUN
}

/** The results of a spec. One that could not be run at all counts as a test without a name. */
function testsOf({ name: path, status: ended, assertionResults }) {
  const spec = relative(join(ROOT, '__test__'), path).replaceAll('\\', '/')
  const found = assertionResults.map(({ fullName: name, status }) => ({ spec, name, status }))
  return ended === 'failed' && found.every((test) => test.status !== 'failed')
    ? [...found, { spec, name: '', status: 'failed' }]
    : found
}

function differenceOf({ spec, name }) {
  return DIFFERENCES.find(([file, begins]) => file === spec && name !== '' && name.startsWith(begins))
}
