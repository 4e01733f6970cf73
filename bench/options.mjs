/** The arguments of `npm run bench`. */
import { parseArgs } from 'node:util'
import { PARTS } from './parts.mjs'

/** Measured only on request: its files need 11 GB. */
const ON_REQUEST = 'large'
const WORKLOADS = Object.values(PARTS).flatMap(({ workloads }) => workloads)
const ROUNDS = 7
const QUICK = { rounds: 3, scale: 0.1 }

const OPTIONS = {
  quick: { type: 'boolean', default: false },
  large: { type: 'boolean', default: false },
  save: { type: 'boolean', default: false },
  list: { type: 'boolean', default: false },
  rounds: { type: 'string' },
  only: { type: 'string', multiple: true, default: [] },
  runtime: { type: 'string', multiple: true, default: [] },
  workload: { type: 'string', multiple: true, default: [] },
}

/**
 * The parts, runtimes and workloads to measure, and how. Throws an error with a message for the user if an argument is wrong.
 *
 * @param {string[]} args
 * @param {{ name: string }[]} runtimes the available runtimes
 */
export function readOptions(args, runtimes) {
  const { values } = parseArgs({ args, options: OPTIONS })
  const { quick, large, list } = values
  const isPart = values.only.length + values.runtime.length + values.workload.length > 0
  const isWhole = !quick && values.workload.length === 0 && values.rounds === undefined
  if (values.save && !isWhole) throw new Error('--save takes whole parts: neither --quick, --rounds nor --workload')
  const names = chosen('--only', values.only, Object.keys(PARTS), equals)
  const workloads = chosen('--workload', values.workload, WORKLOADS, beginsWith)
  const runtimeNames = chosen(
    '--runtime',
    values.runtime,
    runtimes.map(({ name }) => name),
    equals,
  )
  return {
    list,
    large,
    rounds: roundsOf(values.rounds) ?? (quick ? QUICK.rounds : ROUNDS),
    scale: quick ? QUICK.scale : 1,
    parts: names.filter((name) => (name !== ON_REQUEST || large || values.only.length > 0) && hasWork(name, workloads)),
    runtimes: runtimes.filter(({ name }) => runtimeNames.includes(name)),
    workloads,
    save: values.save || (isWhole && !isPart),
  }
}

const hasWork = (part, workloads) =>
  PARTS[part].workloads.length === 0 || PARTS[part].workloads.some((name) => workloads.includes(name))
const equals = (name, wanted) => name === wanted
/** `plain` selects both `plain-ascii` and `plain-wide`. */
const beginsWith = (name, wanted) => name === wanted || name.startsWith(`${wanted}-`)

/** The names that a repeatable option with lists selects; all names if the option is absent. */
function chosen(option, lists, names, isMeant) {
  const wanted = lists.flatMap((list) => list.split(','))
  const unknown = wanted.find((one) => !names.some((name) => isMeant(name, one)))
  if (unknown !== undefined) throw new Error(`${option} takes of ${names.join(', ')}, not '${unknown}'`)
  return wanted.length === 0 ? names : names.filter((name) => wanted.some((one) => isMeant(name, one)))
}

function roundsOf(text) {
  if (text === undefined) return undefined
  const rounds = Number(text)
  if (!Number.isSafeInteger(rounds) || rounds < 1) throw new Error(`--rounds takes a number from 1 on, not '${text}'`)
  return rounds
}
