/**
 * Durable recording: 64 events, each with a flush that promises durability, either all waiting at once or one after the other. Started as a script,
 * it does the former, so that `strace` can count the syncs.
 */
import { spawnSync } from 'node:child_process'
import { mkdirSync, promises as fs, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { SessionRecordingService } from '../index.mjs'
import { inTurn, median, ratios } from './measure.mjs'
import { newRecorder } from './recorders.mjs'
import { DATA, contentPayloads } from './workloads.mjs'

const SELF = fileURLToPath(import.meta.url)
const DIRECTORY = join(DATA, 'record')
export const FLUSHES = 64

export async function benchDurable({ rounds, say }) {
  say(`durable recording: ${FLUSHES} flushes`)
  const [payload] = contentPayloads(1)
  const measured = await inTurn(
    {
      together: () => withRecorder(payload, (service) => flushTogether(service, payload, FLUSHES)),
      oneByOne: () => withRecorder(payload, (service) => flushOneByOne(service, payload)),
      plain: () => appendAndSyncOneByOne(payload),
    },
    rounds,
  )
  const microsPerEvent = (name) => (median(measured[name]) / FLUSHES) * 1000
  return {
    rows: [
      [`session-tape, ${FLUSHES} flushes waiting together`, microsPerEvent('together')],
      ['session-tape, each flush awaited', microsPerEvent('oneByOne')],
      ['`FileHandle.appendFile` and `datasync`, each awaited', microsPerEvent('plain')],
    ],
    ratio: ratios(measured.oneByOne, measured.together),
    syncs: countSyncs(),
  }
}

async function withRecorder(payload, task) {
  const service = newRecorder(SessionRecordingService, DIRECTORY, { durability: 'fsync' })
  service.enqueue('content', payload)
  await service.flush()
  const started = performance.now()
  await task(service)
  const ms = performance.now() - started
  await service.dispose()
  rmSync(service.getFilePath())
  return ms
}

async function flushTogether(service, payload, flushes) {
  const waiting = []
  for (let i = 0; i < flushes; i++) {
    service.enqueue('content', payload)
    waiting.push(service.flush())
  }
  await Promise.all(waiting)
}

async function flushOneByOne(service, payload) {
  for (let i = 0; i < FLUSHES; i++) {
    service.enqueue('content', payload)
    await service.flush()
  }
}

async function appendAndSyncOneByOne(payload) {
  mkdirSync(DIRECTORY, { recursive: true })
  const filePath = join(DIRECTORY, `durable-${process.pid}.jsonl`)
  const file = await fs.open(filePath, 'a')
  const started = performance.now()
  for (let seq = 1; seq <= FLUSHES; seq++) {
    const ts = new Date(Date.now()).toISOString()
    await file.appendFile(`${JSON.stringify({ v: 1, seq, ts, type: 'content', payload })}\n`)
    await file.datasync()
  }
  const ms = performance.now() - started
  await file.close()
  rmSync(filePath)
  return ms
}

/** The number of syncs that the system saw for the 64 flushes (median of five attempts); `null` if strace is missing or fails. */
function countSyncs() {
  const tries = Array.from({ length: 5 }, () => syncsOf(FLUSHES) - syncsOf(0))
  return tries.some(Number.isNaN) ? null : median(tries)
}

function syncsOf(flushes) {
  const trace = ['-f', '-qq', '-e', 'trace=fsync,fdatasync', '-e', 'signal=none']
  const command = [...trace, process.execPath, SELF, String(flushes)]
  const { status, stderr } = spawnSync('strace', command, { encoding: 'utf8' })
  return status === 0 ? stderr.split('\n').filter((line) => /\bf(data)?sync\(/.test(line)).length : NaN
}

if (process.argv[1] === SELF) {
  const [payload] = contentPayloads(1)
  await withRecorder(payload, (service) => flushTogether(service, payload, Number(process.argv[2])))
}
