// Runs other programs as a user would, with nothing of this test run in their environment.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

/** Runs a program that has to succeed; gives its standard output. A failure shows all that it printed. */
export async function succeed(command: string, args: string[], cwd: string): Promise<string> {
  try {
    const { stdout } = await promisify(execFile)(command, args, { cwd, env: plainEnvironment(), maxBuffer: 2 ** 26 });
    return stdout;
  } catch (error) {
    const { message, stdout = '', stderr = '' } = error as Error & { stdout?: string; stderr?: string };
    throw new Error([message, stdout, stderr].join('\n'), { cause: error });
  }
}

/** Runs the npm that runs this test, or else the one on the path (on Windows that is no program one could start). */
export function npm(args: string[], cwd: string): Promise<string> {
  const script = process.env['npm_execpath'];
  return script?.endsWith('npm-cli.js')
    ? succeed(process.execPath, [script, ...args], cwd)
    : succeed('npm', args, cwd);
}

/** Without what npm and vitest set for the processes they start, which would change how their own kind behaves. */
function plainEnvironment(): NodeJS.ProcessEnv {
  const inherited = /^(npm_|VITEST|NODE_|INIT_CWD$|TEST$|MODE$|DEV$|PROD$|SSR$|BASE_URL$|FORCE_COLOR$)/;
  const kept = Object.entries(process.env).filter(([name]) => !inherited.test(name));
  return { ...Object.fromEntries(kept), NO_COLOR: '1' };
}
