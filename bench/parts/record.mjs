/** Recording: events of 500 bytes in bursts like those of a CLI, and events that are awaited. */
import { strictEqual } from 'node:assert/strict'
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { resumeSession } from '../../index.mjs'
import { collectGarbage, threadWork } from '../measure.mjs'
import { DATA, contentPayloads } from '../workloads.mjs'
import { RIVALS, appendFile, newRecorder, sessionTape, stringifyAlone } from './recorders.mjs'

const DIRECTORY = join(DATA, 'record')

/** Events in one turn of the event loop. */
const BURST = 100

export async function* record({ scale }) {
  const events = Math.round(50_000 * scale)
  for (const alphabet of ['ascii', 'wide']) {
    const payloads = contentPayloads(1000, alphabet)
    const cost = (start) => async () => (await recordAll(start, payloads, events)).threadMicros
    const other = ['JSON.stringify of the envelope alone', cost(stringifyAlone)]
    const what = `JavaScript thread, an event of 500 bytes, ${alphabet}`
    yield { what, unit: 'µs', ours: cost(sessionTape), other, target: '≤ 1.3×' }
  }
  const payloads = contentPayloads(1000)
  const speed = (start, count) => async () => (await recordAll(start, payloads, count)).perSecond
  const recorded = {
    what: 'events of 500 bytes, until the system has them',
    unit: 'events/s',
    ours: speed(sessionTape, events),
  }
  for (const [name, start] of Object.entries(RIVALS))
    yield { ...recorded, other: [name, speed(start, events)], target: '≥ 1×' }
  yield { ...recorded, other: ['fs.promises.appendFile, each awaited', speed(appendFile(), Math.round(events / 10))] }
}

/** Records events in bursts, and checks that the file has each. */
async function recordAll(start, payloads, events) {
  collectGarbage()
  const recorder = start(DIRECTORY)
  const before = threadWork()
  const started = performance.now()
  for (let i = 0; i < events; ) {
    for (const end = Math.min(i + BURST, events); i < end; i++) {
      const wait = recorder.write(payloads[i % payloads.length])
      if (wait !== undefined) await wait
    }
    await nextTurn()
  }
  const written = await recorder.finish()
  const ms = performance.now() - started
  const thread = threadWork(before).ms
  if (typeof written === 'string') checkFile(written, payloads, events)
  return { perSecond: (events / ms) * 1000, threadMicros: (thread / events) * 1000 }
}

/** Checks that no event was lost or altered, and deletes the file. A session's first line is no event. */
function checkFile(filePath, payloads, events) {
  const lines = readFileSync(filePath, 'utf8').trimEnd().split('\n')
  rmSync(filePath)
  strictEqual(lines.length, events + (lines[0].includes('session_start') ? 1 : 0), filePath)
  strictEqual(
    JSON.stringify(JSON.parse(lines.at(-1)).payload),
    JSON.stringify(payloads[(events - 1) % payloads.length]),
  )
}

const TOGETHER = 64
const ITEMS = 10_000

export async function* acknowledged({ scale }) {
  const count = Math.round(2000 * scale)
  const [payload] = contentPayloads(1)
  const commits = (count, together, options) =>
    recording(async (service) => {
      for (let i = 0; i < count; i += together)
        await Promise.all(Array.from({ length: together }, () => service.commit('content', payload)))
    }, options)
  const appends = (count, options) => ({
    async run() {
      const { write, finish } = appendFile(options)(DIRECTORY)
      for (let i = 0; i < count; i++) await write(payload)
      rmSync(await finish())
    },
  })
  const plain = ['fs.promises.appendFile, each awaited', appends(count)]
  yield { what: `${count} \`commit\`s, each awaited`, ours: commits(count, 1), other: plain, target: '≥ 3×' }
  yield { what: `${count} \`commit\`s, ${TOGETHER} at once`, ours: commits(count, TOGETHER), other: plain }
  const durable = { durability: 'fsync' }
  const synced = ['fs.promises.appendFile with flush, each awaited', appends(TOGETHER, { sync: true })]
  yield { what: `${TOGETHER} durable \`commit\`s at once`, ours: commits(TOGETHER, TOGETHER, durable), other: synced }
  yield* reconciliations()
}

/** A recorder with a first event, for what is timed; its file goes afterwards. */
function recording(run, options, prepare = () => {}) {
  let service
  return {
    async before() {
      service = newRecorder(DIRECTORY, options)
      service.enqueue('content', contentPayloads(1)[0])
      await service.flush()
      await prepare(service)
    },
    run: () => run(service),
    async after() {
      await service.dispose()
      rmSync(service.getFilePath())
    },
  }
}

/** Nothing has changed. */
async function* reconciliations() {
  const items = contentPayloads(1000).map(({ content }) => content)
  const history = Array.from({ length: ITEMS }, (_, index) => structuredClone(items[index % items.length]))
  const target = '≤ 20 ms'
  const reconciled = async (service) => {
    service.reconcile(history)
    await service.flush()
  }
  const again = recording((service) => service.reconcile(history), {}, reconciled)
  yield { what: `\`reconcile\` of ${ITEMS} items, once more`, ours: again, target }
  const copy = structuredClone(history)
  yield {
    what: 'the same, of equal items not seen before',
    ours: recording((service) => service.reconcile(copy), {}, reconciled),
  }
  yield { what: 'the first call after `resumeSession`', ours: resumption(history), target }
}

function resumption(history) {
  let resumed
  return {
    async before() {
      const service = newRecorder(DIRECTORY)
      for (const item of history) service.recordContent(item)
      await service.dispose()
      resumed = await resumeSession({
        continueRef: service.getSessionId(),
        projectHash: service.getProjectHash(),
        chatsDir: service.getChatsDir(),
        currentProvider: 'p',
        currentModel: 'm',
        workspaceDirs: [],
      })
      if (!resumed.ok) throw new Error(resumed.error)
    },
    run: () => resumed.recording.reconcile(resumed.history),
    async after() {
      await resumed.recording.dispose()
      rmSync(resumed.recording.getFilePath())
    },
  }
}
