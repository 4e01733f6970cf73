// Archives sessions: compresses their files, which all readers then read in the same way, and restores them.

import path = require('node:path')
import fs = require('node:fs/promises')
import { native } from '../addon.js'
import { NO_OPTIONS, WORK, check, checkedStrictly } from '../arguments.js'
import { bundlesToWrite } from '../binding/bundles.js'
import { type Failure, errorOf } from '../binding/errors.js'
import { type JobKind, resultOf, runJob } from '../binding/job.js'
import type { End } from '../binding/batch.js'
import { parse, withFields } from '../builtins.js'
import type { SessionLock } from '../locks/handle.js'
import { SessionLockedError } from '../locks/locked-error.js'
import { isSafeId } from '../locks/path.js'
import { lockForJob } from '../locks/session-lock.js'
import type { Progress } from '../progress.js'
import { isAbsence } from '../system-error.js'
import { thisProcess } from '../writing.js'
import { archiveOf, sessionPathOf } from './archive-name.js'
import { removeCompanions } from './files.js'
import { readSessionHeader } from './header.js'
import { isNative, readEntries } from './list.js'
// Only for links in the comments.
import type { listSessions } from './list.js'
import type { replaySession } from './replay.js'
import type { resumeSession } from './resume.js'

/** A session after {@link archiveSession} or {@link restoreSession}. */
export interface ArchivedSession {
  /** The file that there is now. */
  filePath: string
  /** Size of the session in bytes. */
  bytes: number
  /** Size in bytes of the archive that there is, or that was restored. `null` if there was none. */
  archivedBytes: number | null
}

/** Options of {@link archiveSession} and {@link restoreSession}. */
export interface ArchiveOptions {
  /** Aborting it ends the work; the promise rejects with the signal's `reason`, and the session is as it was. */
  signal?: AbortSignal | undefined
  /** Called on the JavaScript thread, at most ten times a second, and once at the end. If it throws, the promise rejects with that error. */
  onProgress?: ((progress: Progress) => void) | undefined
}

const ARCHIVE: JobKind = {
  panicCode: 'ESESSIONPANIC',
  doing: 'archiving a session',
  errorOf: (failure) => (failure.code === 'ESESSIONLOCKED' ? lockedError(failure) : errorOf(failure)),
  cleansUp: true,
}

function lockedError({ message }: Failure): Error {
  return new SessionLockedError(undefined, { cause: new Error(message) })
}

/**
 * Archives a session: replaces `NAME.jsonl` by `NAME.jsonl.zst`, a zstd file that is usually a tenth of the size. Everything that reads a session, such
 * as {@link replaySession} and {@link listSessions}, reads the archive, under both names; whatever writes to it, such as {@link resumeSession},
 * restores it first. Any `zstd -d` restores the identical file.
 *
 * The session is locked meanwhile. Its file is removed only after the archive was decompressed again and compared, and is on stable storage: a crash
 * loses no record. The archive has the time of modification, the owner and the permissions of the file; if the system refuses them, the session stays.
 *
 * @param filePath - The session's file. If it is archived already, nothing happens.
 * @returns The archive. Rejects with a {@link SessionLockedError} if the session is in use; with an `Error` whose `code` is `NotASession` (the file's
 * name does not end in `.jsonl`, it has no header, or it is that of another program), `Changed` (it was written to in the meantime, by a program without the lock) or `Differs` (there
 * is an archive with other content); and with the system's error. Nothing has changed then.
 * @throws TypeError - At once, if an argument is of the wrong type.
 *
 * @example
 * ```ts
 * import { mkdtempSync } from 'node:fs';
 * import { tmpdir } from 'node:os';
 * import { join } from 'node:path';
 * import { archiveSession, replaySession, SessionRecordingService } from 'session-tape';
 *
 * const recorder = new SessionRecordingService({
 *   sessionId: 'c0ffee00-0001', projectHash: 'my-project', chatsDir: mkdtempSync(join(tmpdir(), 'chats-')),
 *   workspaceDirs: [process.cwd()], provider: 'acme', model: 'acme-large',
 * });
 * recorder.recordContent({ speaker: 'human', blocks: [{ type: 'text', text: 'Hello' }] });
 * await recorder.dispose();
 *
 * const { filePath } = await archiveSession(recorder.getFilePath()!);
 * const replayed = await replaySession(filePath, 'my-project');
 * console.log(filePath.slice(-10), replayed.ok); // .jsonl.zst true
 * ```
 */
export function archiveSession(filePath: string, options: ArchiveOptions = NO_OPTIONS): Promise<ArchivedSession> {
  return replace(filePath, false, options)
}

/**
 * Restores an archived session: replaces `NAME.jsonl.zst` by `NAME.jsonl`. What writes to a session does so by itself.
 *
 * @param filePath - The archive, or the file that it stands for. If the session is not archived, nothing happens.
 * @returns The session's file. Rejects as {@link archiveSession} does, and with the code `Damaged` if the archive cannot be read to its end; it stays then,
 * and {@link replaySession} reads what is before the damage.
 * @throws TypeError - At once, if an argument is of the wrong type.
 */
export function restoreSession(filePath: string, options: ArchiveOptions = NO_OPTIONS): Promise<ArchivedSession> {
  return replace(filePath, true, options)
}

function replace(filePath: string, restores: boolean, options: ArchiveOptions): Promise<ArchivedSession> {
  check.filledString(filePath, 'filePath')
  return locked(path.resolve(filePath), restores, checkedStrictly(options, WORK))
}

/** Archives or restores a session under its lock. What is to become a file that is there already needs none. */
async function locked(filePath: string, restores: boolean, options: ArchiveOptions): Promise<ArchivedSession> {
  if (options.signal?.aborted) throw options.signal.reason
  if (await isDone(filePath, restores)) return convert(filePath, restores, options)
  const lock = await lockOf(filePath, restores)
  try {
    return await convert(filePath, restores, options)
  } finally {
    await lock?.release()
  }
}

async function isDone(filePath: string, restores: boolean): Promise<boolean> {
  const session = sessionPathOf(filePath)
  const gone = restores ? archiveOf(session) : session
  return (await isAbsent(gone)) && !(await isAbsent(restores ? session : archiveOf(session)))
}

async function isAbsent(filePath: string): Promise<boolean> {
  try {
    await fs.lstat(filePath)
    return false
  } catch (error) {
    return isAbsence(error)
  }
}

/** Locks the session in a file. An id that cannot be locked has no lock. */
async function lockOf(filePath: string, restores: boolean): Promise<SessionLock | undefined> {
  const session = sessionPathOf(filePath)
  const header = await readSessionHeader(session)
  if (header === null && !(await isAbsent(filePath))) {
    // The system's error, if the header could not be read.
    await fs.access((await isAbsent(session)) ? archiveOf(session) : session, fs.constants.R_OK)
    throw notASession(filePath, 'has no header of a session: its first line is no session_start')
  }
  if (header !== null && !restores && !isNative((await readEntries([session]))[0]!)) {
    throw notASession(filePath, 'is the session of another program, which could not read an archive')
  }
  const sessionId: unknown = header?.sessionId
  return isSafeId(sessionId) ? lockForJob(path.dirname(filePath), sessionId) : undefined
}

function notASession(filePath: string, problem: string): Error {
  return withFields(new Error(`'${filePath}' ${problem}`), { code: 'NotASession', path: filePath })
}

/** Archives or restores a session. The caller holds its lock. @internal */
export function convert(
  filePath: string,
  restores: boolean,
  { signal, onProgress }: ArchiveOptions,
): Promise<ArchivedSession> {
  const start = (onReady: () => void) =>
    native.startArchive(bundlesToWrite(), filePath, thisProcess(), restores, onProgress !== undefined, onReady)
  return runJob<ArchivedSession>(ARCHIVE, start, { signal, onProgress })
}

/** The file to write to: that of a session, which is restored if it is archived. The caller holds its lock. @internal */
export async function restored(filePath: string): Promise<string> {
  const session = sessionPathOf(filePath)
  if (!(await isAbsent(archiveOf(session)))) await convert(session, true, {})
  return session
}

/** Removes a session with its archive and its companions, unless a recorder has it for itself. The caller holds its lock. @internal */
export async function removeSession(filePath: string): Promise<void> {
  resultOf(ARCHIVE, parse<End>(await native.removeSession(filePath, thisProcess())))
  // The session is gone, whatever becomes of these: what is left of them is swept.
  await removeCompanions(sessionPathOf(filePath)).catch(() => {})
}
