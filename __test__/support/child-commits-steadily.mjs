/**
 * Records sessions without a lock, one after the other, and commits to each every three milliseconds until its file is gone or it has been told to go
 * on. Messages: `{ filePath }` when a session has begun, then `{ acknowledged }`, the texts that commits were acknowledged for. Argument: the directory.
 */
import { setTimeout as wait } from 'node:timers/promises'
import tape from '../../index.js'

const [chatsDir] = process.argv.slice(2)
const content = (text) => ({ content: { speaker: 'human', blocks: [{ type: 'text', text }] } })

async function record(number) {
  let isOver = false
  const recorder = new tape.SessionRecordingService({
    sessionId: `${number}-steady`,
    projectHash: 'h',
    chatsDir,
    workspaceDirs: [],
    provider: 'p',
    model: 'm',
    onWarning: () => {
      isOver = true
    },
  })
  const acknowledged = []
  const commit = async (text) => {
    await recorder.commit('content', content(text))
    acknowledged.push(text)
  }
  await commit('first')
  process.send({ filePath: recorder.getFilePath() })
  const next = new Promise((resolve) => process.once('message', () => resolve((isOver = true))))
  for (let at = 0; !isOver; at++) {
    await commit(`${at}`).catch(() => {
      isOver = true
    })
    await wait(3)
  }
  await next
  await recorder.dispose()
  process.send({ acknowledged })
}

process.on('message', () => {})
for (let number = 0; process.connected; number++) await record(number)
