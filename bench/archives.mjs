/**
 * Archives: how fast a session is archived, with the verification, and restored; how fast an archived one replays; and a dry run of `keepSessions`.
 *
 * This file is both: imported, it measures; started as a script, it is a process whose memory is measured.
 */
import { deepStrictEqual, ok } from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { copyFileSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { archiveSession, keepSessions, listSessions, replaySession, restoreSession } from '../index.mjs'
import { inTurn, median, ratios, timed } from './measure.mjs'
import { peakOf } from './memory.mjs'
import { DATA, PLAIN, headerFiles, replayFile } from './workloads.mjs'

const SELF = fileURLToPath(import.meta.url)

/** Every session of the listing would be archived. */
const POLICY = { minAge: 0, archiveAfter: 0 }

export async function benchArchives({ rounds, scale, say }) {
  const { filePath: source } = await replayFile(PLAIN, scale)
  const directory = mkdtempSync(join(DATA, 'archives-'))
  try {
    const [filePath, archived, byZstd] = ['one.jsonl', 'two.jsonl', 'one.zst'].map((name) => join(directory, name))
    for (const path of [filePath, archived]) copyFileSync(source, path)
    const { bytes, archivedBytes, filePath: archive } = await archiveSession(archived)
    deepStrictEqual(await replaySession(archive), await replaySession(filePath))
    say(`archives: ${Math.round(bytes / 1e6)} MB`)
    const sides = {
      archive: async () => {
        const measured = await timed(() => archiveSession(filePath))
        await restoreSession(filePath)
        return measured
      },
      restore: async () => {
        await archiveSession(filePath)
        return timed(() => restoreSession(filePath))
      },
      ...(hasZstd() && {
        zstd: () => timed(async () => execFileSync('zstd', ['-q', '-f', '-9', '-T2', filePath, '-o', byZstd])),
      }),
      replay: () => timed(() => replaySession(filePath)),
      replayArchived: () => timed(() => replaySession(archive)),
    }
    const measured = await inTurn(sides, rounds)
    const times = (name) => measured[name].map(({ ms }) => ms)
    return {
      bytes,
      archivedBytes,
      zstdBytes: measured.zstd && statSync(byZstd).size,
      ms: Object.fromEntries(Object.keys(sides).map((name) => [name, median(times(name))])),
      cpuMs: Object.fromEntries(
        Object.entries(measured).map(([name, all]) => [name, median(all.map(({ cpuMs }) => cpuMs))]),
      ),
      zstdRatio: measured.zstd && ratios(times('zstd'), times('archive')),
      replayRatio: ratios(times('replayArchived'), times('replay')),
      peak: peakOfJobs(filePath),
      dryRun: await dryRun({ rounds, scale, say }),
    }
  } finally {
    rmSync(directory, { recursive: true })
  }
}

async function dryRun({ rounds, scale, say }) {
  const sessions = Math.round(10_000 * scale)
  say(`archives: a dry run over ${sessions} sessions`)
  const directory = dirname(headerFiles(sessions)[0])
  const foresee = () => keepSessions(directory, POLICY, { dryRun: true })
  deepStrictEqual((await foresee()).archived.length, sessions)
  const { list, dry } = await inTurn(
    { list: () => timed(() => listSessions(directory)), dry: () => timed(foresee) },
    rounds,
  )
  const [ms, cpuMs] = ['ms', 'cpuMs'].map((key) => [list, dry].map((all) => all.map((one) => one[key])))
  return {
    sessions,
    ms: ms.map(median),
    cpuMs: cpuMs.map(median),
    ratio: ratios(ms[1], ms[0]),
    cpuRatio: ratios(cpuMs[1], cpuMs[0]),
  }
}

const hasZstd = () => spawnSync('zstd', ['--version']).status === 0

const JOBS = { archive: archiveSession, restore: restoreSession }

/** Bytes that each job needs at its peak, in a process of its own. Both leave the session as it was before. */
function peakOfJobs(filePath) {
  const peak = {}
  for (const job of Object.keys(JOBS)) {
    peak[job] = JSON.parse(execFileSync(process.execPath, ['--expose-gc', SELF, job, filePath])).peak
  }
  return peak
}

if (process.argv[1] === SELF) {
  const [job, filePath] = process.argv.slice(2)
  ok(job in JOBS)
  process.stdout.write(JSON.stringify(await peakOf(() => JOBS[job](filePath))))
}
