// The documentation against the package: its examples compile and run, and it names everything that the package exports.
import { existsSync } from 'node:fs'
import { cp, mkdir, mkdtemp, readdir, readFile, realpath, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { succeed } from './packing/command.js'
import { ROOT } from './packing/release.js'
import { declarationFiles, declarations } from '../support/declarations.js'

interface Example {
  name: string
  code: string
}

/** The pages of the documentation, by their path. */
const pages = new Map<string, string>()
for (const path of [
  'README.md',
  ...(await readdir(join(ROOT, 'docs'))).filter((name) => name.endsWith('.md')).map((name) => `docs/${name}`),
]) {
  pages.set(path, await readFile(join(ROOT, path), 'utf8'))
}
const readme = pages.get('README.md')!

const examples = [
  ...[...pages].flatMap(([path, text]) =>
    fencedCode(text).map((code, index) => ({ name: `${nameOf(path)}-${index + 1}`, code })),
  ),
  ...[...declarationFiles].flatMap(([path, text]) =>
    fencedCode(text.replace(/^ *\* ?/gm, '')).map((code, index) => ({ name: `${nameOf(path)}-${index + 1}`, code })),
  ),
]

/** `README.md` is `readme`, `docs/find.md` is `find`, `dist/run/recorder.d.ts` is `run-recorder-d-ts`. */
function nameOf(path: string): string {
  return path
    .replace(/^(?:docs|dist)\/|\.md$/g, '')
    .replaceAll(/[./]/g, '-')
    .toLowerCase()
}

/** The TypeScript blocks of a text, without the indent that a list gives them. */
function fencedCode(text: string): string[] {
  return [...text.matchAll(/^( *)```ts\n([\s\S]*?)\n *```$/gm)].map(([, indent, code]) =>
    code!.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
  )
}

describe('every example', () => {
  let project: string

  beforeAll(async () => {
    project = await projectWithPackage()
    await compile(project, examples)
  })
  afterAll(async () => {
    if (project) await rm(project, { recursive: true, force: true })
  })

  test('is found', () => {
    expect(examples.map(({ name }) => name)).toEqual(
      expect.arrayContaining([
        'readme-1',
        'find-1',
        'errors-1',
        'session-recorder-d-ts-2',
        'run-replay-d-ts-2',
        'bundle-bundle-d-ts-3',
        'diff-diff-d-ts-1',
      ]),
    )
  })

  test.each(examples)('$name runs as its comments say', async ({ name, code }) => {
    const printed = await succeed(process.execPath, [`compiled/${name}.mjs`], project)
    for (const expected of promisedOutput(code)) expect(printed).toContain(expected)
  })
})

/** `console.log(…); // text`: the text up to a colon and a remark is what the line prints. */
function promisedOutput(code: string): string[] {
  return [...code.matchAll(/console\.\w+\(.*\); \/\/ (.*)$/gm)].map(([, comment]) =>
    comment!.replace(/^(\d+): .*/, '$1'),
  )
}

/** The work tree under its own name, as an installed package is; `package.spec.ts` installs the real tarball. */
async function projectWithPackage(): Promise<string> {
  const project = await realpath(await mkdtemp(join(tmpdir(), 'session-tape-examples-')))
  await mkdir(join(project, 'node_modules', '@types'), { recursive: true })
  await symlink(ROOT, join(project, 'node_modules', 'session-tape'), 'junction')
  for (const name of ['@types/node', 'undici-types']) {
    await cp(join(ROOT, 'node_modules', name), join(project, 'node_modules', name), { recursive: true })
  }
  return project
}

/** Compiles all examples at once, strictly, each as a module. An example that does not compile fails every test, with the compiler's message. */
async function compile(project: string, sources: Example[]): Promise<void> {
  for (const { name, code } of sources) await writeFile(join(project, `${name}.mts`), `${code}\n`)
  const compiler = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc')
  const options = [
    '--strict',
    '--target',
    'es2022',
    '--module',
    'nodenext',
    '--types',
    'node',
    '--outDir',
    'compiled',
    '--rootDir',
    '.',
  ]
  await succeed(process.execPath, [compiler, ...options, ...sources.map(({ name }) => `${name}.mts`)], project)
}

describe('the names of the package', () => {
  // A function with several signatures is declared more than once.
  const declared = [
    ...new Set([...declarations.matchAll(/^export declare (?:function|class|const) (\w+)/gm)].map(([, name]) => name!)),
  ]

  const required = Object.keys(createRequire(import.meta.url)('../../index.js'))

  test('in the declarations are those that require returns', () => {
    expect(required.sort()).toEqual(declared.sort())
  })

  test('in the declarations are those that import returns', async () => {
    const imported = Object.keys(await import('../../index.mjs')).filter((name) => name !== 'default')
    expect(imported.sort()).toEqual(declared.sort())
  })

  test('have doc comments in the declarations', () => {
    const lines = declarations.split('\n')
    const undocumented = lines.filter((line, index) => /^export (?!\*)/.test(line) && !lines[index - 1]!.endsWith('*/'))
    expect(undocumented).toEqual([])
  })

  test('are declared without types of Node.js, which a program may not have', () => {
    expect(
      [...declarations.matchAll(/^import .*['"]node:.*|\b(?:Buffer|NodeJS)\b.*/gm)].map(([found]) => found),
    ).toEqual([])
  })

  test('come from all declarations in dist/, and index.d.ts declares none itself', async () => {
    const exported = [...declarationFiles.get('index.d.ts')!.matchAll(/^export (.*)$/gm)].map(([, text]) => text!)
    const files = (await readdir(join(ROOT, 'dist'), { recursive: true })).filter((name) => name.endsWith('.d.ts'))
    expect(files.length).toBeGreaterThan(30)
    expect(exported.sort()).toEqual(
      files.map((name) => `* from './dist/${name.replaceAll('\\', '/').replace('.d.ts', '.js')}'`).sort(),
    )
  })
})

describe('links', () => {
  /** The text of a page without its code, where brackets are not links. */
  const prose = (text: string): string =>
    text.replaceAll(/^( *)```[^]*?^\1```$/gm, '').replaceAll(/`[^`\n]*`/g, (code) => code.replaceAll(/[[\]()]/g, ''))

  const linksOf = (text: string): string[] => [...prose(text).matchAll(/\]\(([^)\s]+)\)/g)].map(([, link]) => link!)

  /** The anchors that GitHub gives the headings of a page: in lower case, with hyphens for spaces and without other punctuation. */
  function anchorsOf(text: string): string[] {
    const seen = new Map<string, number>()
    return [...text.replaceAll(/^```[^]*?^```$/gm, '').matchAll(/^#+ (.*)$/gm)].map(([, title]) => {
      const anchor = title!
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
        .replaceAll(' ', '-')
      const times = seen.get(anchor) ?? 0
      seen.set(anchor, times + 1)
      return times === 0 ? anchor : `${anchor}-${times}`
    })
  }

  test('are found, and so are anchors', () => {
    expect(linksOf(readme)).toEqual(
      expect.arrayContaining([
        'docs/cli.md',
        'docs/errors.md',
        'docs/GLOSSARY.md',
        'docs/images/replay.svg',
        'docs/images/diff.png',
      ]),
    )
    expect(anchorsOf(pages.get('docs/run-format.md')!)).toContain('13-reading-verifying-errors')
    expect(anchorsOf(pages.get('docs/redaction.md')!)).toContain('what-cant-be-redacted')
  })

  test.each([...pages.keys(), ...['CONTRIBUTING.md', 'SECURITY.md', 'bench/README.md', 'python/README.md']])(
    'of %s lead somewhere',
    async (page) => {
      for (const link of linksOf(await readFile(join(ROOT, page), 'utf8')).filter((to) => !/^https?:/.test(to))) {
        const [path, anchor] = link.split('#') as [string, string?]
        const target = path === '' ? page : join(dirname(page), path)
        expect(existsSync(join(ROOT, target)), `${link} in ${page}`).toBe(true)
        if (anchor !== undefined)
          expect(anchorsOf(await readFile(join(ROOT, target), 'utf8')), `${link} in ${page}`).toContain(anchor)
      }
    },
  )

  test('lead from the README to every page', () => {
    const unlinked = [...pages.keys()].filter(
      (page) => page !== 'README.md' && !linksOf(readme).some((link) => link.split('#')[0] === page),
    )
    expect(unlinked).toEqual([])
  })
})

test('the README is short, and its pictures are small', async () => {
  expect(readme.trimEnd().split('\n').length).toBeLessThanOrEqual(130)
  for (const picture of [
    'docs/images/replay.svg',
    'docs/images/diff.png',
    'docs/images/session.png',
    'docs/images/run.png',
  ])
    expect((await stat(join(ROOT, picture))).size).toBeLessThan(150_000)
})
