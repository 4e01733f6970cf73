// Finds problems in an addon that was built for a platform.

import { existsSync } from 'node:fs'
import { join } from 'node:path'

import { ROOT, output } from './commands.mjs'
import { ENTRY_POINT } from './targets.mjs'
import { python } from './toolchain.mjs'

export const canInspect = () => existsSync(python)

/** @returns {object} what inspect.py finds in the file, with those of the texts that it contains */
export function inspect(path, texts) {
  return JSON.parse(output(python, [join(ROOT, 'scripts', 'platforms', 'inspect.py'), path, ...texts]))
}

/**
 * @param {object} facts what `inspect` has found
 * @param {object} expected what `targets.mjs` allows for the platform
 * @returns {string[]} the problems; empty if the addon can be published
 */
export function problemsOf(
  { format, architecture, minimum, libraries, exports, runPaths, texts, timestamp },
  expected,
) {
  const isRight = format === expected.format && architecture === expected.architecture
  return [
    ...(isRight ? [] : [`is ${format} for ${architecture}, not ${expected.format} for ${expected.architecture}`]),
    ...minimumProblems(minimum, expected.minimum),
    ...libraries.filter((name) => !isAllowed(name, expected.libraries)).map((name) => `needs ${name}`),
    ...(exports.includes(ENTRY_POINT) ? [] : [`does not export ${ENTRY_POINT}`]),
    ...exports.filter((name) => name !== ENTRY_POINT).map((name) => `exports ${name}`),
    ...runPaths.map((path) => `looks for libraries in ${path}`),
    ...texts.map((text) => `names ${text}, a path of the machine that built it`),
    ...(timestamp === 0 ? [] : ['holds the time at which it was built']),
  ]
}

function minimumProblems(found, { system, version }) {
  if (found.version === null) return [`does not say which ${system} it needs`]
  if (found.system !== system) return [`needs ${found.system} ${found.version}, not ${system}`]
  return isNewer(found.version, version) ? [`needs ${system} ${found.version}, newer than ${version}`] : []
}

/** A name that ends in `*` matches all names with this prefix. Windows ignores case. */
function isAllowed(name, allowed) {
  const found = name.toLowerCase()
  return allowed.some((pattern) => {
    const wanted = pattern.toLowerCase()
    return wanted.endsWith('*') ? found.startsWith(wanted.slice(0, -1)) : found === wanted
  })
}

function isNewer(version, than) {
  const [left, right] = [version, than].map((text) => text.split('.').map(Number))
  const at = left.findIndex((number, index) => number !== (right[index] ?? 0))
  return at >= 0 && left[at] > (right[at] ?? 0)
}
