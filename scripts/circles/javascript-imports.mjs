// The imports between files of JavaScript and TypeScript: `import`, `export … from`, `import()` and `require()` of a relative path.

import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, sep } from 'node:path'

const SOURCE = /\.(?:c|m)?[jt]s$/
/** Imports that are needed for links in doc comments only, up to the next empty line. */
const FOR_LINKS = /^\/\/ Only for links in the comments\.\n(?:.+\n)*/gm
const COMMENTS = /^\s*(?:\/\/|\*|\/\*).*$/gm
const LIBRARY = `${sep}dist${sep}`
const RELATIVE = /(?:\bfrom|\bimport|\brequire|\bimport\()\s*\(?\s*'(\.{1,2}\/[^']+)'/g

/**
 * @param {string[]} places files, and folders whose files count at any depth
 * @returns {Map<string, Set<string>>} the imported files of each file
 */
export function javascriptImports(places) {
  const files = new Set(places.flatMap(filesAt).filter((file) => SOURCE.test(file)))
  return new Map([...files].map((file) => [file, importsOf(file, files)]))
}

function filesAt(place) {
  if (!existsSync(place)) return []
  if (!statSync(place).isDirectory()) return [place]
  return readdirSync(place).flatMap((name) => filesAt(join(place, name)))
}

function importsOf(file, files) {
  const code = readFileSync(file, 'utf8').replace(FOR_LINKS, '').replace(COMMENTS, '')
  const paths = [...code.matchAll(RELATIVE)].map(([, path]) => join(dirname(file), path))
  return new Set(
    paths.map((path) => resolved(path, file, files)).filter((imported) => imported !== undefined && imported !== file),
  )
}

/** The file that a path names. TypeScript imports by the name of the compiled file, and the library is compiled from lib/ to dist/. */
function resolved(path, importer, files) {
  const source = path.replace(LIBRARY, `${sep}lib${sep}`).replace(/\.js$/, '.ts')
  const declared = importer.endsWith('ts') ? [path.replace(/\.(m?)js$/, '.d.$1ts')] : []
  return [source, ...declared, path, `${path}.js`, join(path, 'index.js')].find((candidate) => files.has(candidate))
}
