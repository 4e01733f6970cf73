/** The life of a session in a project of 200: listing, resuming, forking and naming it; and a listing of 10 000 sessions. */
import { deepStrictEqual } from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { copyFileSync, linkSync, mkdirSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { readHeaderWithReadline, replayFileWithReadline } from '../__test__/support/plain-engine.mjs'
import * as tape from '../index.mjs'
import { largeFile } from './large.mjs'
import { inTurn, median, ratios, timed } from './measure.mjs'
import { DATA, PROJECT_HASH, headerFiles, projectFiles } from './workloads.mjs'

export async function benchSessions({ rounds, scale, say }) {
  const { directory, paths } = projectFiles(Math.max(8, Math.round(200 * scale)))
  say(`sessions: ${paths.length} of 2 MB`)
  const targets = await benchTargets(directory, paths, rounds)
  say('sessions: 10 000 small ones')
  const listing = await benchListing(headerFiles(Math.round(10_000 * scale)), rounds)
  say('sessions: one of 200 MB, resumed and forked')
  const life = await benchLife(paths, Math.round(200e6 * scale), rounds)
  say('sessions: locks')
  return { sessions: paths.length, targets, listing, life, lock: await benchLock(rounds) }
}

// ---- Continue targets --------------------------------------------------------------------------

async function benchTargets(directory, paths, rounds) {
  const plain = () => pool(paths, 8, (path) => replayFileWithReadline(path, PROJECT_HASH, { strict: true }))
  const list = () => tape.listContinueTargets(directory, PROJECT_HASH)
  deepStrictEqual(seenIn((await list()).targets), seenOf(await plain()))
  const measured = await inTurn(
    {
      plain: () => timed(plain),
      addon: () => timed(list),
      idle: () => timed(() => sleep(300)),
    },
    rounds,
  )
  return summary(measured, ['addon'])
}

const bySession = (entries) => entries.sort(([one], [other]) => (one < other ? -1 : 1))

function seenIn(targets) {
  const sessions = new Map()
  for (const target of targets) {
    if (target.kind === 'session')
      sessions.set(target.session.sessionId, [target.session.sessionId, target.session.name, []])
    else sessions.get(target.source.sessionId)[2].push([target.checkpointId, target.checkpointName, target.sequence])
  }
  return bySession([...sessions.values()])
}

const seenOf = (replays) =>
  bySession(
    replays.map(({ metadata, sessionName, checkpoints }) => [
      metadata.sessionId,
      sessionName,
      checkpoints.map(({ checkpointId, name, sequence }) => [checkpointId, name, sequence]),
    ]),
  )

// ---- A listing ---------------------------------------------------------------------------------

async function benchListing(paths, rounds) {
  const directory = dirname(paths[0])
  const plain = (together) => async () => {
    const names = (await readdir(directory)).filter((name) => name.endsWith('.jsonl'))
    const found = await pool(names, together, async (name) => {
      const filePath = join(directory, name)
      const [header, { size, mtime }] = [await readHeaderWithReadline(filePath), await stat(filePath)]
      return { ...header, filePath, fileSize: size, lastModified: mtime }
    })
    return found.sort((a, b) => b.lastModified - a.lastModified || b.sessionId.localeCompare(a.sessionId))
  }
  const whole = () => pool(paths, 8, (path) => replayFileWithReadline(path, undefined, { strict: true }))
  const { sessions } = await tape.listSessions(directory)
  deepStrictEqual(
    sessions.map(({ sessionId, fileSize }) => [sessionId, fileSize]),
    (await plain(32)()).map(({ sessionId, fileSize }) => [sessionId, fileSize]),
  )
  const measured = await inTurn(
    {
      plain: () => timed(plain(32)),
      plainLoop: () => timed(plain(1)),
      addon: () => timed(() => tape.listSessions(directory)),
      plainWhole: () => timed(whole),
      addonWhole: () => timed(() => tape.listContinueTargets(directory, PROJECT_HASH)),
      idle: () => timed(() => sleep(300)),
    },
    rounds,
  )
  const looped = { ...measured, plain: measured.plainLoop }
  const named = { plain: measured.plainWhole, targets: measured.addonWhole, idle: measured.idle }
  return {
    files: paths.length,
    ...summary(measured, ['addon']),
    loop: summary(looped, ['addon']),
    whole: summary(named, ['targets']),
  }
}

// ---- Resuming, forking, naming -----------------------------------------------------------------

/** The project with an additional session of 200 MB. Its files are links, except for that one, which is recorded to and truncated again. */
async function benchLife(paths, bytes, rounds) {
  const chatsDir = join(DATA, 'sessions-life')
  rmSync(chatsDir, { recursive: true, force: true })
  mkdirSync(chatsDir)
  for (const path of paths) linkSync(path, join(chatsDir, basename(path)))
  const filePath = join(chatsDir, 'session-2026-02-11T16-00-00-bench-large.jsonl')
  copyFileSync(largeFile(bytes), filePath)
  const life = new Life(chatsDir, filePath)
  try {
    await life.addCheckpoint()
    return { bytes: statSync(filePath).size, ...(await life.measure(rounds)) }
  } finally {
    rmSync(chatsDir, { recursive: true, force: true })
  }
}

class Life {
  #chatsDir
  #filePath
  #header
  #checkpointId
  #size

  constructor(chatsDir, filePath) {
    this.#chatsDir = chatsDir
    this.#filePath = filePath
  }

  async addCheckpoint() {
    this.#header = await tape.readSessionHeader(this.#filePath)
    const place = { filePath: this.#filePath, chatsDir: this.#chatsDir, sessionId: this.#header.sessionId }
    ;({ checkpointId: this.#checkpointId } = await tape.createCheckpoint(place, PROJECT_HASH, 'near the end'))
    this.#size = statSync(this.#filePath).size
  }

  async measure(rounds) {
    const measured = await inTurn(
      {
        plain: () => timed(() => replayFileWithReadline(this.#filePath, PROJECT_HASH, { strict: true })),
        replayed: () => timed(() => tape.replaySession(this.#filePath, PROJECT_HASH, { strict: true })),
        resumed: () => this.#resume(),
        forked: () => this.#fork(),
        plainForked: () => this.#plainFork(),
      },
      rounds,
    )
    const ms = (side) => measured[side].map((one) => one.ms)
    const more = (one, other) => median(ms(one).map((value, round) => value - ms(other)[round]))
    return {
      ms: Object.fromEntries(Object.keys(measured).map((side) => [side, median(ms(side))])),
      more: more('resumed', 'replayed'),
      resumeRatio: ratios(ms('plain'), ms('resumed')),
      forkRatio: ratios(ms('plainForked'), ms('forked')),
      naming: await this.#measureNaming(rounds),
    }
  }

  /** The recorder appends an event about the resume, which is cut off afterwards. */
  async #resume() {
    const request = {
      continueRef: this.#header.sessionId,
      projectHash: PROJECT_HASH,
      chatsDir: this.#chatsDir,
      currentProvider: this.#header.provider,
      currentModel: this.#header.model,
      workspaceDirs: this.#header.workspaceDirs,
    }
    writeBack()
    const { value: resumed, ...measured } = await timed(() => tape.resumeSession(request))
    if (!resumed.ok) throw new Error(resumed.error)
    await resumed.recording.dispose()
    truncateSync(this.#filePath, this.#size)
    return measured
  }

  async #fork() {
    const source = { sessionId: this.#header.sessionId, filePath: this.#filePath }
    const target = { checkpointId: this.#checkpointId, checkpointName: '', source }
    const { provider, model, workspaceDirs } = this.#header
    const options = { chatsDir: this.#chatsDir, projectHash: PROJECT_HASH, provider, model, workspaceDirs }
    const { value: forked, ...measured } = await timed(() => tape.forkSession(target, options))
    if (!forked.ok) throw new Error(forked.error)
    const filePath = forked.recording.getFilePath()
    await forked.recording.dispose()
    rmSync(filePath)
    return measured
  }

  /** What a CLI does without the library: it replays, and records the items again. */
  async #plainFork() {
    const filePath = join(this.#chatsDir, 'plain-fork')
    const { value, ...measured } = await timed(async () => {
      const replayed = await replayFileWithReadline(this.#filePath, PROJECT_HASH, { strict: true })
      const lines = replayed.history.map((content, index) =>
        JSON.stringify({ v: 1, seq: index + 3, ts: new Date().toISOString(), type: 'content', payload: { content } }),
      )
      writeFileSync(filePath, `${lines.join('\n')}\n`, { flush: true })
      return (await replayFileWithReadline(filePath)).history
    })
    rmSync(filePath)
    return measured
  }

  async #measureNaming(rounds) {
    rmSync(this.#filePath)
    const sessionId = 'bench-naming'
    const config = {
      sessionId,
      projectHash: PROJECT_HASH,
      chatsDir: this.#chatsDir,
      workspaceDirs: [],
      provider: 'p',
      model: 'm',
    }
    const recorder = await tape.SessionRecordingService.createLocked(config)
    recorder.recordContent({ speaker: 'human', blocks: [] })
    await recorder.flush()
    let number = 0
    const create = () => tape.createCheckpoint(recorder, PROJECT_HASH, `free ${++number}`)
    const list = () => tape.listContinueTargets(this.#chatsDir, PROJECT_HASH)
    await list()
    const measured = await inTurn({ created: () => timed(create), listed: () => timed(list) }, rounds)
    await recorder.dispose()
    const ms = (side) => measured[side].map((one) => one.ms)
    return { created: median(ms('created')), listed: median(ms('listed')), ratio: ratios(ms('created'), ms('listed')) }
  }
}

async function benchLock(rounds) {
  const directory = join(DATA, 'locks')
  mkdirSync(directory, { recursive: true })
  const TIMES = 50
  const acquireAndRelease = async () => {
    for (let index = 0; index < TIMES; index++) await (await tape.acquireSessionLock(directory, 'bench')).release()
  }
  const { lock } = await inTurn({ lock: () => timed(acquireAndRelease) }, rounds)
  rmSync(directory, { recursive: true })
  return median(lock.map(({ ms }) => ms / TIMES))
}

/** Writes other sides' data back, so that it does not count as part of the lock's sync. */
const writeBack = () => spawnSync('sync')

// ---- Shared ------------------------------------------------------------------------------------

/** The time of the plain side, and for each of the others its time, the ratios of the rounds, and the longest stop. */
function summary(measured, sides) {
  const ms = (side) => measured[side].map((one) => one.ms)
  const worst = (side) => Math.max(...measured[side].map((one) => one.longestStopMs))
  const of = (side) => ({ ms: median(ms(side)), ratio: ratios(ms('plain'), ms(side)), stop: worst(side) })
  return {
    plainMs: median(ms('plain')),
    idleStop: worst('idle'),
    ...Object.fromEntries(sides.map((side) => [side, of(side)])),
  }
}

async function pool(list, size, work) {
  const results = new Array(list.length)
  let next = 0
  const worker = async () => {
    for (let index = next++; index < list.length; index = next++) results[index] = await work(list[index])
  }
  await Promise.all(Array.from({ length: size }, worker))
  return results
}
