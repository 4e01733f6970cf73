// Prints, as JSON, how many bytes of the heap the parts of a replay take that a program keeps.
import { readFileSync } from 'node:fs'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { replaySession } from '../../index.mjs'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc')
const [path, what] = process.argv.slice(2)
const TIMES = 20

/** Average heap size of a result of `make`, in bytes. */
async function heapOf(make) {
  await make()
  const kept = []
  collect()
  const before = process.memoryUsage().heapUsed
  for (let time = 0; time < TIMES; time++) kept.push(await make())
  collect()
  const bytes = process.memoryUsage().heapUsed - before
  // This use of `kept` keeps it alive until now.
  return Math.round(bytes / kept.length)
}

const parsed = () =>
  readFileSync(path, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line).payload)
const of = (pick) => heapOf(async () => pick(await replaySession(path)))
const figures =
  what === 'kept'
    ? {
        metadata: await of(({ metadata }) => metadata),
        warnings: await of(({ warnings }) => warnings),
        ids: await of(({ history }) => history.map(({ value }) => value.id)),
      }
    : { replay: await of(({ history }) => history), parse: await heapOf(parsed) }
process.stdout.write(JSON.stringify(figures))
