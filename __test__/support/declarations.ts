import { readFileSync } from 'node:fs'

const ROOT = new URL('../../', import.meta.url)
const front = textOf('index.d.ts')
const paths = [...front.matchAll(/^export \* from '\.\/(dist\/.*)\.js'$/gm)].map(([, path]) => `${path!}.d.ts`)

/** The text of each declaration file of the package, by the name of the file: the front door, and what it re-exports. */
export const declarationFiles: ReadonlyMap<string, string> = new Map([
  ['index.d.ts', front],
  ...paths.map((path) => [path, textOf(path)] as const),
])

/** The texts of all declaration files, concatenated. */
export const declarations = [...declarationFiles.values()].join('\n')

/** A file without the carriage returns of a checkout. The compiler indents by four spaces, the sources by two. */
function textOf(path: string): string {
  const text = readFileSync(new URL(path, ROOT), 'utf8').replaceAll('\r\n', '\n')
  return path === 'index.d.ts' ? text : text.replaceAll(/^(?: {4})+/gm, (indent) => ' '.repeat(indent.length / 2))
}
