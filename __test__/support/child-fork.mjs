/**
 * Forks a session: on a disk that fills up, under names that are taken, or until it kills itself. Arguments: scenario, and as JSON the target,
 * the options, and details of the scenario; the source on standard input if the scenario mounts its own disk. Prints one JSON report.
 */
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, statfsSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'

const require = createRequire(import.meta.url)
const [scenario, ...given] = process.argv.slice(2)
const [target, options, detail] = given.map((text) => JSON.parse(text))

const unhandled = []
process.on('unhandledRejection', (reason) => unhandled.push(String(reason)))

/** Gives all random UUIDs of the library the same prefix. To be called before the library is loaded. */
function fixIds(prefix) {
  const crypto = require('node:crypto')
  let count = 0
  crypto.randomUUID = () => `${prefix}-${String(++count).padStart(12, '0')}`
}

/** Makes the process kill itself before step `number`. Steps are the calls that change the disk, and the calls of the addon. */
function killBefore(number) {
  let left = number
  const step = () => {
    if (left-- === 0) process.kill(process.pid, 'SIGKILL')
  }
  const counted = (object, name) => {
    const method = object[name]
    object[name] = function (...args) {
      step()
      return method.apply(this, args)
    }
  }
  const fs = require('node:fs/promises')
  for (const name of ['link', 'unlink', 'mkdir']) counted(fs, name)
  const { open } = fs
  fs.open = (path, flags, ...more) => {
    if (flags === 'wx') step()
    return open(path, flags, ...more)
  }
  const { native } = require('../../dist/addon.js')
  counted(native, 'forkSession')
  counted(native, 'replaySession')
}

const scenarios = {
  /** A disk that has room for the locks, but not for the new file. */
  async fullDisk() {
    const { chatsDir } = options
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'none', chatsDir])
    writeFileSync(target.source.filePath, readFileSync(0))
    const { bavail, bsize } = statfsSync(chatsDir)
    writeFileSync(join(chatsDir, 'filler'), Buffer.alloc(bavail * bsize - detail.free))
    const { forkSession } = require('../../index.js')
    const before = readdirSync(chatsDir)
    const full = await forkSession(target, options)
    const after = readdirSync(chatsDir)
    execFileSync('rm', [join(chatsDir, 'filler')])
    const again = await forkSession(target, options)
    await again.recording?.dispose()
    return { full, before, after, again: again.ok, unhandled }
  },

  /** Several forks at the same time of day, whose ids have the same prefix. */
  async sameNames() {
    fixIds(detail.prefix)
    Date.now = () => detail.now
    const { forkSession } = require('../../index.js')
    const paths = []
    for (let count = 0; count < detail.count; count++) {
      const { recording } = await forkSession(target, options)
      paths.push(recording.getFilePath())
      await recording.dispose()
    }
    return paths
  },

  async killed() {
    killBefore(detail.step)
    const { ok } = await require('../../index.js').forkSession(target, options)
    return ok
  },
}

console.log(JSON.stringify(await scenarios[scenario]()))
// The recorder of a fork that was not disposed of must not keep the process alive.
process.exit()
