import { spawnSync } from 'node:child_process'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..')

/** The arguments that name the target that `napi build` passes to Cargo. Without them, everything would be compiled again, in another folder. */
export function cargoTarget() {
  const { stdout } = spawnSync('rustc', ['-vV'], { cwd: ROOT, encoding: 'utf8' })
  const triple = process.env.CARGO_BUILD_TARGET ?? /^host: (.+)$/m.exec(stdout ?? '')?.[1]
  return triple ? ['--target', triple] : []
}
