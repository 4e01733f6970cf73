/**
 * Runs the command line with given arguments, for its exit code and output. It runs inside the test's process, with its two streams collected,
 * unless the test is about the process: its signals, limits, user, pipes, or its terminal (created by util-linux' `script`, where available).
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { expect } from 'vitest'
import type { Ended } from './processes'
import { sessionDirectory } from './session-file'
import { atEndOfSpec } from './spec-scope'

export const PROJECT = fileURLToPath(new URL('../..', import.meta.url))
export const PROGRAM = join(PROJECT, 'packages/cli/main.js')
export const SAMPLE = join(PROJECT, 'demo/sample.jsonl')
export const RECORDINGS = join(PROJECT, '../shared/data/sessions')
export const GOLDEN_RUN = join(PROJECT, '__test__/fixtures/run/v1/golden')

/** The streams that `main` writes to, and the environment variables that it reads. */
interface Surroundings {
  stdout: Writable
  stderr: Writable
  env: Record<string, string>
}
const { main } = createRequire(import.meta.url)(join(PROJECT, 'packages/cli/program.js')) as {
  main(args: string[], surroundings: Surroundings): Promise<number>
}

export interface RunOptions {
  env?: Record<string, string>
  cwd?: string
  uid?: number
  execArgv?: string[]
  /** Called with the process as soon as it is started. */
  onStart?: (child: ChildProcess) => void
  onOutput?: (child: ChildProcess, stdout: string) => void
}

/** The environment of a plain shell, without the test runner's colour settings. */
function environment(extra: Record<string, string> = {}): Record<string, string> {
  const { PATH = '', HOME = '/' } = process.env
  return { PATH, HOME, TMPDIR: sessionDirectory(), TERM: 'xterm-256color', ...extra }
}

export function run(command: string, args: string[], options: RunOptions = {}): Promise<Ended> {
  const { env, cwd = '/', uid, onStart, onOutput } = options
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd, uid, gid: uid, env: environment(env), stdio: ['ignore', 'pipe', 'pipe'] })
    // Kills a child that would never end. Its result then has a signal that no test expects.
    const timer = setTimeout(() => child.kill('SIGKILL'), 100_000)
    let stdout = ''
    let stderr = ''
    onStart?.(child)
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text
      onOutput?.(child, stdout)
    })
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text
    })
    child.on('error', reject)
    child.on('close', (code, signal) => {
      clearTimeout(timer)
      resolve({ code, signal, stdout, stderr })
    })
  })
}

/** Runs `session-tape` to its end: in this process, unless an option other than `env` asks for one of its own. */
export function sessionTape(args: string[], options: RunOptions = {}): Promise<Ended> {
  const { env, ...ofAProcess } = options
  return Object.keys(ofAProcess).length === 0 ? ranHere(args, env) : sessionTapeProcess(args, options)
}

/** Runs `session-tape` as a process, to its end. */
export function sessionTapeProcess(args: string[], options: RunOptions = {}): Promise<Ended> {
  return run(process.execPath, [...(options.execArgv ?? []), PROGRAM, ...args], options)
}

const temporaryDirectory = process.env['TMPDIR']
atEndOfSpec(() => {
  if (temporaryDirectory === undefined) delete process.env['TMPDIR']
  else process.env['TMPDIR'] = temporaryDirectory
})

async function ranHere(args: string[], extra?: Record<string, string>): Promise<Ended> {
  const env = environment(extra)
  // Node.js takes the temporary directory from the real environment.
  process.env['TMPDIR'] = env['TMPDIR']
  const [stdout, stderr] = [collector(), collector()]
  const code = await main(args, { stdout: stdout.stream, stderr: stderr.stream, env })
  return { code, signal: null, stdout: await stdout.text(), stderr: await stderr.text() }
}

/** A stream that collects what is written. Like a pipe, it is full at times and is not a terminal. */
function collector(): { stream: Writable; text(): Promise<string> } {
  const chunks: Buffer[] = []
  const write = (chunk: Buffer, _: string, done: () => void): void => {
    chunks.push(chunk)
    setImmediate(done)
  }
  const stream = new Writable({ write })
  const text = (): Promise<string> =>
    new Promise((resolve) => stream.end(() => resolve(Buffer.concat(chunks).toString('utf8'))))
  return { stream, text }
}

/** The standard output of a command that must end with this exit code and print nothing to standard error. */
export async function shown(args: string[], options?: RunOptions, code = 0): Promise<string> {
  const ended = await sessionTape(args, options)
  expect(ended, ended.stderr).toMatchObject({ code, signal: null, stderr: '' })
  return ended.stdout
}

/** The result that a command prints as one line of JSON. */
export async function resultOf(args: string[], code = 0, options?: RunOptions): Promise<any> {
  const stdout = await shown([...args, '--json'], options, code)
  expect(stdout.indexOf('\n')).toBe(stdout.length - 1)
  return JSON.parse(stdout)
}

/** The error that a command prints as JSON. Nothing else may be printed. */
export async function errorOf(args: string[], code = 2, options?: RunOptions): Promise<any> {
  const ended = await sessionTape([...args, '--json'], options)
  expect(ended, ended.stderr).toMatchObject({ code, signal: null, stdout: '' })
  expect(ended.stderr.indexOf('\n')).toBe(ended.stderr.length - 1)
  return JSON.parse(ended.stderr).error
}

/** The human-readable message with which a command fails: without a result, and without a stack trace. */
export async function complaintOf(args: string[], code = 2, options?: RunOptions): Promise<string> {
  const ended = await sessionTape(args, options)
  expect(ended, ended.stderr).toMatchObject({ code, signal: null, stdout: '' })
  expect(ended.stderr).toMatch(/^session-tape: .*\n$/s)
  expect(ended.stderr).not.toMatch(/\n\s+at /)
  return ended.stderr.slice('session-tape: '.length, -1)
}

/** The text next to a label, and the lines below that have no label of their own. */
export function beside(label: string, text: string): string[] {
  const lines = text.split('\n')
  const from = lines.findIndex((line) => line.startsWith(`  ${label} `))
  if (from === -1) throw new Error(`no row ${label} in:\n${text}`)
  const indent = ' '.repeat(16)
  const more = lines.slice(from + 1).findIndex((line) => !line.startsWith(indent))
  return lines.slice(from, from + 1 + more).map((line) => line.slice(indent.length).trimEnd())
}

/** Whether a terminal can be created. */
export const hasTerminal =
  process.platform === 'linux' && spawnSync('script', ['-qec', 'true', '/dev/null']).status === 0

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`

/** Runs `session-tape` on a terminal: both streams arrive as `stdout`. `redirect` is appended to the shell command. */
export function onTerminal(
  args: string[],
  { redirect = '', ...options }: RunOptions & { redirect?: string } = {},
): Promise<Ended> {
  const command = [process.execPath, PROGRAM, ...args].map(quoted).join(' ')
  return run('script', ['-qec', `${command} ${redirect}`, '/dev/null'], options)
}

/** Characters that must not come from a file to a terminal. */
export const UNSAFE =
  /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]/
export const HOSTILE = '\u001b[2J\u001b]0;owned\u0007\u009b31m\u202e\u2066\u200b\r\n\u0000'
