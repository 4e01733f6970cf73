/** Repair: a session of which little is damaged, and a gigabyte in which an object begins at every byte and none ends. */
import { deepStrictEqual, strictEqual } from 'node:assert/strict'
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, statSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { repairSession, replaySession } from '../index.mjs'
import { inTurn, median, ratios, timed } from './measure.mjs'
import { DATA, PLAIN, replayFile } from './workloads.mjs'

/** One record in so many is torn, and the next one is in the same line. */
const TORN_EVERY = 1000

const BRACES_BYTES = 1e9

export async function benchRepair({ rounds, scale, say }) {
  const { filePath, records } = await replayFile(PLAIN, scale)
  const directory = mkdtempSync(join(DATA, 'repair-'))
  try {
    const [damaged, destination, braces] = ['damaged.jsonl', 'repaired.jsonl', 'braces.jsonl'].map((name) =>
      join(directory, name),
    )
    writeDamaged(filePath, damaged)
    const bytes = statSync(damaged).size
    say(`repair: ${Math.round(bytes / 1e6)} MB with ${Math.floor(records / TORN_EVERY)} torn records`)
    const repaired = async () => {
      rmSync(destination, { force: true })
      return timed(() => repairSession(damaged, destination))
    }
    const { value: receipt } = await repaired()
    const torn = receipt.fragments.length
    deepStrictEqual([receipt.recovered, receipt.records], [torn, records - torn])
    const replay = await replaySession(destination, undefined, { strict: true })
    strictEqual(replay.ok && replay.warnings.length, 0)
    const measured = await inTurn({ repair: repaired, replay: () => timed(() => replaySession(damaged)) }, rounds)
    const of = (name, key) => measured[name].map((one) => one[key])
    return {
      bytes,
      torn,
      ms: median(of('repair', 'ms')),
      cpuMs: median(of('repair', 'cpuMs')),
      ratio: ratios(of('repair', 'ms'), of('replay', 'ms')),
      braces: await repairBraces(braces, destination, Math.round(BRACES_BYTES * scale), say),
    }
  } finally {
    rmSync(directory, { recursive: true })
  }
}

function writeDamaged(source, destination) {
  const lines = readFileSync(source, 'utf8').split(/(?<=\n)/)
  const isTorn = (at) => at > 0 && at % TORN_EVERY === 0 && at + 1 < lines.length
  writeFileSync(destination, lines.map((line, at) => (isTorn(at) ? line.slice(0, line.length >> 1) : line)).join(''))
}

/** Once: it takes seconds, and nothing of it depends on what ran before. */
async function repairBraces(filePath, destination, bytes, say) {
  say(`repair: ${Math.round(bytes / 1e6)} MB of {`)
  const piece = Buffer.alloc(1 << 20, '{')
  const file = openSync(filePath, 'w')
  for (let left = bytes; left > 0; left -= piece.length) writeSync(file, piece, 0, Math.min(left, piece.length))
  closeSync(file)
  rmSync(destination, { force: true })
  const { ms, cpuMs, value } = await timed(() =>
    repairSession(filePath, destination).then(
      () => 'repaired',
      ({ code }) => code,
    ),
  )
  strictEqual(value, 'NoRecords')
  return { bytes, ms, cpuMs }
}
