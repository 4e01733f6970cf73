// `npm run bench` as a process: its selection of runtimes, parts and workloads, and the output of a small benchmark.
import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'

import { PROJECT, run } from '../support/command-line'
import type { Ended } from '../support/processes'

const RESULTS = join(PROJECT, 'bench/RESULTS.md')
const MAJOR = Number.parseInt(process.versions.node, 10)

const bench = (args: string[], env: Record<string, string> = {}): Promise<Ended> =>
  run(process.execPath, [join(PROJECT, 'bench/bench.mjs'), ...args], { env, cwd: PROJECT })

const written = async (): Promise<unknown> => [(await stat(RESULTS)).mtimeMs, await readFile(RESULTS, 'utf8')]

async function listed(args: string[], env?: Record<string, string>): Promise<string[]> {
  const ended = await bench(['--list', ...args], env)
  expect(ended, ended.stderr).toMatchObject({ code: 0, stderr: '' })
  return ended.stdout.trimEnd().split('\n')
}

test('measures all parts, on the runtime that runs it', async () => {
  const [parts, runtimes] = await listed([])
  expect(parts).toMatch(/^parts: replay, records, header, .*view$/)
  expect(runtimes).toBe(`runtimes: Node ${MAJOR} (${process.execPath})`)
})

test('a runtime that several variables name is measured once', async () => {
  const [, runtimes] = await listed([], { NODE_22: process.execPath, NODE_24: process.execPath })
  expect(runtimes).toBe(`runtimes: Node ${MAJOR} (${process.execPath})`)
})

test('a variable that does not name a runtime is an error', async () => {
  expect(await bench(['--list'], { BUN: join(PROJECT, 'package.json') })).toMatchObject({
    code: 2,
    stdout: '',
    stderr: `bench: no JavaScript runtime: ${join(PROJECT, 'package.json')}\n`,
  })
})

test('parts are chosen by a list', async () => {
  expect((await listed(['--only', 'loading,replay']))[0]).toBe('parts: replay, loading')
})

test.each([
  [['--only', 'replays'], '--only takes of replay, records, '],
  [['--runtime', 'deno'], `--runtime takes of Node ${MAJOR}, not 'deno'`],
  [['--rounds', '0'], '--rounds takes a number from 1 on'],
  [['--quick', '--save'], '--save takes whole parts'],
])('refuses %j', async (args, message) => {
  const ended = await bench(args)
  expect(ended).toMatchObject({ code: 2, stdout: '' })
  expect(ended.stderr).toContain(`bench: ${message}`)
})

test('prints one table with the targets, and leaves RESULTS.md unchanged', async () => {
  const before = await written()
  const ended = await bench(['--quick', '--only', 'replay,loading', '--workload', 'tiny'])
  expect(ended, ended.stderr).toMatchObject({ code: 0 })
  expect(ended.stdout).toContain(
    '| part | what | on | session-tape | compared with | ratio | target | met | measured |',
  )
  for (const alphabet of ['ascii', 'wide'])
    expect(ended.stdout).toMatch(
      new RegExp(
        String.raw`^\| replay \| 20 records, ${alphabet} \| Node ${MAJOR} \| \d.* [µm]s \| plain engine: \d.* [µm]s \| .*× \(.*\) \| ≥ 2\.5× \| (yes|\*\*no\*\*) \| `,
        'm',
      ),
    )
  expect(ended.stdout).toMatch(/^\| loading \| `require\('session-tape'\)` \| .* \| ≤ 4 ms \| /m)
  expect(await written()).toEqual(before)
})
