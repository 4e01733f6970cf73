// A script that starts a runtime under an emulator, or with another C library, and which the runtime takes for itself: what a program starts as
// `process.execPath`, and vitest its workers, is emulated like it.

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { ROOT } from './commands.mjs';

const SET_EXEC_PATH = join(ROOT, 'scripts', 'platforms', 'exec-path.cjs');

/** @returns {string} its path */
export function writeWrapper(name, command, directory) {
  mkdirSync(directory, { recursive: true });
  const path = join(directory, name.replaceAll(/\W+/g, '-'));
  const words = [...command, '--require', SET_EXEC_PATH].map(quoted);
  writeFileSync(path, `#!/bin/sh\nSESSION_TAPE_EXEC_PATH=${quoted(path)} exec ${words.join(' ')} "$@"\n`, { mode: 0o755 });
  return path;
}

const quoted = (word) => `'${word.replaceAll("'", "'\\''")}'`;
