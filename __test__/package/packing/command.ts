// Runs other programs as a user would, without the environment variables of this test run.
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

/** Runs a program that must succeed. Resolves with its standard output; rejects with everything that it printed. */
export async function succeed(command: string, args: string[], cwd: string): Promise<string> {
  try {
    const { stdout } = await promisify(execFile)(command, args, { cwd, env: plainEnvironment(), maxBuffer: 2 ** 26 })
    return stdout
  } catch (error) {
    const { message, stdout = '', stderr = '' } = error as Error & { stdout?: string; stderr?: string }
    throw new Error([message, stdout, stderr].join('\n'), { cause: error })
  }
}

/** Runs the npm that runs this test, or else the one on the path (on Windows that is a script, which cannot be started directly). */
export function npm(args: string[], cwd: string): Promise<string> {
  const script = process.env['npm_execpath']
  return script?.endsWith('npm-cli.js') ? succeed(process.execPath, [script, ...args], cwd) : succeed('npm', args, cwd)
}

/** The environment without the variables that npm and vitest set for child processes, which would change how a nested npm or vitest behaves. */
function plainEnvironment(): NodeJS.ProcessEnv {
  const inherited = /^(npm_|VITEST|NODE_|INIT_CWD$|TEST$|MODE$|DEV$|PROD$|SSR$|BASE_URL$|FORCE_COLOR$)/
  const kept = Object.entries(process.env).filter(([name]) => !inherited.test(name))
  return { ...Object.fromEntries(kept), NO_COLOR: '1' }
}
