/** Real processes for the specs: children that record, and what this machine lets a test do to them. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const here = (file: string): string => fileURLToPath(new URL(file, import.meta.url))

export interface Ended {
  code: number | null
  signal: NodeJS.Signals | null
  stdout: string
  stderr: string
}

export interface ChildOptions {
  /** The user id of the child; only root can choose it. */
  uid?: number
  /** Flags for node itself. */
  execArgv?: string[]
  /** A command in front of node, for limits, namespaces and tracing. */
  wrapper?: string[]
  /** Standard input, for data that is too long for an argument. */
  stdin?: string
  /** Called with each whole line of standard output. */
  onLine?: (line: string, kill: (signal: NodeJS.Signals) => void) => void
  /** Time in milliseconds after which a child is killed; reaching it shows as `signal: 'SIGKILL'`. */
  timeoutMs?: number
}

// Kills the children of tests that have given up on them.
const running = new Set<ChildProcess>()
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})

/** Runs `support/<script>` to its end. */
export function runChild(script: string, args: string[], options: ChildOptions = {}): Promise<Ended> {
  const { uid, execArgv = [], wrapper = [], stdin = '', onLine, timeoutMs = 100_000 } = options
  const [command, ...rest] = [...wrapper, process.execPath, ...execArgv, here(script), ...args]
  return new Promise((resolve, reject) => {
    const child = spawn(command!, rest, { uid, gid: uid, cwd: '/', stdio: 'pipe' })
    running.add(child)
    child.stdin.on('error', () => {}).end(stdin)
    const timer = setTimeout(() => child.kill('SIGKILL'), timeoutMs)
    let stdout = ''
    let stderr = ''
    let told = 0
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text
      for (let end: number; onLine && (end = stdout.indexOf('\n', told)) >= 0; told = end + 1) {
        onLine(stdout.slice(told, end), (signal) => child.kill(signal))
      }
    })
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text
    })
    child.on('error', (error) => {
      running.delete(child)
      clearTimeout(timer)
      reject(error)
    })
    child.on('close', (code, signal) => {
      running.delete(child)
      clearTimeout(timer)
      resolve({ code, signal, stdout, stderr })
    })
  })
}

/** Runs a child that must succeed, and returns the JSON in the last line of its output. */
export async function childReport<T>(script: string, args: string[], options?: ChildOptions): Promise<T> {
  const ended = await runChild(script, args, options)
  if (ended.code !== 0) throw new Error(`${script} ended with ${ended.signal ?? ended.code}: ${ended.stderr}`)
  return JSON.parse(ended.stdout.trimEnd().split('\n').at(-1)!) as T
}

const succeeds = (command: string, args: string[], options: { uid?: number } = {}): boolean =>
  spawnSync(command, args, { ...options, gid: options.uid, cwd: '/', stdio: 'ignore' }).status === 0

export const isRoot = process.getuid?.() === 0
export const isLinux = process.platform === 'linux'

const NOBODY = 65534

/**
 * How to run a child that permissions apply to: as this user, or, if this is root, as `nobody`, who must be able to
 * load the addon. `null` if that is not possible here.
 */
export const unprivileged: { uid?: number } | null = (() => {
  if (process.getuid === undefined) return null
  if (!isRoot) return {}
  const loads = succeeds(process.execPath, ['-e', `require(${JSON.stringify(here('../../index.js'))})`], {
    uid: NOBODY,
  })
  return loads ? { uid: NOBODY } : null
})()

/**
 * The command in front of a child that may mount file systems: it gives the child a namespace of its own, so that
 * its mounts end with it. `null` if the system does not allow it.
 */
export const mountNamespace: string[] | null = (() => {
  const works = (flags: string): boolean =>
    isLinux && succeeds('unshare', [flags, 'sh', '-c', 'mount -t tmpfs -o size=64k none /mnt'])
  return works('-rm') ? ['unshare', '-rm'] : works('-m') ? ['unshare', '-m'] : null
})()

/** Whether system calls can be traced. */
export const canTrace = isLinux && succeeds('strace', ['-f', '-o', '/dev/null', 'true'])

/** Whether root may make a file immutable in `directory`. */
export function canMakeImmutable(file: string): boolean {
  const works = isRoot && isLinux && succeeds('chattr', ['+i', file])
  return succeeds('chattr', ['-i', file]) && works
}

export const hasDevFull = existsSync('/dev/full')
