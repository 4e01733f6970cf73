// Keeps the sessions of directories within limits: archives old ones, and deletes those that the policy says so of.

import path = require('node:path')
import { NO_OPTIONS, type Shape, WORK, check, checkedStrictly, expect, unlessMissing } from '../arguments.js'
import { onAbort } from '../binding/abort.js'
import { type Cleaned, cleanUp, wouldCleanUp } from '../locks/clean-up.js'
import { companionsOf } from '../locks/companions.js'
import type { SessionLock } from '../locks/handle.js'
import { SessionLockedError } from '../locks/locked-error.js'
import { isSafeId } from '../locks/path.js'
import { isSessionLocked, lockForJob } from '../locks/session-lock.js'
import { isFileLocked } from '../locks/system-lock.js'
import { elapsed, wait } from '../locks/waiting.js'
import type { Progress } from '../progress.js'
import { hasCode, isAbsence } from '../system-error.js'
import { convert, removeSession } from './archive.js'
import { archiveOf, isSessionName, sessionPathOf } from './archive-name.js'
import { liveCheckpoints } from './describe.js'
import { isSessionFileName, pathsIn } from './directory.js'
import {
  changeOf,
  companionBytes,
  entriesOf,
  hasSeekTable,
  isRecorded,
  realPathOf,
  sizeOf,
  statOf,
} from './keep-files.js'
import { listFiles } from './list.js'
import { newestFirst } from './order.js'
import { repairSession } from './repair.js'
import { type Report, type SessionReport, isFailed, scan } from './scan.js'
import type { SessionSummary, SkippedSession } from './summary.js'
// Only for links in the comments.
import type { archiveSession } from './archive.js'
import type { cleanUpLocks } from '../locks/session-lock.js'

/** A span of time: milliseconds, or hours, days or weeks, such as `'36h'`, `'7d'` or `'2w'`. */
export type Duration = number | `${number}${'h' | 'd' | 'w'}`

/** What {@link keepSessions} does with sessions. Their age is the time since their last modification. */
export interface KeepPolicy {
  /** Younger sessions are never touched, whatever the limits. Default `'1d'`. */
  minAge?: Duration | undefined
  /** Sessions of this age are archived; `null`: none because of its age. Default `'7d'`. */
  archiveAfter?: Duration | null | undefined
  /** Sessions of this age are deleted, archived or not; `null`: none. Default `null`. */
  deleteAfter?: Duration | null | undefined
  /** The number of sessions, also archived ones and those in use, that may be there. Only deleting makes them fewer: see `deleteToFit`. */
  maxSessions?: number | undefined
  /** The number of bytes that sessions and archives may have together. The oldest are archived until they fit. */
  maxBytes?: number | undefined
  /** Whether the oldest sessions are deleted if archiving is not enough for the limits. Default `false`. */
  deleteToFit?: boolean | undefined
}

/** Options of {@link keepSessions}. */
export interface KeepOptions {
  /** Report what would be done, and change nothing. The sizes of archives are estimated. Default `false`. */
  dryRun?: boolean | undefined
  /**
   * Is called with each session that would be archived or deleted, in a dry run too. It stays as it is if the result, awaited, is anything but
   * `undefined` and `false`; also if the function throws or its promise rejects.
   */
  keep?: ((session: SessionSummary) => unknown) | undefined
  /** Aborting it ends the work after the session in hand, which stays as it was or is done; the promise rejects with the signal's `reason`. */
  signal?: AbortSignal | undefined
  /** Called on the JavaScript thread after each session that was dealt with, with the bytes of sessions. If it throws, the promise rejects with that error. */
  onProgress?: ((progress: Progress) => void) | undefined
}

/** A session that was archived or deleted. */
export interface Kept {
  /** The archive; of a deleted session, the file that is gone. */
  filePath: string
  sessionId: string
  /** Bytes on disk before: of the session or its archive, the receipt of its import and the list of its media. */
  bytes: number
  /** Bytes on disk afterwards: of the archive and these; 0 of a deleted session. */
  bytesLeft: number
  /** The files beside a deleted session that went with it, such as the receipt of its import. Absent if there were none. */
  companions?: string[]
}

/**
 * Why a session was left.
 *
 * | reason | means |
 * |---|---|
 * | `Young` | younger than `minAge`, or last modified in the future |
 * | `InUse` | a process has locked it, or records to it with `exclusive`; or this process records to it |
 * | `HasCheckpoints` | it has checkpoints that are not deleted: it may be archived, but is not deleted |
 * | `Wanted` | `keep` returned, or its promise was fulfilled with, anything but `undefined` and `false` |
 * | `Unreadable` | it is not recognised as a session, or does not replay, so that its checkpoints are unknown; or it can't be read whole, such as a damaged archive, and is not deleted |
 * | `Changed` | it was written to, archived, restored or removed since it was listed, for instance by another process that keeps the same directory |
 * | `Failed` | the system reported an error, or `keep` threw or rejected; `message` has it |
 */
export type KeepReason = 'Young' | 'InUse' | 'HasCheckpoints' | 'Wanted' | 'Unreadable' | 'Changed' | 'Failed'

/** A session that the policy would have touched, and that was left. */
export interface LeftSession {
  filePath: string
  reason: KeepReason
  message?: string
}

/** What {@link keepSessions} has done, or would do. */
export interface KeepReport {
  archived: Kept[]
  deleted: Kept[]
  left: LeftSession[]
  /** What was removed of what interrupted processes have left, as {@link cleanUpLocks} does. */
  removed: { locks: number; snapshots: number; temporaries: number }
  /** The paths of all files that were removed so, guards of locks included. Absent if there are none. */
  removedFiles?: string[]
  /** The number of sessions before. */
  sessions: number
  /** Bytes of sessions and archives on disk before. */
  bytesBefore: number
  bytesAfter: number
  /** Whether what is left is within `maxSessions` and `maxBytes`. */
  withinLimits: boolean
}

/** A policy with numbers of milliseconds. */
interface Limits {
  minAge: number
  archiveAfter: number
  deleteAfter: number
  maxSessions: number
  maxBytes: number
  deleteToFit: boolean
}

type Action = 'archive' | 'delete'

/** Why a session was left. */
interface Left {
  reason: KeepReason
  message: string | undefined
}

/** A session that is there, and what is known about it. */
interface Candidate {
  /** As it was listed: see {@link currentOf}. */
  session: SessionSummary
  directory: Directory
  age: number
  /** Bytes on disk, those of the files that are kept beside it included. */
  bytes: number
  isArchived: boolean
  /** The files that were beside it when it was listed. */
  companions: string[]
  /** Size of the archive that this run has made, in bytes. */
  archivedBytes: number | undefined
  /** Why it can't be deleted, once that was looked up; `null` if nothing prevents it. */
  blocked: Left | null | undefined
  /** What was done with it last. */
  done: { action: Action; kept: Kept } | undefined
  /** Why something was not done that the policy says. */
  left: Left | undefined
  /** Whether nothing more is to be done with it. */
  isSettled: boolean
  /** Whether another process has removed it. */
  isGone: boolean
}

/** A directory that is kept, and the names of locks in it. */
interface Directory {
  path: string
  /** Its path without links. */
  real: string
  locks: Set<string>
}

const HOUR_MS = 60 * 60 * 1000
const UNITS = { h: HOUR_MS, d: 24 * HOUR_MS, w: 7 * 24 * HOUR_MS }
const DURATION = /^(\d+(?:\.\d+)?)([hdw])$/

/** The size of an archive by that of its session, where none shows it: what conversations compress to. */
const TYPICAL_RATIO = 1 / 8

/** The kinds of left-overs. */
const KINDS = ['locks', 'snapshots', 'temporaries', 'guards'] as const

/** The id whose lock means that a process makes the sessions of the directory fit. */
const KEEPER = 'session-tape-keep'

/** How long to wait before looking again whether another process is done, in milliseconds. */
const WAIT_MS = 25
const MAX_WAIT_MS = 60_000

/** How many sessions are archived at the same time: a small one keeps only one core busy. */
const AT_ONCE = 2

/**
 * Keeps the sessions of directories within limits: archives old sessions, as {@link archiveSession} does, deletes those that the policy says so of,
 * and removes what interrupted processes have left. Without a policy, sessions that were not modified for a week are archived, and nothing is deleted.
 *
 * Never touched are sessions in use, sessions younger than `minAge`, those that `keep` wants, files that are not recognised as sessions,
 * links, and everything in subdirectories. A session with checkpoints that are not deleted is never deleted.
 *
 * Several processes may keep the same directory at once: each session is dealt with by one of them.
 *
 * @param where - The directory of the sessions, or several. A directory that does not exist is empty.
 * @returns What was done. An error with one session does not stop the others: it is in `left`. Rejects with the `reason` of an aborted signal, and
 * with the error that `onProgress` threw.
 * @throws TypeError - At once, if an argument is of the wrong type, or a duration is none.
 *
 * @example
 * ```ts
 * import { keepSessions } from 'session-tape';
 *
 * const report = await keepSessions('no-such-directory', { deleteAfter: '90d', maxBytes: 4 * 2 ** 30 }, { dryRun: true });
 * console.log(report.archived.length, report.bytesBefore - report.bytesAfter, report.withinLimits); // 0 0 true
 * ```
 */
export function keepSessions(
  where: string | string[],
  policy: KeepPolicy = NO_OPTIONS,
  options: KeepOptions = NO_OPTIONS,
): Promise<KeepReport> {
  if (Array.isArray(where)) check.filledStrings(where, 'where')
  else check.filledString(where, 'where')
  const limits = limitsOf(checkedStrictly(policy, POLICY, 'policy', { name: 'options', shape: OPTIONS }))
  const wanted = checkedStrictly(options, OPTIONS, 'options', { name: 'policy', shape: POLICY })
  const directories = new Set(
    (Array.isArray(where) ? where.slice() : [where]).map((directory) => path.resolve(directory)),
  )
  return new Keeping(limits, wanted).run(Array.from(directories))
}

const POLICY: Shape<KeepPolicy> = {
  minAge: unlessMissing(milliseconds),
  archiveAfter: unlessMissing(orNever),
  deleteAfter: unlessMissing(orNever),
  maxSessions: 'safeCount?',
  maxBytes: 'count?',
  deleteToFit: 'boolean?',
}

const OPTIONS: Shape<KeepOptions> = { dryRun: 'boolean?', keep: 'function?', ...WORK }

function limitsOf({
  minAge = '1d',
  archiveAfter = '7d',
  deleteAfter = null,
  maxSessions,
  maxBytes,
  deleteToFit,
}: KeepPolicy): Limits {
  return {
    minAge: milliseconds(minAge, 'policy.minAge'),
    archiveAfter: orNever(archiveAfter, 'policy.archiveAfter'),
    deleteAfter: orNever(deleteAfter, 'policy.deleteAfter'),
    maxSessions: maxSessions ?? Infinity,
    maxBytes: maxBytes ?? Infinity,
    deleteToFit: deleteToFit === true,
  }
}

function orNever(duration: Duration | null, name: string): number {
  return duration === null ? Infinity : milliseconds(duration, name)
}

function milliseconds(duration: Duration, name: string): number {
  if (typeof duration === 'number' && Number.isFinite(duration) && duration >= 0) return duration
  const found = typeof duration === 'string' ? DURATION.exec(duration) : null
  expect(
    found !== null,
    name,
    "a number of milliseconds, 0 or more, or a duration such as '36h', '7d' or '2w'",
    duration,
  )
  return Number(found[1]) * UNITS[found[2] as keyof typeof UNITS]
}

/** One run of {@link keepSessions}. */
class Keeping {
  #limits: Limits
  #options: KeepOptions
  #candidates: Candidate[] = []
  #unreadable: SkippedSession[] = []
  #removed: Cleaned = { locks: [], snapshots: [], temporaries: [], guards: [] }
  /** What was left that is no session. */
  #left: LeftSession[] = []
  #bytes = 0
  #count = 0
  #ratio: number | undefined
  /** What is being done last with the sessions of an id. */
  #turns = new Map<string, Promise<unknown>>()
  #progress: Required<Progress> = { bytes: 0, total: 0, files: 0 }

  constructor(limits: Limits, options: KeepOptions) {
    this.#limits = limits
    this.#options = options
  }

  async run(directories: string[]): Promise<KeepReport> {
    const seen = new Set<string>()
    for (const directory of directories) {
      const real = await realPathOf(directory)
      // The same directory may have several paths.
      if (!seen.has(real)) await this.#list({ path: directory, real, locks: new Set() })
      seen.add(real)
    }
    // The oldest first, as those of a directory are already.
    if (seen.size > 1) this.#candidates.sort((a, b) => newestFirst(b.session, a.session))
    const [bytesBefore, sessions] = [this.#bytes, this.#count]
    this.#progress.total = this.#candidates.reduce((total, { bytes }) => total + bytes, 0)
    await this.#byAge()
    await this.#leaveUnreadable(!this.#fits())
    if (!this.#fits()) await this.#alone(() => this.#makeFit())
    await this.#recount(this.#ofOthers())
    this.#report(this.#progress.total)
    const { locks, snapshots, temporaries } = this.#removed
    const removedFiles = KINDS.flatMap((kind) => this.#removed[kind])
    return {
      archived: this.#done('archive'),
      deleted: this.#done('delete'),
      left: this.#allLeft(),
      removed: { locks: locks.length, snapshots: snapshots.length, temporaries: temporaries.length },
      ...(removedFiles.length > 0 && { removedFiles }),
      sessions,
      bytesBefore,
      bytesAfter: this.#bytes,
      withinLimits: this.#fits(),
    }
  }

  #done(action: Action): Kept[] {
    const done: Kept[] = []
    for (const candidate of this.#candidates) if (candidate.done?.action === action) done.push(candidate.done.kept)
    return done
  }

  #allLeft(): LeftSession[] {
    const left = this.#left.slice()
    for (const candidate of this.#candidates) {
      if (candidate.left !== undefined)
        left.push(leftSession(pathOf(candidate), candidate.left.reason, candidate.left.message))
    }
    return left
  }

  /** Lists a directory, after it was cleaned. */
  async #list(place: Directory): Promise<void> {
    this.#checkSignal()
    const directory = place.path
    const found = await entriesOf(directory)
    if (found === undefined) return
    if (!Array.isArray(found)) {
      this.#left.push(leftSession(directory, 'Unreadable', found.message))
      return
    }
    const names = found.map(({ name }) => name)
    // What interrupted processes leave has other names than sessions.
    if (names.some((name) => !isSessionName(name)))
      this.#clean(await (this.#options.dryRun === true ? wouldCleanUp : cleanUp)(directory))
    const others = new Set(found.filter((entry) => !entry.isFile()).map(({ name }) => name))
    place.locks = new Set(names.filter((name) => name.endsWith('.lock')))
    const filePaths = pathsIn(directory, names.filter(isSessionFileName))
    const { sessions, unreadable } = await listFiles(
      others.size === 0 ? filePaths : filePaths.filter((filePath) => !others.has(path.basename(filePath))),
    )
    for (const skipped of unreadable) this.#unreadable.push(skipped)
    const now = Date.now()
    const all = new Set(names)
    for (const session of sessions.reverse()) {
      const companions = Object.values(companionsOf(sessionPathOf(session.filePath)))
        .flat()
        .filter((file) => all.has(path.basename(file)))
      const bytes =
        (session.archivedBytes ?? session.fileSize) +
        (companions.length > 0 ? await companionBytes(session.filePath) : 0)
      const isArchived = session.archived === true
      const age = now - session.lastModified.getTime()
      this.#candidates.push({
        session,
        directory: place,
        age,
        bytes,
        isArchived,
        companions,
        archivedBytes: undefined,
        blocked: undefined,
        done: undefined,
        left: undefined,
        isSettled: false,
        isGone: false,
      })
      this.#bytes += bytes
      this.#count += 1
    }
  }

  #clean(cleaned: Cleaned): void {
    for (const kind of KINDS) for (const filePath of cleaned[kind]) this.#removed[kind].push(filePath)
  }

  /** Reports the files that are old enough to be touched but are no sessions. */
  async #leaveUnreadable(areTooMany: boolean): Promise<void> {
    const { minAge, archiveAfter, deleteAfter } = this.#limits
    const from = Math.max(minAge, areTooMany ? 0 : Math.min(archiveAfter, deleteAfter))
    for (const { filePath, reason } of this.#unreadable) {
      const stat = await statOf(filePath)
      if (stat !== undefined && Date.now() - stat.mtimeMs >= from)
        this.#left.push(leftSession(filePath, 'Unreadable', reason))
    }
  }

  /** Archives and deletes what is old enough. */
  async #byAge(): Promise<void> {
    const { archiveAfter, deleteAfter } = this.#limits
    const deleted = this.#candidates.filter(({ age }) => age >= deleteAfter)
    await this.#look(deleted)
    await this.#each(deleted, (candidate) => this.#deal(candidate, 'delete'))
    await this.#each(
      this.#candidates.filter(({ age, isArchived }) => age >= archiveAfter && !isArchived),
      (candidate) => this.#deal(candidate, 'archive'),
    )
  }

  async #makeFit(): Promise<void> {
    // As they are now: others had the directory meanwhile.
    await this.#recount(this.#candidates.filter(({ done }) => done?.action !== 'delete'))
    await this.#archiveToFit()
    if (this.#limits.deleteToFit) await this.#deleteToFit()
  }

  /** Archives the oldest until the bytes are within the limit. */
  async #archiveToFit(): Promise<void> {
    for (const candidate of this.#candidates) {
      if (this.#bytes <= this.#limits.maxBytes) return
      if (!candidate.isArchived) await this.#deal(candidate, 'archive')
    }
  }

  /** Deletes the oldest until everything is within the limits. */
  async #deleteToFit(): Promise<void> {
    for (const candidate of this.#candidates) {
      // What another process was about to delete counts as long as it is there, and no longer.
      await this.#recount(this.#ofOthers())
      if (this.#fits()) return
      if (!candidate.isSettled) await this.#look([candidate])
      await this.#deal(candidate, 'delete')
    }
  }

  /** Those that another process had. */
  #ofOthers(): Candidate[] {
    return this.#candidates.filter(
      ({ left, isGone }) => !isGone && (left?.reason === 'InUse' || left?.reason === 'Changed'),
    )
  }

  #fits(): boolean {
    return this.#bytes <= this.#limits.maxBytes && this.#count <= this.#limits.maxSessions
  }

  /** Does the work with several candidates at once, in their order. */
  async #each(candidates: Candidate[], work: (candidate: Candidate) => Promise<void>): Promise<void> {
    let next = 0
    let thrown: { error: unknown } | undefined
    const workOn = async (): Promise<void> => {
      try {
        while (next < candidates.length && thrown === undefined) await work(candidates[next++]!)
      } catch (error) {
        thrown ??= { error }
      }
    }
    // Nothing is under way any more when the promise rejects.
    await Promise.all(Array.from({ length: this.#options.dryRun === true ? 1 : AT_ONCE }, workOn))
    if (thrown !== undefined) throw (thrown as { error: unknown }).error
  }

  /** Looks up what prevents the deletion of candidates: in one scan, on all cores. Of one that has changed since it was listed, nothing is known. */
  async #look(candidates: Candidate[]): Promise<void> {
    const unknown = candidates.filter(({ age, blocked }) => blocked === undefined && age >= this.#limits.minAge)
    if (unknown.length === 0) return
    const paths = unknown.map(({ session }) => sessionPathOf(session.filePath))
    const reports = await scan(paths, undefined, { signal: this.#options.signal })
    for (const [at, candidate] of unknown.entries()) {
      candidate.blocked = await this.#blockOf(candidate, reports[at]!)
    }
  }

  /** What prevents the deletion of a session. It goes only if nothing of it can hold a checkpoint that was not seen. */
  async #blockOf(candidate: Candidate, report: Report): Promise<Left | null> {
    const unread = isFailed(report) ? report.error : await this.#unreadOf(candidate, report)
    if (unread !== undefined)
      return (await changeOf(this.#presentOf(candidate))) === undefined
        ? { reason: 'Unreadable', message: unread }
        : null
    if (liveCheckpoints((report as SessionReport).checkpoints).length === 0) return null
    return { reason: 'HasCheckpoints', message: undefined }
  }

  /** Why a session that replays can't be read whole; `undefined` if it can. */
  async #unreadOf(candidate: Candidate, { unread }: SessionReport): Promise<string | undefined> {
    const { filePath, archived } = this.#presentOf(candidate)
    if (!archived && (await statOf(archiveOf(filePath))) !== undefined)
      return 'There is an archive with its name too, which may hold something else'
    if (archived && !(await hasSeekTable(filePath)))
      return 'The archive has no seek table at its end, so it may have been cut off'
    if (unread === 'nothing') return undefined
    if (unread === 'lastLine' && (await this.#isFragment(filePath))) return undefined
    return archived ? 'The archive is damaged, or has lines that are no records' : 'It has lines that are no records'
  }

  /** The session in the file that is there: a dry run archives nothing. */
  #presentOf(candidate: Candidate): SessionSummary {
    return this.#options.dryRun === true ? candidate.session : currentOf(candidate)
  }

  /** Whether a last line that is no JSON is only the beginning of a record. Another record may stand behind it, in the same line. */
  async #isFragment(filePath: string): Promise<boolean> {
    try {
      const { recovered } = await repairSession(filePath, `${filePath}.repaired`, {
        dryRun: true,
        signal: this.#options.signal,
      })
      return recovered === 0
    } catch {
      this.#checkSignal()
      return false
    }
  }

  /** Archives or deletes a session, unless something speaks against it. */
  async #deal(candidate: Candidate, action: Action): Promise<void> {
    this.#checkSignal()
    if (candidate.isSettled) return
    const { age } = candidate
    if (age < this.#limits.minAge || age < 0) return this.#settle(candidate, 'Young')
    const blocked = action === 'delete' ? candidate.blocked : undefined
    if (blocked) return void (candidate.left = blocked)
    if (await this.#isKept(candidate)) return
    try {
      const reason = await (this.#options.dryRun === true
        ? this.#foresee(candidate, action)
        : this.#carryOut(candidate, action))
      if (reason !== undefined) return await this.#leave(candidate, reason)
    } catch (error) {
      this.#checkSignal()
      if (error instanceof SessionLockedError) return this.#leave(candidate, 'InUse')
      if (hasCode(error, 'Changed') || isAbsence(error)) return this.#leave(candidate, 'Changed')
      return this.#settle(candidate, 'Failed', messageOf(error))
    }
    this.#report(candidate.session.fileSize)
  }

  /** Asks the caller whether a session is to stay, and leaves it then. */
  async #isKept(candidate: Candidate): Promise<boolean> {
    const { keep, signal } = this.#options
    if (keep === undefined) return false
    try {
      const answer = await unlessAborted(signal, async () => keep(currentOf(candidate)))
      this.#checkSignal()
      if (answer === undefined || answer === false) return false
      this.#settle(candidate, 'Wanted')
    } catch (error) {
      this.#checkSignal()
      this.#settle(candidate, 'Failed', messageOf(error))
    }
    return true
  }

  /** Does it when nothing else is done with a session of the same id: two files of one session have one lock. */
  #carryOut(candidate: Candidate, action: Action): Promise<KeepReason | undefined> {
    const lock = path.join(candidate.directory.real, candidate.session.sessionId)
    const work = () => this.#carryOutLocked(candidate, action)
    const turn = (this.#turns.get(lock) ?? Promise.resolve()).then(work, work)
    this.#turns.set(lock, turn)
    return turn
  }

  /** Does it under the session's lock. Resolves to why it was not done. */
  async #carryOutLocked(candidate: Candidate, action: Action): Promise<KeepReason | undefined> {
    const { directory } = candidate
    const session = currentOf(candidate)
    const { sessionId } = session
    const lock = isSafeId(sessionId) ? await lockForJob(directory.path, sessionId) : undefined
    try {
      const changed = await changeOf(session)
      if (changed !== undefined) return changed
      if (await isRecorded(session.filePath)) return 'InUse'
      if (action === 'delete') {
        await removeSession(session.filePath)
        this.#gone(candidate)
        return undefined
      }
      const { filePath, archivedBytes } = await convert(session.filePath, false, { signal: this.#options.signal })
      this.#packed(candidate, filePath, archivedBytes ?? 0, await companionBytes(filePath))
      return undefined
    } finally {
      await lock?.release()
    }
  }

  /** Notes what would be done. Resolves to why it would not be. */
  async #foresee(candidate: Candidate, action: Action): Promise<KeepReason | undefined> {
    const { session, directory } = candidate
    if (directory.locks.size > 0 && (await isInUse(session, directory))) return 'InUse'
    if (await isRecorded(session.filePath)) return 'InUse'
    if (action === 'delete') this.#gone(candidate)
    else
      this.#packed(
        candidate,
        archiveOf(session.filePath),
        Math.ceil(session.fileSize * this.#estimatedRatio()),
        candidate.bytes - session.fileSize,
      )
    return undefined
  }

  /** By how much archives are smaller than their sessions: as those that are there. */
  #estimatedRatio(): number {
    if (this.#ratio !== undefined) return this.#ratio
    let [content, packed] = [0, 0]
    for (const { session } of this.#candidates) {
      if (session.archivedBytes === undefined) continue
      content += session.fileSize
      packed += session.archivedBytes
    }
    return (this.#ratio = content > 0 ? Math.min(1, packed / content) : TYPICAL_RATIO)
  }

  #gone(candidate: Candidate): void {
    const { session, bytes, done, companions } = candidate
    candidate.isSettled = true
    // It may have been archived before, which was not enough.
    const kept = {
      filePath: pathOf(candidate),
      sessionId: session.sessionId,
      bytes: done?.kept.bytes ?? bytes,
      bytesLeft: 0,
    }
    candidate.done = { action: 'delete', kept: companions.length > 0 ? { ...kept, companions } : kept }
    this.#bytes -= bytes
    this.#count -= 1
  }

  #packed(candidate: Candidate, filePath: string, archivedBytes: number, beside: number): void {
    const { session, bytes } = candidate
    const bytesLeft = archivedBytes + beside
    candidate.archivedBytes = archivedBytes
    candidate.done = { action: 'archive', kept: { filePath, sessionId: session.sessionId, bytes, bytesLeft } }
    candidate.isArchived = true
    candidate.bytes = bytesLeft
    this.#bytes += bytesLeft - bytes
  }

  /** Leaves a session for good. */
  #settle(candidate: Candidate, reason: KeepReason, message?: string): void {
    candidate.isSettled = true
    candidate.left = { reason, message }
  }

  /** Leaves a session that another process has, or had since it was listed, and counts what it made of it. */
  async #leave(candidate: Candidate, reason: KeepReason): Promise<void> {
    this.#settle(candidate, reason)
    await this.#recount([candidate])
  }

  /** Counts sessions as they are now. */
  async #recount(candidates: Candidate[]): Promise<void> {
    if (this.#options.dryRun === true) return
    for (const candidate of candidates) {
      const bytes = await sizeOf(candidate.session.filePath)
      this.#bytes += (bytes ?? 0) - candidate.bytes
      candidate.bytes = bytes ?? 0
      const isGone = bytes === undefined
      this.#count += Number(candidate.isGone) - Number(isGone)
      candidate.isGone = isGone
    }
  }

  /**
   * Does the work while no other process makes the same directories fit: each would archive and delete as many as are too many. What another one has
   * done meanwhile is found first, since the oldest come first in every process.
   */
  async #alone(work: () => Promise<void>): Promise<void> {
    const locks: SessionLock[] = []
    const directories =
      this.#options.dryRun === true ? [] : Array.from(new Set(this.#candidates.map(({ directory }) => directory.real)))
    try {
      // In the same order in every process, so that none waits for one that waits for it.
      for (const directory of directories.sort()) if (!(await this.#lock(directory, locks))) return
      await work()
    } finally {
      for (const lock of locks) await lock.release()
    }
  }

  /**
   * Locks a directory against other processes that make it fit. Where there can be no lock, nothing can be changed either. Resolves to false if another
   * process has it for too long: it may have ended where that can not be seen.
   */
  async #lock(directory: string, locks: SessionLock[]): Promise<boolean> {
    const until = elapsed() + MAX_WAIT_MS
    for (;;) {
      this.#checkSignal()
      try {
        locks.push(await lockForJob(directory, KEEPER))
        return true
      } catch (error) {
        if (!(error instanceof SessionLockedError)) return true
        if (elapsed() > until) return false
        await wait(WAIT_MS)
      }
    }
  }

  #checkSignal(): void {
    const { signal } = this.#options
    if (signal?.aborted) throw signal.reason
  }

  #report(bytes: number): void {
    const { onProgress } = this.#options
    if (onProgress === undefined) return
    const { total, files } = this.#progress
    this.#progress = {
      bytes: Math.min(total, this.#progress.bytes + bytes),
      total,
      files: Math.min(files + 1, this.#candidates.length),
    }
    onProgress({ ...this.#progress })
  }
}

/** Resolves to the result of the caller's work, which may never end: a signal that is aborted ends the waiting. */
async function unlessAborted(signal: AbortSignal | undefined, work: () => Promise<unknown>): Promise<unknown> {
  let removeListener = () => {}
  const aborted = new Promise<undefined>((resolve) => (removeListener = onAbort(signal, () => resolve(undefined))))
  try {
    return await Promise.race([work(), aborted])
  } finally {
    removeListener()
  }
}

/** The message of whatever was thrown, which in the caller's functions may be anything. */
function messageOf(error: unknown): string {
  try {
    const message: unknown = (error as Error | null | undefined)?.message
    return typeof message === 'string' ? message : String(error)
  } catch {
    return 'keep threw a value that has no text'
  }
}

/** The file that a session has now. */
function pathOf({ session, done }: Candidate): string {
  return done === undefined ? session.filePath : done.kept.filePath
}

/** A session as it is now, which may have been archived since it was listed. */
function currentOf({ session, done, archivedBytes }: Candidate): SessionSummary {
  if (done === undefined || archivedBytes === undefined) return session
  return { ...session, filePath: done.kept.filePath, archived: true, bytes: session.fileSize, archivedBytes }
}

function leftSession(filePath: string, reason: KeepReason, message: string | undefined): LeftSession {
  return message === undefined ? { filePath, reason } : { filePath, reason, message }
}

/** Whether a session is in use, by the names that were in its directory. */
async function isInUse(
  { filePath, sessionId }: SessionSummary,
  { path: directory, locks }: Directory,
): Promise<boolean> {
  if (locks.has(`${sessionId}.lock`) && isSafeId(sessionId) && (await isSessionLocked(directory, sessionId)))
    return true
  const lock = `${sessionPathOf(filePath)}.lock`
  return locks.has(path.basename(lock)) && isFileLocked(lock)
}
