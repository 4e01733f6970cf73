// Prints the circles of imports in Rust: among the rooms of a crate, and among the files and folders in a room. Fails on one that is not part of a
// known one. The linter finds those of JavaScript (`noImportCycles`).

import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

process.chdir(join(import.meta.dirname, '..'))

const CRATES = ['crates/core/src', 'src']
/** These may only become fewer and shorter. */
const KNOWN = [
  ['bundle/export', 'bundle/read', 'bundle/redact'],
  'align ancestry comparable compare document projection stream'.split(' ').map((name) => `diff/${name}`),
  'format graph read record replay sample state store verify'.split(' ').map((name) => `run/${name}`),
]
const FOR_TESTS = /(^|[/_])(tests?|testing|interleavings|fuzzing)(\.rs$|\/)/
const PATH = /\b(crate|super|self)(::\w+)*(::\{[^;]*\})?/g
const COMMENTS_AND_TESTS = /\/\/.*$|^#\[cfg\((all\()?test[^]*?\n(mod \w+;|\}$)/gm

let failed = false
for (const crate of CRATES) {
  for (const circle of circlesIn(importsIn(crate))) {
    const isKnown = KNOWN.some((known) => circle.every((one) => known.includes(one)))
    console.error(`${crate}: a circle${isKnown ? ', known' : ''}: ${circle.join(', ')}`)
    failed ||= !isKnown
  }
}
process.exitCode = failed ? 1 : 0

/** What each room imports, and what each file or folder of a room imports of the same room. */
function importsIn(crate) {
  const names = execFileSync('git', ['ls-files', `${crate}/*.rs`], { encoding: 'utf8' }).match(/.+/g)
  const files = names.map((name) => name.slice(crate.length + 1)).filter((file) => !FOR_TESTS.test(file))
  const modules = files.map((file) => file.replace(/(\/?\b(mod|lib))?\.rs$/, '').split('/'))
  const known = new Set(modules.flatMap((module) => [module[0], module.slice(0, 2).join('/')]))
  const imports = new Map()
  for (const [at, module] of modules.entries()) {
    const code = readFileSync(join(crate, files[at]), 'utf8').replace(COMMENTS_AND_TESTS, '')
    const paths = [...code.matchAll(PATH)].flatMap(([path]) => unfolded(path))
    for (const target of paths.map((path) => absolute(path.split('::'), module))) {
      const depth = target[0] === module[0] ? 2 : 1
      const [from, to] = [module, target].map((one) => one.slice(0, depth).join('/'))
      if (from !== to && module.length >= depth && known.has(to))
        imports.set(from, (imports.get(from) ?? new Set()).add(to))
    }
  }
  return imports
}

/** The paths of a `use`, those in braces one by one. */
function unfolded(path) {
  const at = path.indexOf('{')
  if (at < 0) return [path]
  let depth = 0
  const list = path.slice(at + 1, path.lastIndexOf('}')).replace(/[{},]/g, (mark) => {
    depth += { '{': 1, '}': -1, ',': 0 }[mark]
    return mark === ',' && depth === 0 ? '\n' : mark
  })
  return list.split('\n').flatMap((one) => unfolded(path.slice(0, at) + one.trim()))
}

function absolute([first, ...names], module) {
  const start = { crate: [], self: module, super: module.slice(0, -1) }[first]
  return names.reduce((path, name) => (name === 'super' ? path.slice(0, -1) : path.concat(name)), start)
}

/** The sets of nodes that reach each other. */
function circlesIn(imports) {
  const reach = (node, seen) => {
    for (const next of imports.get(node) ?? []) if (!seen.has(next)) reach(next, seen.add(next))
    return seen
  }
  const reached = new Map([...imports.keys()].map((node) => [node, reach(node, new Set())]))
  const circles = [...reached].map(([node, nodes]) =>
    [...nodes].filter((other) => reached.get(other)?.has(node)).sort(),
  )
  return new Map(circles.filter((circle) => circle.length > 1).map((circle) => [circle.join(), circle])).values()
}
