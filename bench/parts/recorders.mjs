/**
 * Recorders that write events to a file: `start(directory)` returns `write(payload)`, which may return a promise to await, and `finish()`, which
 * resolves with the file's path when everything was handed to the system.
 */
import { once } from 'node:events'
import { mkdirSync, promises as fs } from 'node:fs'
import { join } from 'node:path'
import pino from 'pino'
import SonicBoom from 'sonic-boom'
import { SessionRecordingService } from '../../index.mjs'

/** What sonic-boom and pino call buffering: writes of at least 4 KiB. */
const BUFFERED = { sync: false, minLength: 4096 }

let files = 0

export function newRecorder(chatsDir, options = {}) {
  const sessionId = `bench${String(process.pid).slice(-6)}-${++files}`
  const config = {
    sessionId,
    projectHash: 'bench',
    workspaceDirs: ['/home/ada/project'],
    provider: 'p',
    model: 'm',
    chatsDir,
  }
  return new SessionRecordingService({ ...config, ...options })
}

export function sessionTape(directory) {
  const service = newRecorder(directory)
  const finish = async () => {
    await service.flush()
    await service.dispose()
    return service.getFilePath()
  }
  return { write: (payload) => service.enqueue('content', payload), finish }
}

/** Not a recorder, but the floor for everything that records JavaScript values. The time stamp is constant. */
export function stringifyAlone() {
  const line = envelopes(() => '2026-02-11T16:00:00.000Z')
  let length = 0
  return { write: (payload) => void (length += line(payload).length), finish: async () => length }
}

/** What every competitor must make of a payload before it can write it. */
function envelopes(now = () => new Date().toISOString()) {
  let seq = 0
  return (payload) => `${JSON.stringify({ v: 1, seq: ++seq, ts: now(), type: 'content', payload })}\n`
}

function freshFile(directory) {
  mkdirSync(directory, { recursive: true })
  return join(directory, `${process.pid}-${++files}.jsonl`)
}

const sonicBoom = (options) => (directory) => {
  const filePath = freshFile(directory)
  const boom = new SonicBoom({ dest: filePath, ...options })
  const line = envelopes()
  return { write: (payload) => void boom.write(line(payload)), finish: () => ended(boom, filePath) }
}

const pinoLogger = (options) => (directory) => {
  const filePath = freshFile(directory)
  const destination = pino.destination({ dest: filePath, ...options })
  const logger = pino({ base: null, timestamp: () => `,"ts":"${new Date().toISOString()}"` }, destination)
  let seq = 0
  const write = (payload) => logger.info({ v: 1, seq: ++seq, type: 'content', payload })
  return { write, finish: () => ended(destination, filePath) }
}

async function ended(boom, filePath) {
  if (boom.fd === -1) await once(boom, 'ready') // it opens in the background, and cannot be ended before that
  boom.end()
  await once(boom, 'close')
  return filePath
}

/** `sync`: written and synced with each event. */
export const appendFile =
  ({ sync = false } = {}) =>
  (directory) => {
    const filePath = freshFile(directory)
    const line = envelopes()
    const write = (payload) => fs.appendFile(filePath, line(payload), { flush: sync })
    return { write, finish: async () => filePath }
  }

export const RIVALS = {
  'sonic-boom, sync, 4 KiB': sonicBoom({ ...BUFFERED, sync: true }),
  'sonic-boom, async, 4 KiB': sonicBoom(BUFFERED),
  'pino, sync': pinoLogger({ sync: true }),
  'pino, async, 4 KiB': pinoLogger(BUFFERED),
}
