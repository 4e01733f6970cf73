// Finds circular imports in JavaScript: files that import themselves, directly or through others. No file in a circle can be understood before the
// others, so there must be none.
//
//   node scripts/check-circles.mjs           fails on a circle and prints the imports that make it
//   node scripts/check-circles.mjs --graph   prints every import between files

import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

import { circlesOf } from './circles/components.mjs'
import { javascriptImports } from './circles/javascript-imports.mjs'

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..')
const JAVASCRIPT = [
  'index.js',
  'index.mjs',
  'index.d.ts',
  'index.d.mts',
  'lib',
  'packages/cli',
  'bench',
  'scripts',
  'demo',
]

const graph = javascriptImports(JAVASCRIPT.map((place) => join(ROOT, place)))
const circles = circlesOf(graph)

if (process.argv.includes('--graph')) {
  for (const [file, imports] of graph)
    for (const imported of [...imports].sort()) console.log(`${shown(file)} -> ${shown(imported)}`)
}
for (const circle of circles) {
  console.error(`A circle of ${circle.length} files:`)
  for (const file of circle) {
    const inside = [...graph.get(file)].filter((imported) => circle.includes(imported))
    console.error(`  ${shown(file)} imports ${inside.map(shown).sort().join(', ')}`)
  }
}
console.error(`${graph.size} files, ${circles.length === 0 ? 'no circle' : `${circles.length} circles`}`)
process.exitCode = circles.length === 0 ? 0 : 1

function shown(file) {
  return relative(ROOT, file)
}
