/**
 * Exports, imports, forks, names and locks while the system fails (`system-faults.c`): each work with each fault, one after the other, in a
 * directory of its own, and once more without a fault if it failed. Argument: JSON of the root, the works, the faults, a session and a bundle.
 * Prints one JSON report.
 */
import { copyFileSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import tape from '../../index.js'

const { root, works, faults, session, sessionId, projectHash, bundle } = JSON.parse(process.argv[2])
const name = 'session-2026-02-11T16-00-71e871bd.jsonl'
const unhandled = []
process.on('unhandledRejection', (reason) => unhandled.push(String(reason)))

/** Each prepares its directory, works there, and then checks the files that are left. */
const WORKS = {
  directory: exportTo('out.cath-bundle'),
  archive: exportTo('out.cath-bundle.tar.zst'),
  import: {
    work: (directory) => tape.importBundle(bundle, join(directory, 'imported')),
    look: async (directory, left) =>
      left.includes('imported') ? (await tape.verifyBundle(join(directory, 'imported'))).ok : null,
  },
  fork: {
    prepare: (directory) => copyFileSync(session, join(directory, name)),
    work: async (directory) => {
      const target = { checkpointId: 'c1', checkpointName: 'c', source: { sessionId, filePath: join(directory, name) } }
      const forked = await tape.forkSession(target, {
        chatsDir: directory,
        projectHash,
        provider: 'p',
        model: 'm',
        workspaceDirs: [],
      })
      if (!forked.ok) throw Object.assign(new Error(forked.error), { code: forked.code })
      await forked.recording.dispose()
      await forked.lockHandle.release()
    },
    look: async (directory, left) => {
      const files = left.filter((file) => file.endsWith('.jsonl') && file !== name)
      const replays = await Promise.all(
        files.map((file) => tape.replaySession(join(directory, file), projectHash, { strict: true })),
      )
      const isSame = readFileSync(session).equals(readFileSync(join(directory, name)))
      return (
        isSame && replays.every((replay) => replay.ok && replay.warnings.length === 0 && replay.history.length === 2)
      )
    },
  },
  checkpoint: {
    prepare: (directory) => copyFileSync(session, join(directory, name)),
    work: (directory) =>
      tape.createCheckpoint(
        { filePath: join(directory, name), chatsDir: directory, sessionId },
        projectHash,
        'a new one',
      ),
    look: async (directory, left, isDone) => {
      const replay = await tape.replaySession(join(directory, name), projectHash, { strict: true })
      const names = (await tape.listCheckpoints(join(directory, name), projectHash)).map(
        (checkpoint) => checkpoint.name,
      )
      const isAsBefore = readFileSync(session).equals(readFileSync(join(directory, name)))
      return replay.ok && (names.includes('a new one') ? isDone : isAsBefore && !isDone)
    },
  },
  lock: {
    work: async (directory) => {
      const lock = await tape.acquireSessionLock(directory, sessionId)
      await lock.release()
    },
    look: () => null,
  },
}

function exportTo(destination) {
  return {
    work: (directory) => tape.exportBundle(session, join(directory, destination)),
    look: async (directory, left) =>
      left.includes(destination) ? (await tape.verifyBundle(join(directory, destination))).ok : null,
  }
}

/** The system's error code: that of the error itself, of its cause, or the one in the message of a failed replay. */
const codeOf = ({ code, cause, message }) => code ?? cause?.code ?? /^Failed to read file: ([A-Z]+):/.exec(message)?.[1]
const settled = (promise) =>
  promise.then(
    () => 'done',
    (error) => ({ code: codeOf(error), message: error.message }),
  )
const setFaults = (all) => (process.env.FAULTS = all)
const reports = []
for (const work of works) {
  for (const [at, fault] of faults.entries()) {
    const directory = join(root, `${work}-${at}`)
    setFaults('none')
    mkdirSync(directory, { recursive: true })
    WORKS[work].prepare?.(directory)
    setFaults(fault)
    const outcome = await settled(WORKS[work].work(directory))
    setFaults('none')
    const left = readdirSync(directory)
    const isWhole = await WORKS[work].look(directory, left, outcome === 'done')
    const again = outcome === 'done' ? null : await settled(WORKS[work].work(directory))
    reports.push({ work, fault, directory, outcome, left, isWhole, again })
  }
}
console.log(JSON.stringify({ reports, unhandled }))
