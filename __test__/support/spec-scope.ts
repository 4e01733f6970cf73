// Cleans up at the end of each spec what shared modules have created: directories, recorders. Several specs run in one process, one after the
// other, and share their modules, so a module can't use a hook of its own: it would run at the end of the spec that imported the module first.

import { spawnSync } from 'node:child_process'
import { chmodSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

type CleanUp = () => unknown
const behindSpecs: CleanUp[] = []
const behindTests: CleanUp[] = []

/** Registers a function to be called at the end of every spec file of this process. */
export function atEndOfSpec(cleanUp: CleanUp): void {
  behindSpecs.push(cleanUp)
}

/** Registers a function to be called at the end of every test. */
export function atEndOfTest(cleanUp: CleanUp): void {
  behindTests.push(cleanUp)
}

export const endSpec = (): Promise<void> => callAll(behindSpecs)
export const endTest = (): Promise<void> => callAll(behindTests)

/** In reverse order: a directory is removed after its contents. */
async function callAll(cleanUps: CleanUp[]): Promise<void> {
  for (const cleanUp of [...cleanUps].reverse()) await cleanUp()
}

/** A directory for each spec: created on first use, accessible to other users (some tests run as one), and removed when the spec ends. */
export function directoryOfSpec(prefix: string): () => string {
  let directory: string | undefined
  atEndOfSpec(() => {
    if (directory === undefined) return
    // A test may have removed permissions, which would prevent the removal.
    spawnSync('chmod', ['-R', 'u+rwX', directory])
    rmSync(directory, { recursive: true, force: true })
    directory = undefined
  })
  return () => {
    if (directory !== undefined) return directory
    directory = realpathSync(mkdtempSync(join(tmpdir(), prefix)))
    chmodSync(directory, 0o755)
    return directory
  }
}
