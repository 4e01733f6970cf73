/**
 * A process that gives and removes names, by messages `[number, command, ...arguments]`, and answers each by `[number, answer]`. It can kill itself
 * before a step that changes something on the disk.
 */
import { createRequire } from 'node:module'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const require = createRequire(import.meta.url)
const fs = require('node:fs/promises')

let stepsLeft = Infinity
function step() {
  if (--stepsLeft < 0) process.kill(process.pid, 'SIGKILL')
}
/** Files before whose next append the process kills itself. */
let deadly = []
// `stat` is called before each append to a closed file; the others change the disk.
for (const name of ['stat', 'link', 'unlink', 'truncate']) {
  const original = fs[name]
  fs[name] = (...args) => {
    if (name === 'stat' && deadly.includes(args[0])) stepsLeft = 0
    step()
    return original(...args)
  }
}

const tape = require('../../index.js')
const recorders = new Map()
const keyOf = (chats, id) => join(chats, id)

const pathOf = (chats, id) => join(chats, `session-${id}.jsonl`)
const placeOf = (chats, id) =>
  recorders.get(keyOf(chats, id)) ?? { filePath: pathOf(chats, id), chatsDir: chats, sessionId: id }

const commands = {
  /** Opens a session that has a file: locks it and continues the file. */
  async open(chats, hash, id) {
    const recorder = await tape.SessionRecordingService.createLocked({
      sessionId: id,
      projectHash: hash,
      chatsDir: chats,
      workspaceDirs: [],
      provider: 'p',
      model: 'm',
    })
    const lines = readFileSync(pathOf(chats, id), 'utf8').trimEnd().split('\n')
    recorder.initializeForResume(pathOf(chats, id), JSON.parse(lines.at(-1)).seq)
    for (const method of ['createCheckpoint', 'renameCheckpoint', 'deleteCheckpoint', 'setSessionName']) {
      const original = recorder[method]
      recorder[method] = async (...args) => {
        step()
        const result = await original(...args)
        step()
        return result
      }
    }
    recorders.set(keyOf(chats, id), recorder)
  },
  async close(chats, id) {
    await recorders.get(keyOf(chats, id))?.dispose()
    recorders.delete(keyOf(chats, id))
  },
  say(chats, id, text) {
    recorders.get(keyOf(chats, id)).recordContent({ speaker: 'human', blocks: [{ type: 'text', text }] })
  },
  /** At `time`, calls a function of the library on a session: an open one if it was opened here. */
  async call(time, chats, id, name, ...args) {
    while (Date.now() < time) await new Promise((resolve) => setImmediate(resolve))
    return tape[name](placeOf(chats, id), ...args)
  },
  /** Allows the process `at` more steps; it kills itself before the next one. Returns how many were left. */
  arm(at) {
    const left = stepsLeft
    stepsLeft = at ?? Infinity
    return left
  },
  killBeforeAppend(paths) {
    deadly = paths
  },
}

process.on('message', async ([number, command, ...args]) => {
  try {
    process.send([number, { value: (await commands[command](...args)) ?? null }])
  } catch (error) {
    process.send([number, { error: `${error.name}: ${error.message}` }])
  }
})
