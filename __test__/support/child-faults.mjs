/**
 * Records to a disk that fails: run as another user, under a limit, or in a mount namespace of its own. Prints one
 * JSON report. Arguments: scenario, directory; JSON on standard input.
 */
import { execFileSync } from 'node:child_process'
import {
  appendFileSync,
  chmodSync,
  closeSync,
  existsSync,
  openSync,
  readFileSync,
  readdirSync,
  rmSync,
  statfsSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import tape from '../../index.js'
import { configOf, pause, mountTmpfs } from './child-parts.mjs'

const { SessionRecordingService } = tape
const [scenario, directory] = process.argv.slice(2)
const input = JSON.parse(readFileSync(0, 'utf8') || 'null')

const unhandled = []
process.on('unhandledRejection', (reason) => unhandled.push(String(reason)))

const content = (text) => ({ speaker: 'human', blocks: [{ type: 'text', text }] })

function watchedRecorder(chatsDir) {
  const warnings = []
  const recorder = new SessionRecordingService(configOf(chatsDir, { onWarning: (warning) => warnings.push(warning) }))
  return { recorder, warnings }
}

const settled = (promise) =>
  promise.then(
    () => 'resolved',
    (error) => ({
      isError: error instanceof Error,
      code: error.code,
      syscall: error.syscall,
      path: error.path,
      errno: error.errno,
      message: error.message,
    }),
  )

/** Continues after the fault as a CLI would, and returns what it observed. */
async function report({ recorder, warnings }, flush, more = {}) {
  for (let turns = 0; warnings.length === 0 && turns < 1000; turns++) await pause(5)
  const active = recorder.isActive()
  const path = recorder.getFilePath()
  const bytes = path !== null && existsSync(path) ? readFileSync(path) : null
  recorder.recordContent(content('after the fault'))
  const later = await settled(recorder.flush())
  const disposed = await settled(recorder.dispose())
  await pause(30)
  const grown = bytes !== null && !readFileSync(path).equals(bytes)
  return {
    flush,
    later,
    disposed,
    active,
    warnings,
    path,
    file: bytes?.toString('base64') ?? null,
    grown,
    unhandled,
    ...more,
  }
}

/** A recorder that has recorded without an error so far. */
async function goingWell(chatsDir) {
  const watched = watchedRecorder(chatsDir)
  watched.recorder.recordContent(content('all is well'))
  await watched.recorder.flush()
  return watched
}

/** One more record, flushed in the same turn. */
async function oneMore(watched, text = 'one more') {
  watched.recorder.recordContent(content(text))
  return settled(watched.recorder.flush())
}

/** Writes a file that leaves `free` bytes of the file system, in whole pages. */
function fillUp(free) {
  const { bavail, bsize } = statfsSync(directory)
  writeFileSync(join(directory, 'filler'), Buffer.alloc(Math.max(0, bavail * bsize - free)))
}

/** Enqueues one event per text. Events are buffered until the first content, which hands all of them over at once. */
function bufferedEvents(recorder, texts) {
  for (const text of texts) recorder.enqueue('note', { text })
}

const scenarios = {
  async fullUnderALock() {
    mountTmpfs(directory, '64k')
    const config = configOf(directory, { sessionId: 'locked' })
    const recorder = await SessionRecordingService.createLocked(config)
    recorder.recordContent(content('all is well'))
    await recorder.flush()
    fillUp(0)
    recorder.recordContent(content('x'.repeat(10_000)))
    const disposed = await settled(recorder.dispose())
    return {
      disposed,
      unhandled,
      isLocked: await tape.isSessionLocked(directory, 'locked'),
      names: readdirSync(directory).filter((name) => name.includes('.lock')),
    }
  },

  async unwritableParent() {
    chmodSync(directory, 0o555)
    const watched = watchedRecorder(join(directory, 'chats'))
    return report(watched, await oneMore(watched))
  },

  async fileMadeReadOnly() {
    const watched = await goingWell(directory)
    chmodSync(watched.recorder.getFilePath(), 0o444)
    return report(watched, await oneMore(watched))
  },

  async fifoInPlace() {
    const watched = await goingWell(directory)
    const path = watched.recorder.getFilePath()
    unlinkSync(path)
    execFileSync('mkfifo', [path])
    const flush = await oneMore(watched)
    unlinkSync(path)
    return report(watched, flush)
  },

  async throwingOnWarning() {
    // The exception is the caller's: whether it surfaces as uncaught is not the point here.
    process.on('uncaughtException', () => {})
    let calls = 0
    const recorder = new SessionRecordingService(
      configOf(directory, {
        onWarning() {
          calls++
          throw new Error('from the caller')
        },
      }),
    )
    recorder.recordContent(content('fine'))
    await recorder.flush()
    unlinkSync(recorder.getFilePath())
    const flush = await oneMore({ recorder })
    for (let turns = 0; calls === 0 && turns < 1000; turns++) await pause(5)
    const active = recorder.isActive()
    recorder.recordContent(content('ignored'))
    const disposed = await settled(recorder.dispose())
    await pause(30)
    return { calls, active, flush, disposed }
  },

  async sizeLimit({ texts, large }) {
    const watched = watchedRecorder(directory)
    // The next flush is requested while the writer is busy with this record, so that it is pending when its own write fails.
    watched.recorder.recordContent(content(large))
    const fits = settled(watched.recorder.flush())
    bufferedEvents(watched.recorder, texts)
    const exceeds = settled(watched.recorder.flush())
    return report(watched, await exceeds, { fits: await fits })
  },

  async noDescriptors() {
    const watched = watchedRecorder(directory)
    const open = []
    try {
      for (;;) open.push(openSync('/dev/null'))
    } catch {
      // No descriptor is left.
    }
    const flush = await oneMore(watched)
    for (const descriptor of open) closeSync(descriptor)
    return report(watched, flush)
  },

  async full({ texts }) {
    mountTmpfs(directory, '64k')
    const watched = watchedRecorder(join(directory, 'chats'))
    bufferedEvents(watched.recorder, texts)
    return report(watched, await oneMore(watched))
  },

  async spaceComesBack({ text }) {
    mountTmpfs(directory, '64k')
    const watched = await goingWell(directory)
    fillUp(4096)
    const flush = await oneMore(watched, text)
    const before = await report(watched, flush)
    rmSync(join(directory, 'filler'))
    const resumed = watchedRecorder(directory)
    resumed.recorder.initializeForResume(before.path, 2)
    resumed.recorder.recordContent(content('there is room again'))
    await resumed.recorder.dispose()
    return { ...before, resumed: readFileSync(before.path).toString('base64'), resumedWarnings: resumed.warnings }
  },

  async madeReadOnly() {
    mountTmpfs(directory, '64k')
    const watched = await goingWell(directory)
    execFileSync('mount', ['-o', 'remount,ro', directory])
    return report(watched, await oneMore(watched))
  },

  async tornByAnotherOnAFullOne() {
    mountTmpfs(directory, '64k')
    const watched = await goingWell(directory)
    appendFileSync(watched.recorder.getFilePath(), '{"v":1,"seq":3,"ts":"2026')
    fillUp(4096)
    return report(watched, await oneMore(watched, 'x'.repeat(20_000)))
  },
}

console.log(JSON.stringify(await scenarios[scenario](input)))
