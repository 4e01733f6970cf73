import { readdirSync, readFileSync, rmSync, statfsSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import tape from '../../index.js'
import { configOf, mountTmpfs } from './child-parts.mjs'

const [scenario, chats, kind] = process.argv.slice(2)
const HASH = 'h'
const PAGE = 4096

const unhandled = []
process.on('unhandledRejection', (reason) => unhandled.push(String(reason)))

const CALLS = {
  createCheckpoint: (place) => tape.createCheckpoint(place, HASH, 'x', { overwrite: true }),
  renameCheckpoint: (place) => tape.renameCheckpoint(place, HASH, 'cp-own', 'x', { overwrite: true }),
  nameSession: (place) => tape.nameSession(place, HASH, 'x', { overwrite: true }),
  deleteCheckpoint: (place) => tape.deleteCheckpoint(place, HASH, 'cp-own'),
  removeName: (place) => tape.nameSession(place, HASH, null),
}
const givesName = (call) => Object.keys(CALLS).indexOf(call) < 3

const pathOf = (id) => join(chats, `session-${id}.jsonl`)

/** Writes a session, padded to `size` bytes unless it needs more. */
function writeSession(id, events, size = 0) {
  const start = { sessionId: id, projectHash: HASH, workspaceDirs: [], provider: 'p', model: 'm', startTime: 't' }
  const line = (seq, type, payload) => `${JSON.stringify({ v: 1, seq, ts: 't', type, payload })}\n`
  const lines = (text) =>
    [
      ['session_start', start],
      ['content', { content: { speaker: 'human', blocks: [{ type: 'text', text }] } }],
      ...events,
    ]
      .map(([type, payload], at) => line(at + 1, type, payload))
      .join('')
  writeFileSync(pathOf(id), lines('ä'.concat('a'.repeat(Math.max(0, size - Buffer.byteLength(lines('ä')))))))
}

const contents = () =>
  Object.fromEntries(
    readdirSync(chats)
      .filter((name) => name.endsWith('.jsonl'))
      .map((name) => [name, readFileSync(join(chats, name), 'latin1')]),
  )
const locks = () => readdirSync(chats).filter((name) => /\.lock|\.tguard/.test(name))

async function placeOf(id) {
  if (kind === 'closed') return { filePath: pathOf(id), chatsDir: chats, sessionId: id }
  const recorder = await tape.SessionRecordingService.createLocked(configOf(chats, { sessionId: id, onWarning() {} }))
  recorder.initializeForResume(pathOf(id), 3)
  return recorder
}

async function namesOf() {
  const { targets } = await tape.listContinueTargets(chats, HASH)
  return JSON.stringify(
    targets
      .map((target) =>
        target.kind === 'session'
          ? [target.session.sessionId, target.session.name ?? null]
          : [target.checkpointId, target.checkpointName],
      )
      .sort(),
  )
}

const messageOf = (promise) =>
  promise.then(
    () => 'resolved',
    (error) => `${error.name}: ${error.message}`,
  )

/** The outcome of each operation. `prepare` writes the files, `squeeze` fills the disk once the place exists, `relax` frees it. */
async function outcomes(calls, prepare, squeeze, relax) {
  const found = {}
  for (const call of calls) {
    prepare()
    const [before, names] = [contents(), await namesOf()]
    const place = await placeOf('a')
    squeeze(call)
    const outcome = await messageOf(CALLS[call](place))
    if (kind === 'open') await place.dispose().catch(() => {})
    const left = locks()
    relax()
    const after = contents()
    const isSame = (name) =>
      kind === 'open' && name === 'session-a.jsonl' && scenario === 'limited'
        ? after[name].startsWith(before[name])
        : after[name] === before[name]
    found[call] = {
      outcome,
      isAsBefore: Object.keys(before).every(isSame),
      locks: left,
      unhandled,
      ...(scenario === 'limited' && { names: (await namesOf()) === names }),
    }
  }
  return found
}

/** Fills the disk except for `pages` pages, room for as many small files. */
function leave(pages) {
  const { bavail, bsize } = statfsSync(chats)
  writeFileSync(join(chats, 'filler'), Buffer.alloc(Math.max(0, bavail * bsize - pages * PAGE)))
}

const makeRoom = () => rmSync(join(chats, 'filler'), { force: true })
const OWN = [['checkpoint_created', { checkpointId: 'cp-own', name: 'Anfang' }]]

const scenarios = {
  limited: () =>
    outcomes(
      Object.keys(CALLS).filter(givesName),
      () => {
        writeSession('a', OWN)
        writeSession('b', [
          ['session_named', { name: 'x' }],
          ['checkpoint_created', { checkpointId: 'cp-b', name: 'x' }],
        ])
        writeSession('c', [['session_named', { name: 'x' }]], 65_536 - 30)
        // The name is taken from the oldest session last.
        utimesSync(pathOf('c'), 1, 1)
      },
      () => {},
      () => {},
    ),

  noRoomForALock() {
    mountTmpfs(chats, '128k')
    return outcomes(
      Object.keys(CALLS),
      () => writeSession('a', OWN),
      () => leave(0),
      makeRoom,
    )
  },

  /** Each lock takes a page; a record that is appended to full pages needs one more. */
  noRoomForARecord() {
    mountTmpfs(chats, '128k')
    const locksOf = (call) => (givesName(call) ? 1 : 0) + (kind === 'closed' ? 1 : 0)
    return outcomes(
      Object.keys(CALLS),
      () => writeSession('a', OWN, PAGE),
      (call) => leave(locksOf(call)),
      makeRoom,
    )
  },
}

console.log(JSON.stringify(await scenarios[scenario]()))
