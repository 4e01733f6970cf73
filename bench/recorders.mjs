/**
 * Recorders that write events to a file, with a common interface: `start(directory)` returns `write(payload)`, which may return a promise to await,
 * and `finish()`, which resolves with the file's path when everything was handed to the system.
 */
import { appendFileSync, mkdirSync, promises as fs } from 'node:fs'
import { once } from 'node:events'
import { join } from 'node:path'
import pino from 'pino'
import SonicBoom from 'sonic-boom'

/** What sonic-boom and pino call buffering: writes of at least 4 KiB. */
const MIN_LENGTH = 4096

let files = 0

export function newRecorder(SessionRecordingService, chatsDir, options = {}) {
  return new SessionRecordingService({
    sessionId: `bench${String(process.pid).slice(-6)}-${++files}`,
    projectHash: 'bench',
    workspaceDirs: ['/home/ada/project'],
    provider: 'anthropic',
    model: 'claude-sonnet-4-5',
    chatsDir,
    ...options,
  })
}

function freshFile(directory) {
  mkdirSync(directory, { recursive: true })
  return join(directory, `${process.pid}-${++files}.jsonl`)
}

/** What every competitor must make of a payload before it can write it. */
function envelopes() {
  let seq = 0
  return (payload) => ({ v: 1, seq: ++seq, ts: new Date(Date.now()).toISOString(), type: 'content', payload })
}

export const sessionTape = (SessionRecordingService) => ({
  title: 'session-tape',
  /** The number of lines that are not written events: session_start. */
  extraLines: 1,
  start(directory) {
    const service = newRecorder(SessionRecordingService, directory)
    return {
      write: (payload) => service.enqueue('content', payload),
      async finish() {
        await service.flush()
        const filePath = service.getFilePath()
        await service.dispose()
        return filePath
      },
    }
  },
})

/** Not a recorder, but the floor for everything that records JavaScript values. The time stamp is constant. */
export const stringifyAlone = {
  title: '`JSON.stringify` of the envelope alone',
  writesNothing: true,
  start() {
    let seq = 0
    let length = 0
    return {
      write(payload) {
        length += JSON.stringify({
          v: 1,
          seq: ++seq,
          ts: '2026-02-11T16:00:00.000Z',
          type: 'content',
          payload,
        }).length
      },
      finish: async () => length,
    }
  },
}

const sonicBoom = (title, options) => ({
  title,
  start(directory) {
    const filePath = freshFile(directory)
    const boom = new SonicBoom({ dest: filePath, ...options })
    const envelope = envelopes()
    return {
      write: (payload) => void boom.write(`${JSON.stringify(envelope(payload))}\n`),
      finish: () => ended(boom, filePath),
    }
  },
})

const pinoLogger = (title, options) => ({
  title,
  start(directory) {
    const filePath = freshFile(directory)
    const destination = pino.destination({ dest: filePath, ...options })
    const timestamp = () => `,"ts":"${new Date(Date.now()).toISOString()}"`
    const logger = pino({ base: null, timestamp }, destination)
    let seq = 0
    return {
      write: (payload) => logger.info({ v: 1, seq: ++seq, type: 'content', payload }),
      finish: () => ended(destination, filePath),
    }
  },
})

async function ended(boom, filePath) {
  if (boom.fd === -1) await once(boom, 'ready') // it opens in the background, and cannot be ended before that
  boom.end()
  await once(boom, 'close')
  return filePath
}

const appendFile = {
  title: '`fs.promises.appendFile`, each awaited',
  slow: true,
  start(directory) {
    const filePath = freshFile(directory)
    const envelope = envelopes()
    return {
      write: (payload) => fs.appendFile(filePath, `${JSON.stringify(envelope(payload))}\n`),
      finish: async () => filePath,
    }
  },
}

const appendSync = {
  title: '`fs.appendFileSync`',
  start(directory) {
    const filePath = freshFile(directory)
    const envelope = envelopes()
    return {
      write: (payload) => appendFileSync(filePath, `${JSON.stringify(envelope(payload))}\n`),
      finish: async () => filePath,
    }
  },
}

export const RIVALS = {
  sonicSync: sonicBoom('sonic-boom, sync, 4 KiB', { sync: true, minLength: MIN_LENGTH }),
  sonicAsync: sonicBoom('sonic-boom, async, 4 KiB', { sync: false, minLength: MIN_LENGTH }),
  pinoSync: pinoLogger('pino, sync', { sync: true }),
  pinoAsync: pinoLogger('pino, async, 4 KiB', { sync: false, minLength: MIN_LENGTH }),
  appendSync,
  appendFile,
}
