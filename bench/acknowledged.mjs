/** Commits, each awaited or 64 at once; and the comparison of a history of 10 000 items with its file. */
import { mkdirSync, promises as fs, rmSync } from 'node:fs'
import { join } from 'node:path'
import { SessionRecordingService, resumeSession } from '../index.mjs'
import { inTurn, median, ratios } from './measure.mjs'
import { newRecorder } from './recorders.mjs'
import { DATA, contentPayloads } from './workloads.mjs'

const DIRECTORY = join(DATA, 'record')
const TOGETHER = 64
const ITEMS = 10_000

export async function benchAcknowledged({ rounds, scale, say }) {
  const records = Math.round(2000 * scale)
  say(`acknowledged recording: ${records} commits, ${ITEMS} items`)
  const [payload] = contentPayloads(1)
  const measured = await inTurn(
    {
      chain: () => withRecorder(payload, (service) => commitOneByOne(service, payload, records)),
      plain: () => appendOneByOne(payload, records),
      together: () => withRecorder(payload, (service) => commitTogether(service, payload, records)),
      ...reconciliations(),
    },
    rounds,
  )
  const perRecord = (name) => (median(measured[name]) / records) * 1000
  return {
    rows: [
      ['`commit`, each awaited', perRecord('chain')],
      ['`fs.promises.appendFile`, each awaited', perRecord('plain')],
      [`\`commit\`, ${TOGETHER} at once`, perRecord('together')],
    ],
    ratio: ratios(measured.plain, measured.chain),
    batches: Math.max(...(await countBatches(payload))),
    items: ITEMS,
    unchanged: median(measured.unchanged),
    recorded: median(measured.recorded),
    resumed: median(measured.resumed),
    copied: median(measured.copied),
  }
}

async function withRecorder(payload, task, options = {}) {
  const service = newRecorder(SessionRecordingService, DIRECTORY, options)
  service.enqueue('content', payload)
  await service.flush()
  const started = performance.now()
  const result = await task(service)
  const ms = performance.now() - started
  await service.dispose()
  rmSync(service.getFilePath())
  return result ?? ms
}

async function commitOneByOne(service, payload, records) {
  for (let i = 0; i < records; i++) await service.commit('content', payload)
}

async function commitTogether(service, payload, records) {
  for (let i = 0; i < records; i += TOGETHER) {
    await Promise.all(Array.from({ length: TOGETHER }, () => service.commit('content', payload)))
  }
}

async function appendOneByOne(payload, records) {
  mkdirSync(DIRECTORY, { recursive: true })
  const path = join(DIRECTORY, 'plain.jsonl')
  const started = performance.now()
  for (let seq = 1; seq <= records; seq++) {
    await fs.appendFile(
      path,
      `${JSON.stringify({ v: 1, seq, ts: new Date().toISOString(), type: 'content', payload })}\n`,
    )
  }
  const ms = performance.now() - started
  rmSync(path)
  return ms
}

/** How many batches each of 20 times 64 commits at once took: the watermark is told once a batch. */
function countBatches(payload) {
  let batches = 0
  const count = async (service) => {
    const counts = []
    for (let round = 0; round < 20; round++) {
      batches = 0
      await Promise.all(Array.from({ length: TOGETHER }, () => service.commit('content', payload)))
      counts.push(batches)
    }
    return counts
  }
  return withRecorder(payload, count, { onCommitWatermark: () => batches++ })
}

/**
 * Nothing has changed: the items of the call before, those that the recorder has recorded and that a session was resumed with at the first call, and
 * equal ones that were not seen before.
 */
function reconciliations() {
  const items = contentPayloads(1000).map(({ content }) => content)
  const history = Array.from({ length: ITEMS }, (_, index) => structuredClone(items[index % items.length]))
  const timed = (service, now) => {
    const started = performance.now()
    service.reconcile(now)
    return performance.now() - started
  }
  const reconciled = (make) => () =>
    withRecorder({ content: history[0] }, async (service) => {
      service.reconcile(history)
      await service.flush()
      return timed(service, make())
    })
  return {
    unchanged: reconciled(() => history),
    recorded: () => recorded(structuredClone(history), timed),
    resumed: () => recorded(history, timed, true),
    copied: reconciled(() => structuredClone(history)),
  }
}

/** The first call of a recorder that has recorded these items, or of one that continues its session. */
async function recorded(items, timed, isResumed = false) {
  const service = newRecorder(SessionRecordingService, DIRECTORY)
  for (const item of items) service.recordContent(item)
  await service.flush()
  const ms = isResumed ? undefined : timed(service, items)
  await service.dispose()
  const result = ms ?? (await timedResumption(service, timed))
  rmSync(service.getFilePath())
  return result
}

async function timedResumption(service, timed) {
  const resumed = await resumeSession({
    continueRef: service.getSessionId(),
    projectHash: service.getProjectHash(),
    chatsDir: service.getChatsDir(),
    currentProvider: 'anthropic',
    currentModel: 'claude-sonnet-4-5',
    workspaceDirs: [],
  })
  if (!resumed.ok) throw new Error(resumed.error)
  const ms = timed(resumed.recording, resumed.history)
  await resumed.recording.dispose()
  return ms
}
