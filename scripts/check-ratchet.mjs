// Keeps the house from growing back: each number in ratchet.json may go down, but not up.
//
//   node scripts/check-ratchet.mjs            fails if a number has gone up
//   node scripts/check-ratchet.mjs --lower    writes the numbers that have gone down
//
// A number that has to go up is changed by hand, in the commit that needs it, with the reason in its body.

import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..')
const FILE = join(ROOT, 'scripts/ratchet.json')
const TESTS = /(^|\/)(tests|interleavings|fuzzing)(\/|\.rs$)|_tests\.rs$/
const ONLY_IN_TESTS =
  /^#\[cfg\((test|all\(test, [^\]]*|feature = "(?:fuzzing|interleavings)")\)\]\s*pub[^;{]*(\{[^}]*\})?[^;]*;/gm
// At a room's own door `pub(super)` is the whole crate, in the modules behind it the room.
const ROOM = 'pub(?:\\((?:crate|super)\\))?'
const BEHIND = 'pub(?:\\(crate\\))?'
const ITEM = '(?:const |unsafe |async |extern "C" )*(?:fn|struct|enum|trait|union|type|const|static|mod \\w+ \\{)\\b'

const files = execFileSync('git', ['ls-files'], { cwd: ROOT, encoding: 'utf8' }).split('\n').filter(Boolean)
const found = measured()
const allowed = JSON.parse(readFileSync(FILE, 'utf8'))

const higher = Object.keys(found).filter((name) => !(found[name] <= (allowed[name] ?? 0)))
const lower = Object.keys(allowed).filter((name) => (found[name] ?? 0) < allowed[name])
for (const name of higher) console.error(`${name}: ${found[name]}, at most ${allowed[name] ?? 0} allowed`)
if (process.argv.includes('--lower'))
  writeFileSync(
    FILE,
    `${JSON.stringify({ ...allowed, ...Object.fromEntries(lower.map((name) => [name, found[name] ?? 0])) }, null, 2)}\n`,
  )
else if (lower.length > 0) console.error(`lower by now, see --lower: ${lower.join(', ')}`)
process.exitCode = higher.length === 0 ? 0 : 1

/** The numbers of today, by their names. */
function measured() {
  const rust = files.filter((file) => /^(src|crates\/core\/src|python\/src)\/.*\.rs$/.test(file) && !TESTS.test(file))
  const core = rust
    .filter((file) => file.startsWith('crates/core/src/'))
    .map(codeOf)
    .join('\n')
  const numbers = {}
  for (const file of [
    ...rust,
    ...files.filter((name) => /^(lib|packages\/cli|python\/package)\/.*\.(js|mjs|ts|py)$/.test(name)),
  ]) {
    const room = roomOf(file)
    numbers[`lines of ${room}`] =
      (numbers[`lines of ${room}`] ?? 0) +
      codeOf(file)
        .split('\n')
        .filter((line) => line.trim() !== '').length
  }
  numbers['public items of the core'] = count(core, /^ *pub (?!use )/gm)
  numbers['names that leave the rooms of the core'] = files
    .filter((file) => /^crates\/core\/src\/\w+\/mod\.rs$/.test(file))
    .reduce((sum, file) => sum + namesOf(file, ROOM), 0)
  numbers['types per 1 000 lines of the core'] =
    Math.round(
      (count(core, /^ *(pub(\([^)]*\))? )?(struct|enum|trait|union) /gm) * 10_000) /
        core.split('\n').filter((line) => line.trim() !== '').length,
    ) / 10
  numbers['words of documents'] = files
    .filter((file) => /^(docs\/[\w-]+|README|CONTRIBUTING|bench\/\w+|python\/(bench\/)?\w+)\.md$/.test(file))
    .reduce((sum, file) => sum + read(file).split(/\s+/).length, 0)
  return numbers
}

function read(file) {
  return readFileSync(join(ROOT, file), 'utf8')
}

/** A file without comments of whole lines, and in Rust without the tests at its end. */
function codeOf(file) {
  const text = file.endsWith('.rs') ? read(file).replace(/^#\[cfg\(test\)\]\nmod tests \{[^]*/m, '') : read(file)
  return text.replace(/^\s*(\/\/|\*|\/\*|#(?!\[)).*$/gm, '')
}

/** `crates/core/src/run` of a file in it, and `src` or `lib` of one that is not in a folder. */
function roomOf(file) {
  const [first, ...others] = file.split('/')
  return first === 'crates'
    ? others.slice(2, 3).map((name) => `core: ${name.replace(/\.rs$/, '')}`)[0]
    : first === 'packages'
      ? 'packages/cli'
      : first
}

/** The number of names that leave a room by this file, to everybody or to the other rooms: what it defines or re-exports, and all that leaves by modules among that. */
function namesOf(file, visibility) {
  const text = codeOf(file).replace(ONLY_IN_TESTS, '')
  const matches = (pattern) => [...text.matchAll(new RegExp(`^${visibility} ${pattern}`, 'gm'))]
  const names = [
    ...matches('use ([^;]+);').flatMap(([, path]) => pathsOf(path)),
    ...matches('mod (\\w+);').map(([, name]) => name),
  ]
  const modules = names.map((name) => openModule(file, name.split('::')))
  return modules.reduce(
    (sum, module) => sum + (module === undefined ? 1 : namesOf(module, BEHIND)),
    matches(ITEM).length,
  )
}

/** The paths that a `use` names. A glob would hide names. */
function pathsOf(path) {
  const [prefix, names] = path.includes('{') ? path.split(/\{(.*)\}/s) : ['', path]
  if (names.includes('*')) throw new Error(`\`use ${path}\` at a door hides names: list them`)
  return names
    .split(/[{,]/)
    .filter((name) => /\w/.test(name))
    .map((name) => prefix + name.trim().replace(/ as .*/, ''))
}

/** The file of the module that a path from this file names, unless it names something else: a module that is re-exported is declared as public. */
function openModule(file, [first, ...others]) {
  const folder = /\/mod\.rs$/.test(file) ? dirname(file) : file.replace(/\.rs$/, '')
  const module = [`${folder}/${first}.rs`, `${folder}/${first}/mod.rs`].find((path) => files.includes(path))
  if (module === undefined || others.length > 0) return module && openModule(module, others)
  return new RegExp(`^pub(\\([^)]*\\))? mod ${first};`, 'm').test(read(file)) ? module : undefined
}

function count(text, pattern) {
  return [...text.matchAll(pattern)].length
}
