// Directories of given files, for the specs that list them: gone when the spec file ends.

import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';

/** Open to other users: some tests list as one. */
export const root = realpathSync(mkdtempSync(join(tmpdir(), 'session-tape-files-')));
chmodSync(root, 0o755);
afterAll(() => {
  // What a test took the permissions of must not stay.
  spawnSync('chmod', ['-R', 'u+rwX', root]);
  rmSync(root, { recursive: true, force: true });
});

let directories = 0;

/** A new directory with these files in it. */
export function directoryOf(files: Record<string, string | Uint8Array> = {}): string {
  const directory = join(root, String(++directories));
  mkdirSync(directory, { mode: 0o755 });
  for (const [name, data] of Object.entries(files)) writeFileSync(join(directory, name), data);
  return directory;
}
