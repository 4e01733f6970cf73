// `npm run bench` as a process: its selection of runtimes, parts and workloads, and the output of a small benchmark.
import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'

import { adopted } from '../../bench/results.mjs'
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

test('measures all parts but the large files, on the runtime that runs it', async () => {
  const [parts, workloads, head, ...runtimes] = await listed([])
  expect(parts).toMatch(/^parts: replay, record, require, .*bundles$/)
  expect(parts).not.toContain('large')
  expect(workloads).toContain('compacted-ascii, compacted-wide')
  expect(head).toBe('runtimes:')
  expect(runtimes).toEqual([expect.stringMatching(`^  node${MAJOR} .*${process.versions.node}.* ${process.execPath}$`)])
})

test('a runtime that several variables name is measured once', async () => {
  const lines = await listed([], { NODE_22: process.execPath, NODE_24: process.execPath })
  expect(lines.slice(3)).toHaveLength(1)
})

test('a variable that does not name a runtime is an error', async () => {
  expect(await bench(['--list'], { BUN: join(PROJECT, 'package.json') })).toMatchObject({
    code: 2,
    stdout: '',
    stderr: `bench: BUN is not the path of a JavaScript runtime: ${join(PROJECT, 'package.json')}\n`,
  })
})

test('parts and workloads are chosen by lists, a workload also without its alphabet', async () => {
  const [parts, workloads] = await listed([
    '--only',
    'require,replay',
    '--workload',
    'plain',
    '--workload',
    'tiny-wide',
  ])
  expect(parts).toBe('parts: replay, require')
  expect(workloads).toBe('workloads: plain-ascii, plain-wide, tiny-wide')
})

test('a part without any of the workloads is left out', async () => {
  const [parts] = await listed(['--only', 'record,replay,diff', '--workload', 'events'])
  expect(parts).toBe('parts: record, diff')
})

test.each([
  [['--only', 'replays'], '--only takes of replay, record, '],
  [['--runtime', 'deno'], `--runtime takes of node${MAJOR}, not 'deno'`],
  [['--workload', 'wide'], '--workload takes of compacted-ascii, '],
  [['--rounds', '0'], '--rounds takes a number from 1 on'],
  [['--quick', '--save'], '--save takes whole parts'],
])('refuses %j', async (args, message) => {
  const ended = await bench(args)
  expect(ended).toMatchObject({ code: 2, stdout: '' })
  expect(ended.stderr).toContain(`bench: ${message}`)
})

test('prints the figures next to the targets, and leaves RESULTS.md unchanged', async () => {
  const before = await written()
  const ended = await bench(['--quick', '--rounds', '1', '--only', 'replay,require', '--workload', 'tiny'])
  expect(ended, ended.stderr).toMatchObject({ code: 0 })
  const ratio = String.raw`\d+\.\d\d× \(\d+\.\d\d–\d+\.\d\d\)`
  expect(ended.stdout).toContain(`| workload | Node ${MAJOR} | target | met |`)
  for (const alphabet of ['ascii', 'wide']) {
    expect(ended.stdout).toMatch(
      new RegExp(
        `^\\| 20 records, ${alphabet} \\(26 KiB\\) \\| ${ratio} \\| ≥ 2\\.5× \\| (yes|\\*\\*no\\*\\*) \\|$`,
        'm',
      ),
    )
  }
  expect(ended.stdout).toMatch(/^\| `require\('session-tape'\)` \| .*, lowest .*, processor .* \| ≤ 4 ms \|/m)
  expect(await written()).toEqual(before)
})

test('figures of another machine are kept, and named until they are measured again', () => {
  const [one, other] = [
    { CPU: 'A', System: 'Linux 1' },
    { CPU: 'A', System: 'Linux 2' },
  ]
  const saved = { machine: one, runtimes: {}, parts: { replay: { node20: { load: 1 } }, record: { bun: { load: 2 } } } }
  const moved = adopted(structuredClone(saved), other)
  expect(moved).toMatchObject({
    machine: other,
    parts: {
      replay: { node20: { load: 1, machine: 'A, Linux 1' } },
      record: { bun: { load: 2, machine: 'A, Linux 1' } },
    },
  })
  const again = { ...moved, parts: { ...moved.parts, replay: { node20: { load: 3 } } } }
  expect(adopted(structuredClone(again), other)).toEqual(again)
  const back = adopted(structuredClone(again), one)
  expect(back.parts).toEqual({
    replay: { node20: { load: 3, machine: 'A, Linux 2' } },
    record: { bun: { load: 2, machine: undefined } },
  })
})
