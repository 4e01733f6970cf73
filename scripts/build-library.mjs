// Compiles the library, lib/, to dist/: JavaScript without comments, and declarations with them. Types are checked by `npm run
// typecheck`, when the addon has been built: binding.d.ts describes it. One module, which the pages contain too, is copied into the command line.

import { spawnSync } from 'node:child_process'
import { copyFileSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..')
const DIST = join(ROOT, 'dist')

const IMPORT = /^import (?:type )?\{([^}]+)\} from ['"]([^'"]+)['"]/gm
const LINK = /\{@link (\w+)/g
/** How declarations show private members. It makes a class nominal, but any object with the methods of a recorder is accepted as one. */
const PRIVATE = /^ +#private;\n/gm
const RELATIVE = /\b(?:from|import\()\s*["'](\.{1,2}\/[^"']+)\.js["']/g

rmSync(DIST, { recursive: true, force: true })
compile('--emitDeclarationOnly')
compile('--declaration', 'false', '--removeComments')
completeDeclarations()
removeUnreachable()
copyFileSync(join(DIST, 'invisible.js'), join(ROOT, 'packages/cli/invisible.js'))

function compile(...options) {
  const compiler = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc')
  const { status } = spawnSync(process.execPath, [compiler, '-p', join(ROOT, 'lib'), '--noCheck', ...options], {
    stdio: 'inherit',
  })
  if (status === 0) return
  rmSync(DIST, { recursive: true, force: true })
  process.exit(1)
}

/** All declarations in dist/. */
function declarations() {
  const paths = readdirSync(DIST, { recursive: true }).map((name) => join(DIST, name))
  return paths.filter((path) => path.endsWith('.d.ts'))
}

/** Removes private members, and adds the imports that only links in doc comments need, which the compiler leaves out. */
function completeDeclarations() {
  for (const path of declarations()) {
    const source = join(ROOT, 'lib', relative(DIST, path).replace(/\.d\.ts$/, '.ts'))
    const text = readFileSync(path, 'utf8').replaceAll(PRIVATE, '')
    const [available, present] = [source, path].map((file) => importsOf(readFileSync(file, 'utf8')))
    const linked = new Set([...text.matchAll(LINK)].map(([, name]) => name))
    const missing = [...linked].filter((name) => available.has(name) && !present.has(name))
    writeFileSync(
      path,
      missing.map((name) => `import type { ${name} } from '${available.get(name)}';\n`).join('') + text,
    )
  }
}

/** The names that a file imports, with the path of their file. */
function importsOf(text) {
  const names = [...text.matchAll(IMPORT)].flatMap(([, list, from]) =>
    list.split(',').map((name) => [name.trim().replace(/^type /, ''), from]),
  )
  return new Map(names.filter(([name]) => name !== ''))
}

/** Removes the declarations that index.d.ts does not lead to. */
function removeUnreachable() {
  const reached = new Set()
  const reach = (path) => {
    if (reached.has(path)) return
    reached.add(path)
    for (const [, imported] of readFileSync(path, 'utf8').matchAll(RELATIVE))
      reach(join(dirname(path), `${imported}.d.ts`))
  }
  reach(join(ROOT, 'index.d.ts'))
  for (const path of declarations()) if (!reached.has(path)) rmSync(path)
}
