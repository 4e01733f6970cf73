/** Does everything with sessions that takes a lock, in the directory of its argument, and reports what came of it. */
import { createRequire } from 'node:module'
import { readdirSync } from 'node:fs'

const {
  SessionRecordingService,
  createCheckpoint,
  deleteSession,
  forkSession,
  listContinueTargets,
  nameSession,
  renameCheckpoint,
  resumeSession,
} = createRequire(import.meta.url)('../../index.js')

const chatsDir = process.argv[2]
const project = { projectHash: 'p', chatsDir, workspaceDirs: [] }
const said = (text) => ({ speaker: 'human', blocks: [{ type: 'text', text }] })

const recorder = await SessionRecordingService.createLocked({
  ...project,
  sessionId: 'first',
  provider: 'acme',
  model: 'm',
})
recorder.recordContent(said('a'))
const { checkpointId } = await createCheckpoint(recorder, 'p', 'before')
await recorder.dispose()
const filePath = recorder.getFilePath()
const place = { filePath, chatsDir, sessionId: 'first' }
await renameCheckpoint(place, 'p', checkpointId, 'after')
await nameSession(place, 'p', 'a name')
const resumed = await resumeSession({ ...project, continueRef: 'first', currentProvider: 'acme', currentModel: 'm' })
const busy = await resumeSession({ ...project, continueRef: 'first', currentProvider: 'acme', currentModel: 'm' })
await resumed.recording?.dispose()
const target = (await listContinueTargets(chatsDir, 'p')).targets.find(({ kind }) => kind === 'checkpoint')
const forked = await forkSession(target, { ...project, provider: 'acme', model: 'm' })
await forked.recording?.dispose()
const deleted = forked.ok ? await deleteSession(forked.recording.getSessionId(), chatsDir, 'p') : forked

const outcome = ({ ok, code, error }) => (ok ? 'ok' : `${code}: ${error}`)
const names = readdirSync(chatsDir).filter((name) => !name.endsWith('.jsonl'))
console.log(
  JSON.stringify({ checkpoint: target.checkpointName, outcomes: [resumed, busy, forked, deleted].map(outcome), names }),
)
