// The documentation against the package: its examples compile and run, and it names what there is.
import { cp, mkdir, mkdtemp, readFile, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { succeed } from './packing/command.js';
import { ROOT } from './packing/release.js';

interface Example {
  name: string;
  code: string;
}

const declarations = await readFile(join(ROOT, 'index.d.ts'), 'utf8');
const readme = await readFile(join(ROOT, 'README.md'), 'utf8');
const examples = [
  ...fencedCode(readme).map((code, index) => ({ name: `readme-${index + 1}`, code })),
  ...fencedCode(declarations.replace(/^ *\* ?/gm, '')).map((code, index) => ({ name: `index-d-ts-${index + 1}`, code })),
];

/** The TypeScript blocks of a text, without the indent that a list gives them. */
function fencedCode(text: string): string[] {
  return [...text.matchAll(/^( *)```ts\n([\s\S]*?)\n *```$/gm)].map(([, indent, code]) =>
    code!.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
  );
}

describe('every example', () => {
  let project: string;

  beforeAll(async () => {
    project = await projectWithPackage();
    await compile(project, examples);
  });
  afterAll(async () => {
    if (project) await rm(project, { recursive: true, force: true });
  });

  test('is found', () => {
    expect(examples.map(({ name }) => name)).toEqual(expect.arrayContaining(['readme-1', 'readme-2', 'index-d-ts-1', 'index-d-ts-6']));
  });

  test.each(examples)('$name runs as its comments say', async ({ name, code }) => {
    const printed = await succeed(process.execPath, [`compiled/${name}.mjs`], project);
    for (const expected of promisedOutput(code)) expect(printed).toContain(expected);
  });
});

/** `console.log(…); // text`: the text up to a colon and a remark is what the line prints. */
function promisedOutput(code: string): string[] {
  return [...code.matchAll(/console\.\w+\(.*\); \/\/ (.*)$/gm)].map(([, comment]) => comment!.replace(/^(\d+): .*/, '$1'));
}

/** The work tree under its own name, as an installed package is; `package.spec.ts` installs the real tarball. */
async function projectWithPackage(): Promise<string> {
  const project = await realpath(await mkdtemp(join(tmpdir(), 'session-tape-examples-')));
  await mkdir(join(project, 'node_modules', '@types'), { recursive: true });
  await symlink(ROOT, join(project, 'node_modules', 'session-tape'), 'junction');
  for (const name of ['@types/node', 'undici-types']) {
    await cp(join(ROOT, 'node_modules', name), join(project, 'node_modules', name), { recursive: true });
  }
  return project;
}

/** One strict compile of all examples, each a module: what does not compile fails every test, with the message. */
async function compile(project: string, sources: Example[]): Promise<void> {
  for (const { name, code } of sources) await writeFile(join(project, `${name}.mts`), `${code}\n`);
  const compiler = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc');
  const options = ['--strict', '--target', 'es2022', '--module', 'nodenext', '--types', 'node', '--outDir', 'compiled', '--rootDir', '.'];
  await succeed(process.execPath, [compiler, ...options, ...sources.map(({ name }) => `${name}.mts`)], project);
}

describe('the names of the package', () => {
  // A function with several signatures is declared more than once.
  const declared = [...new Set([...declarations.matchAll(/^export declare (?:function|class|const) (\w+)/gm)].map(([, name]) => name!))];

  const required = Object.keys(createRequire(import.meta.url)('../index.js'));

  test('that the types declare are those that require gives', () => {
    expect(required.sort()).toEqual(declared.sort());
  });

  test('that the types declare are those that import gives', async () => {
    const imported = Object.keys(await import('../index.mjs')).filter((name) => name !== 'default');
    expect(imported.sort()).toEqual(declared.sort());
  });

  test('are all in the README', () => {
    expect(required.filter((name) => !new RegExp(`\\b${name}\\b`).test(readme))).toEqual([]);
  });

  test('have their documentation', () => {
    const lines = declarations.split('\n');
    const undocumented = lines.filter((line, index) => /^export /.test(line) && !lines[index - 1]!.endsWith('*/'));
    expect(undocumented).toEqual([]);
  });
});

test('the README links only to files that there are', async () => {
  const links = [...readme.matchAll(/\]\((?!https?:|#)([^)]+)\)/g)].map(([, path]) => path!);
  expect(links.length).toBeGreaterThan(0);
  for (const path of links) await expect(readFile(join(ROOT, path), 'utf8')).resolves.not.toBe('');
});
