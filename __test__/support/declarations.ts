import { readdirSync, readFileSync } from 'node:fs';

const ROOT = new URL('../../', import.meta.url);

/** The text of each declaration file of the package, by the name of the file: the front door, and what it re-exports. */
export const declarationFiles: ReadonlyMap<string, string> = new Map(
  ['index.d.ts', ...readdirSync(new URL('types/', ROOT)).sort().map((name) => `types/${name}`)].map((path) => [
    path,
    readFileSync(new URL(path, ROOT), 'utf8'),
  ]),
);

/** The texts of all declaration files, concatenated. */
export const declarations = [...declarationFiles.values()].join('\n');
