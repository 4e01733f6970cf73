/** The figures of the measured parts, each with the runtime, the date and the load of the machine. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { machine } from './machine.mjs';

const FILE = fileURLToPath(new URL('results.json', import.meta.url));

/** Empty results. */
export const noResults = () => ({ machine: machine(), runtimes: {}, parts: {} });

/** The results of earlier runs, if they were measured on this machine. */
export function savedResults() {
  const empty = noResults();
  if (!existsSync(FILE)) return empty;
  const saved = JSON.parse(readFileSync(FILE, 'utf8'));
  const isSame = saved.machine.CPU === empty.machine.CPU && saved.machine.System === empty.machine.System;
  return isSame ? { ...saved, machine: empty.machine } : empty;
}

export function saveResults(results) {
  writeFileSync(FILE, `${JSON.stringify(results, undefined, 1)}\n`);
}

/** Adds the figures of a part on a runtime, replacing earlier ones. */
export function addFigures(results, part, { path, ...runtime }, measured) {
  results.runtimes[runtime.name] = runtime;
  (results.parts[part] ??= {})[runtime.name] = measured;
}
