/**
 * Records the sample session anew: its events go through a real recorder, one after the other, into a new file.
 *
 * A session of six minutes should not take six minutes to record, so the clock that the recorder reads
 * (`Date.now`) is set to the time of each event of the sample, and restored afterwards.
 */
import { mkdtemp, readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/**
 * @param {typeof import('../index.mjs').SessionRecordingService} SessionRecordingService
 * @param {string} samplePath a complete and well-formed session file
 * @returns {Promise<string>} the path of the new recording, in a temporary directory of its own
 */
export async function recordAnew(SessionRecordingService, samplePath) {
  const [start, ...events] = await readEvents(samplePath)
  const chatsDir = await mkdtemp(join(tmpdir(), 'session-tape-demo-'))
  const clock = moveClockFrom(start.ts)
  try {
    const { sessionId, projectHash, workspaceDirs, provider, model } = start.payload
    const service = new SessionRecordingService({
      sessionId,
      projectHash,
      workspaceDirs,
      provider,
      model,
      chatsDir,
    })
    for (const event of events) {
      clock.moveTo(event.ts)
      record(service, event)
    }
    await service.flush()
    const filePath = service.getFilePath()
    await service.dispose()
    if (filePath === null) throw new Error('the recorder could not write; is the temporary directory writable?')
    return filePath
  } finally {
    clock.putBack()
  }
}

async function readEvents(path) {
  const lines = (await readFile(path, 'utf8')).split('\n').filter((line) => line.trim() !== '')
  return lines.map((line) => JSON.parse(line))
}

/** Records an event with the method that a CLI would call for it. */
function record(service, { type, payload }) {
  switch (type) {
    case 'content':
      return service.recordContent(payload.content)
    case 'compressed':
      return service.recordCompressed(payload.summary, payload.itemsCompressed)
    case 'rewind':
      return service.recordRewind(payload.itemsRemoved)
    case 'provider_switch':
      return service.recordProviderSwitch(payload.provider, payload.model)
    case 'session_event':
      return service.recordSessionEvent(payload.severity, payload.message)
    case 'directories_changed':
      return service.recordDirectoriesChanged(payload.directories)
    default:
      return service.enqueue(type, payload)
  }
}

function moveClockFrom(firstTs) {
  const realNow = Date.now
  let now = Date.parse(firstTs)
  Date.now = () => now
  return {
    moveTo: (ts) => void (now = Date.parse(ts)),
    putBack: () => void (Date.now = realNow),
  }
}
