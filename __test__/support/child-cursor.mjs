// Resumes the session of a directory with a cursor, and reads its rows. Arguments: the directory and the project. Prints how far the memory grew.
import { readFileSync } from 'node:fs'
import { setImmediate as turn } from 'node:timers/promises'
import { CONTINUE_LATEST, resumeSession } from '../../index.js'

const [chatsDir, projectHash] = process.argv.slice(2)
const request = {
  continueRef: CONTINUE_LATEST,
  projectHash,
  chatsDir,
  currentProvider: 'p',
  currentModel: 'm',
  workspaceDirs: [],
  history: 'cursor',
}

/** Memory of this process that is not a page of a file, which the system takes back at any time. */
const used = () => Number(/RssAnon:\s+(\d+)/.exec(readFileSync('/proc/self/status', 'latin1'))[1]) * 1024

let [peak, rows, characters] = [0, 0, 0]
const base = used()
const look = () => (peak = Math.max(peak, used()))
const timer = setInterval(look, 5)

const resumed = await resumeSession(request)
if (!resumed.ok) throw new Error(resumed.error)
look()
for await (const { blocks } of resumed.session.rows()) {
  rows += 1
  characters += blocks[0].text.length
  if (rows % 50 > 0) continue
  look()
  await turn()
}
clearInterval(timer)
const { historyLength } = resumed.session
await resumed.recording.dispose()
console.log(JSON.stringify({ growth: peak - base, rows, characters, historyLength }))
