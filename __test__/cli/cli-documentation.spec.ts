/**
 * The documentation of the command line against the program: the commands in its `console` blocks print what the blocks show. A line `…` stands for
 * any lines, a `…` in a line for any text, and durations are not compared.
 */
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { PlainRun } from '../support/plain-run-engine.mjs'
import { PROGRAM, PROJECT, run, SAMPLE, shown } from '../support/command-line'
import { sessionDirectory } from '../support/session-file'

interface Example {
  command: string
  output: string
}

/** The commands in the `console` blocks of a file, each with its documented output. */
function examplesIn(file: string): Example[] {
  const blocks = [...readFileSync(join(PROJECT, file), 'utf8').matchAll(/^```console\n([^]*?)^```$/gm)].map(
    ([, text]) => text!,
  )
  return blocks.flatMap((block) =>
    block
      .split(/^\$ /m)
      .slice(1)
      .map((part) => {
        const end = part.indexOf('\n')
        return { command: part.slice(0, end), output: part.slice(end + 1) }
      }),
  )
}

/** A run of the weekly workflow in which the tool returns `said`. */
function weeklyRun(runId: string, said: string): PlainRun {
  const nodes = [
    { id: 'fetch', kind: 'task', tool: 'http' },
    { id: 'write', kind: 'task', dependsOn: ['fetch'] },
  ]
  const run = new PlainRun({
    runId,
    workflow: { name: 'weekly report', version: '1.0.0', nodes },
    scheduler: 'round-robin',
  })
  const task = (name: string): { task: string; worker: string } => ({ task: `${name}#1`, worker: 'w1' })
  run.append('RunStarted', { workers: [{ id: 'w1', capabilities: [] }] })
  run.append('NodeScheduled', { task: 'fetch#1', dependsOn: [] })
  run.append('TaskAssigned', task('fetch'))
  run.append('TaskAccepted', task('fetch'))
  run.append('NodeStarted', { ...task('fetch'), inputHash: 'in' })
  run.append('ToolInvoked', { tool: 'http', call: 'c1', requestHash: 'q' }, { node: 'fetch' })
  const output = run.putBlob(said)
  run.append(
    'ToolCompleted',
    { tool: 'http', call: 'c1', rawHash: output, outputHash: output, normalizer: 'none' },
    { node: 'fetch' },
  )
  run.append('NodeCompleted', { ...task('fetch'), outputHash: output })
  run.snapshot()
  run.append('NodeScheduled', { task: 'write#1', dependsOn: [8] })
  return run
}

/** A directory with the recordings that the examples of a page use. */
function exampleDirectory(): string {
  const directory = mkdtempSync(join(sessionDirectory(), 'examples-'))
  copyFileSync(SAMPLE, join(directory, 'session.jsonl'))
  mkdirSync(join(directory, 'chats'))
  copyFileSync(SAMPLE, join(directory, 'chats/session-2026-02-11T08-41-3c8e51d7.jsonl'))
  weeklyRun('monday', 'sunny').write(join(directory, 'monday'))
  weeklyRun('tuesday', 'rainy').write(join(directory, 'tuesday'))
  return directory
}

const timeless = (text: string): string => text.replaceAll(/\b[\d.]+ m?s\b/g, 'N ms').replaceAll(/[ \t]+$/gm, '')

/** An output as a pattern, in which `…` stands for any text. */
function patternOf(output: string): RegExp {
  const escaped = timeless(output).replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')
  const text = escaped.replaceAll(/^\s*…\n/gm, '(?:.*\n)*?').replaceAll('…', '.*')
  return new RegExp(`^\n?${text}\n?$`)
}

describe.each([{ file: 'docs/cli.md', atLeast: 12 }])('$file', ({ file, atLeast }) => {
  const examples = examplesIn(file)
  let directory: string
  beforeAll(() => {
    directory = exampleDirectory()
  })

  test('has examples', () => {
    expect(examples.length).toBeGreaterThanOrEqual(atLeast)
  })

  // In order: some read files that others have written.
  test.each(examples)('$command', async ({ command, output }) => {
    const call = command.replaceAll(/(?<![\w@/-])session-tape(?= \w)/g, `"${process.execPath}" "${PROGRAM}"`)
    const { stdout } = await run('sh', ['-c', `${call} 2>&1`], { cwd: directory })
    expect(timeless(stdout)).toMatch(patternOf(output))
  })
})

test('docs/cli.md names every command', async () => {
  const table = readFileSync(join(PROJECT, 'docs/cli.md'), 'utf8').split('## What scripts can rely on')[0]!
  const commands = [...(await shown(['--help'])).split('Commands:')[1]!.matchAll(/^ {2}([a-z]+) /gm)]
    .map(([, name]) => name!)
    .filter((name) => name !== 'help')
  expect(commands.length).toBeGreaterThan(10)
  expect(commands.filter((name) => !table.includes(`\`${name} `))).toEqual([])
})
