/** The figures of the measured parts, each with the runtime, the date and the load of the machine. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { machine } from './machine.mjs'

const FILE = fileURLToPath(new URL('results.json', import.meta.url))

/** Empty results. */
export const noResults = () => ({ machine: machine(), runtimes: {}, parts: {} })

/** The results of earlier runs. */
export const savedResults = () =>
  existsSync(FILE) ? adopted(JSON.parse(readFileSync(FILE, 'utf8')), machine()) : noResults()

/** Saved results, to be continued on a machine. Figures that were measured on another one name it: nothing is lost, and nothing passes for new. */
export function adopted(saved, current) {
  const [before, now] = [nameOf(saved.machine), nameOf(current)]
  for (const measured of Object.values(saved.parts).flatMap(Object.values)) {
    const on = measured.machine ?? before
    measured.machine = on === now ? undefined : on
  }
  return { ...saved, machine: current }
}

const nameOf = ({ CPU, System }) => `${CPU}, ${System}`

export function saveResults(results) {
  writeFileSync(FILE, `${JSON.stringify(results, undefined, 1)}\n`)
}

/** Adds the figures of a part on a runtime, replacing earlier ones. */
export function addFigures(results, part, { path, ...runtime }, measured) {
  results.runtimes[runtime.name] = runtime
  ;(results.parts[part] ??= {})[runtime.name] = measured
}
