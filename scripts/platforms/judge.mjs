// Finds problems in an addon that was built for a platform.

import { ENTRY_POINT } from './targets.mjs'

/**
 * @param {object} facts what `inspect.py` found in the file
 * @param {object} expected what `targets.mjs` allows for the platform
 * @returns {string[]} the problems; empty if the addon can be published
 */
export function problemsOf(facts, expected) {
  return [
    ...kindProblems(facts, expected),
    ...minimumProblems(facts.minimum, expected.minimum),
    ...facts.libraries.filter((name) => !isAllowed(name, expected.libraries)).map((name) => `needs ${name}`),
    ...exportProblems(facts.exports),
    ...facts.runPaths.map((path) => `looks for libraries in ${path}`),
    ...facts.texts.map((text) => `names ${text}, a path of the machine that built it`),
    ...(facts.timestamp === 0 ? [] : ['holds the time at which it was built']),
  ]
}

function kindProblems({ format, architecture }, expected) {
  const isRight = format === expected.format && architecture === expected.architecture
  return isRight ? [] : [`is ${format} for ${architecture}, not ${expected.format} for ${expected.architecture}`]
}

function minimumProblems(found, { system, version }) {
  if (found.version === null) return [`does not say which ${system} it needs`]
  if (found.system !== system) return [`needs ${found.system} ${found.version}, not ${system}`]
  return isNewer(found.version, version) ? [`needs ${system} ${found.version}, newer than ${version}`] : []
}

function exportProblems(exports) {
  const missing = exports.includes(ENTRY_POINT) ? [] : [`does not export ${ENTRY_POINT}`]
  return [...missing, ...exports.filter((name) => name !== ENTRY_POINT).map((name) => `exports ${name}`)]
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
  const length = Math.max(left.length, right.length)
  for (let i = 0; i < length; i++) {
    const difference = (left[i] ?? 0) - (right[i] ?? 0)
    if (difference !== 0) return difference > 0
  }
  return false
}
