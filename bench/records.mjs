/** Every record of a session: `readSessionRecords` compared with readline and `JSON.parse` of each line. */
import { createHash } from 'node:crypto'
import { createReadStream, statSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { readSessionRecords } from '../index.mjs'
import { inTurn, median, ratios, timed } from './measure.mjs'
import { REPLAY_WORKLOADS, replayFile } from './workloads.mjs'

const WORKLOADS = REPLAY_WORKLOADS.filter(({ name }) => /^(plain|small)-/.test(name))

async function* plainRecords(filePath) {
  for await (const line of createInterface({ input: createReadStream(filePath), crlfDelay: Infinity }))
    yield { record: JSON.parse(line) }
}

const SIDES = {
  plain: plainRecords,
  addon: (filePath) => readSessionRecords(filePath),
  history: (filePath) => readSessionRecords(filePath, { history: true }),
}

export async function benchRecords({ rounds, scale, say }) {
  const results = []
  for (const workload of WORKLOADS) {
    say(`records: ${workload.title}`)
    const { filePath, records } = await replayFile(workload, scale)
    await checkSame(filePath)
    const measured = await inTurn(
      Object.fromEntries(Object.entries(SIDES).map(([side, read]) => [side, () => timed(() => sumOf(read(filePath)))])),
      rounds,
    )
    const of = (side, figure) => measured[side].map((one) => one[figure])
    results.push({
      name: workload.name,
      title: workload.title,
      records,
      bytes: statSync(filePath).size,
      ratio: ratios(of('plain', 'ms'), of('addon', 'ms')),
      historyRatio: ratios(of('plain', 'ms'), of('history', 'ms')),
      cpuRatio: ratios(of('plain', 'cpuMs'), of('addon', 'cpuMs')),
      ms: Object.fromEntries(Object.keys(SIDES).map((side) => [side, median(of(side, 'ms'))])),
      stops: Object.fromEntries(Object.keys(SIDES).map((side) => [side, median(of(side, 'longestStopMs'))])),
    })
  }
  return results
}

/** Looks at each record, as any reader does. */
async function sumOf(records) {
  let sum = 0
  for await (const { record } of records) sum += record.seq
  return sum
}

async function checkSame(filePath) {
  const [plain, addon] = [await digest(SIDES.plain(filePath)), await digest(SIDES.addon(filePath))]
  if (plain !== addon) throw new Error(`${filePath}: the records differ`)
}

async function digest(records) {
  const hash = createHash('sha256')
  for await (const { record } of records) hash.update(JSON.stringify(record))
  return hash.digest('hex')
}
