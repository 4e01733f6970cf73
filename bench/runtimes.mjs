/** The JavaScript runtimes to measure: the Node.js that was started, and those that environment variables name. */
import { execFileSync } from 'node:child_process'

/** Each is the path of a runtime's program. */
const VARIABLES = ['NODE_22', 'NODE_24', 'BUN']

const DESCRIBE = 'console.log(JSON.stringify(process.versions))'

/**
 * One runtime for each name, in the order of their versions, Bun last. Throws if a variable names something that is not a runtime.
 *
 * @returns {{ name: string, title: string, version: string, path: string }[]}
 */
export function findRuntimes(environment = process.env) {
  const found = new Map()
  add(found, process.execPath, 'this runtime')
  for (const variable of VARIABLES) if (environment[variable]) add(found, environment[variable], variable)
  return [...found.values()].sort((one, other) => one.rank - other.rank).map(({ rank, ...runtime }) => runtime)
}

/** The name of the runtime that runs this. */
export const ownRuntime = () => describe(process.execPath, process.versions).name

function add(found, path, source) {
  const runtime = describe(path, versionsOf(path, source))
  if (!found.has(runtime.name)) found.set(runtime.name, runtime)
}

function versionsOf(path, source) {
  try {
    return JSON.parse(execFileSync(path, ['-e', DESCRIBE], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }))
  } catch {
    throw new Error(`${source} is not the path of a JavaScript runtime: ${path}`)
  }
}

function describe(path, { bun, node, v8 }) {
  if (bun) return { name: 'bun', title: 'Bun', version: `${bun} (JavaScriptCore)`, path, rank: Infinity }
  const major = Number.parseInt(node, 10)
  return { name: `node${major}`, title: `Node ${major}`, version: `${node} (V8 ${v8})`, path, rank: major }
}
