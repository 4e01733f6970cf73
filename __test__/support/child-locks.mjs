/**
 * Executes the commands about locks that its parent sends as messages `[number, command, ...arguments]`, and answers each by
 * `[number, answer]`. Its timers of five minutes run only when the parent says so.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { spawn } from 'node:child_process'
import { createRequire } from 'node:module'

const require = createRequire(import.meta.url)
const fs = require('node:fs/promises')
const plainFs = require('node:fs')

// Steps are the calls that change the disk. The process, or one of its operations, can be stopped before each of them.
let stepsLeft = Infinity
const operation = new AsyncLocalStorage()
async function step() {
  if (--stepsLeft < 0) process.kill(process.pid, 'SIGKILL')
  const stoppable = operation.getStore()
  if (stoppable && stoppable.stepsLeft-- === 0) await stoppable.stop()
}
function countSteps(object, names, path) {
  for (const name of names) {
    const method = object[name]
    object[name] = async function (...args) {
      await step()
      const result = await method.apply(this, args)
      // Each write writes a whole file from its beginning.
      changes.push(name === 'write' ? ['write', path, args[0].toString()] : [name, ...args.slice(0, 2)])
      return result
    }
  }
}
/** All changes of the disk and the syncs between them, in order. */
const changes = []
const paths = new Map()
const { open } = fs
fs.open = async (path, flags, ...more) => {
  if (flags === 'wx') await step()
  const handle = await open(path, flags, ...more)
  if (flags === 'wx') changes.push(['create', path])
  paths.set(handle.fd, path)
  countSteps(handle, ['write'], path)
  return handle
}
countSteps(fs, ['link', 'unlink', 'mkdir'])
const { fsync } = plainFs
plainFs.fsync = (fd, done) =>
  fsync(fd, (error) => {
    if (!error) changes.push(['sync', paths.get(fd)])
    done(error)
  })

/** The timers of five minutes, which run only on demand. */
const looks = new Set()
const { setTimeout, clearTimeout } = globalThis
globalThis.setTimeout = (look, ms, ...args) => {
  if (ms !== 5 * 60 * 1000) return setTimeout(look, ms, ...args)
  const timer = { look, unref() {} }
  looks.add(timer)
  return timer
}
globalThis.clearTimeout = (timer) => looks.delete(timer) || clearTimeout(timer)

const { acquireSessionLock, cleanUpLocks, removeStaleLock, isSessionLocked } = require('../../index.js')
const { now } = Date
/** The lock that was acquired last, and the last one in each directory. */
let held
const heldIn = new Map()
/** Operations that were stopped in the middle. */
const stopped = new Map()

const commands = {
  async acquire(directory, id) {
    held = await acquireSessionLock(directory, id)
    heldIn.set(directory, held)
    return 'held'
  },
  async acquireAt(time, directory, id) {
    while (now() < time) await new Promise((resolve) => setImmediate(resolve))
    return commands.acquire(directory, id)
  },
  async release(directory) {
    await (directory === undefined ? held : heldIn.get(directory)).release()
    return 'released'
  },
  /** Starts a process that outlives this one, in the way that programs start servers. Resolves to its pid. */
  startServer: () => {
    const server = spawn(process.execPath, ['-e', 'setTimeout(() => {}, 60_000)'], { detached: true, stdio: 'ignore' })
    server.unref()
    return server.pid
  },
  owns: (directory) => (directory === undefined ? held : heldIn.get(directory)).ownsLock(),
  isLocked: isSessionLocked,
  cleanUp: cleanUpLocks,
  removeStale: removeStaleLock,
  /** Starts a command and stops it after `steps` steps. Resolves to `'stopped'`, or to the answer if the command has ended by then. */
  begin: (key, steps, command, ...args) =>
    new Promise((resolve) => {
      let goOn = () => {}
      const stop = () =>
        new Promise((resume) => {
          goOn = resume
          resolve('stopped')
        })
      const outcome = operation.run({ stepsLeft: steps, stop }, () => answerTo(command, args))
      stopped.set(key, { goOn: () => goOn(), outcome })
      outcome.then(resolve)
    }),
  /** Resumes a stopped command. Resolves to its answer. */
  finish(key) {
    const { goOn, outcome } = stopped.get(key)
    goOn()
    return outcome
  },
  /** The changes made to the disk since the last call. */
  changes: () => changes.splice(0),
  /** Makes all processes appear dead. */
  allDead() {
    process.kill = () => {
      throw Object.assign(new Error('none'), { code: 'ESRCH' })
    }
    return true
  },
  /** Moves the clock of this process. */
  shiftClock(by) {
    Date.now = () => now() + by
    return true
  },
  /** Runs the timers of all locks, as after five minutes. Resolves to whether there were any. */
  async look() {
    const due = [...looks]
    looks.clear()
    await Promise.all(due.map(({ look }) => look()))
    return due.length > 0
  },
  /** Allows the process `at` more steps; it kills itself before the next one. */
  arm(at) {
    stepsLeft = at
    return true
  },
}

async function answerTo(command, args) {
  try {
    return await commands[command](...args)
  } catch (error) {
    return error.code ?? String(error)
  }
}

process.on('message', async ([number, command, ...args]) => process.send([number, await answerTo(command, args)]))
