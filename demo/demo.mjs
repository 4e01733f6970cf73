/**
 * `npm run demo` records a sample session anew and replays it; `npm run demo -- PATH` replays the recording at a path. Output
 * and exit code are those of `session-tape replay`.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { recordAnew } from './record.mjs'

const here = dirname(fileURLToPath(import.meta.url))
const SAMPLE = join(here, 'sample.jsonl')
const PROGRAM = join(here, '..', 'packages', 'cli', 'main.js')

async function main(args) {
  if (args.length > 0) return replay(args)
  const { SessionRecordingService } = await import('../index.mjs')
  const recording = await recordAnew(SessionRecordingService, SAMPLE)
  // A reader that stops early (`npm run demo | head -3`) is not an error.
  process.stdout.on('error', () => {})
  process.stdout.write('The sample session was recorded a moment ago. To see this again:\n')
  process.stdout.write(`  npx session-tape replay ${recording}\n`)
  return replay([recording])
}

async function replay(args) {
  const child = spawn(process.execPath, [PROGRAM, 'replay', ...args], { stdio: 'inherit', cwd: callersDirectory() })
  const [code] = await once(child, 'close')
  return code ?? 1
}

/** The directory to which relative paths refer: npm changes to the project's directory, but the user started it elsewhere. */
function callersDirectory() {
  const { npm_lifecycle_event: script, INIT_CWD: directory } = process.env
  return script === 'demo' && directory ? directory : process.cwd()
}

process.exitCode = await main(process.argv.slice(2))
