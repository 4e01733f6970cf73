// What specs share ends with each spec: directories, recorders. Several specs run in one process, one after the other, and have their modules in
// common, so a module can't leave that to a hook of its own: it would run at the end of the spec that imported the module first.

import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

type CleanUp = () => unknown;
const behindSpecs: CleanUp[] = [];
const behindTests: CleanUp[] = [];

/** Registers what is called at the end of every spec file of this process. */
export function atEndOfSpec(cleanUp: CleanUp): void {
  behindSpecs.push(cleanUp);
}

/** The same for every test. */
export function atEndOfTest(cleanUp: CleanUp): void {
  behindTests.push(cleanUp);
}

export const endSpec = (): Promise<void> => callAll(behindSpecs);
export const endTest = (): Promise<void> => callAll(behindTests);

/** The last one first: a directory goes after what is in it. */
async function callAll(cleanUps: CleanUp[]): Promise<void> {
  for (const cleanUp of [...cleanUps].reverse()) await cleanUp();
}

/** A directory for each spec: made when it is asked for, open to other users, since some tests run as one, and removed when the spec ends. */
export function directoryOfSpec(prefix: string): () => string {
  let directory: string | undefined;
  atEndOfSpec(() => {
    if (directory === undefined) return;
    // What a test took the permissions of must not stay.
    spawnSync('chmod', ['-R', 'u+rwX', directory]);
    rmSync(directory, { recursive: true, force: true });
    directory = undefined;
  });
  return () => {
    if (directory !== undefined) return directory;
    directory = realpathSync(mkdtempSync(join(tmpdir(), prefix)));
    chmodSync(directory, 0o755);
    return directory;
  };
}
