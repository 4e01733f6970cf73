// Repairs a session: finds the records in a damaged file and writes them to another.

import { native } from '../addon.js'
import { NO_OPTIONS, WORK, check, checkedStrictly } from '../arguments.js'
import { bundlesToWrite } from '../binding/bundles.js'
import type { Failure } from '../binding/errors.js'
import { type JobKind, runJob } from '../binding/job.js'
import type { NativeRepairOptions } from '../binding/native.js'
import { define, own, withFields } from '../builtins.js'
import type { Progress } from '../progress.js'
// Only for links in the comments.
import type { importSession } from '../foreign/foreign.js'
import type { replaySession } from './replay.js'

/** Options of {@link repairSession}. */
export interface RepairOptions {
  /** The hash of the session's project, for a session whose `session_start` is lost. Without it such a session is not repaired. */
  projectHash?: string | undefined
  /**
   * The id of the session, if the file has several: by default, the first one that has a `session_start` is repaired. If its `session_start` is lost,
   * the id that it gets. Default: what the name of the file ends with.
   */
  sessionId?: string | undefined
  /**
   * A file to write, which must not exist: one line of JSON for each record and fragment of the source, in order, with `offset`, `length`, `sha256`,
   * `fate` and, for records, the old `seq` and the new one, `newSeq`. The first line is about the source.
   */
  receiptPath?: string | undefined
  /** Write nothing, and only say what a repair would do. Default `false`. */
  dryRun?: boolean | undefined
  /** Aborting it stops the repair. The promise rejects with the signal's `reason` once all temporary files are removed. */
  signal?: AbortSignal | undefined
  /** Called on the JavaScript thread at most ten times a second, and once at the end with the total. Throwing from it stops the repair. */
  onProgress?: ((progress: Progress) => void) | undefined
}

/** Bytes in one line of a damaged session that belong to no record of the repaired one. */
export interface RepairFragment {
  /**
   * Their offset in the source, in bytes. If the source is compressed or UTF-16, the offset in its text as UTF-8; of a part of an archive that can't be
   * decompressed, its offset in the compressed file.
   */
  offset: number
  /** Their number. */
  length: number
  /** What they are, in words. */
  reason: string
}

/** Another session in the file that was repaired: lines that follow each other. */
export interface OtherSession {
  /** Its id; `null` if its `session_start` is lost. */
  sessionId: string | null
  /** The line of its first record, from 1. */
  firstLine: number
  /** The line of its last record. */
  lastLine: number
}

/** What {@link repairSession} found, and what it made of it. */
export interface RepairReceipt {
  /** The source: its size in bytes, and its SHA-256 in hex. */
  source: { bytes: number; sha256: string }
  /** The path of the repaired session, as it was passed. */
  destination: string
  /** `false`: nothing was wrong, and the destination is a copy. */
  changed: boolean
  /** The number of records of the source that the destination has. Not counted: a `session_start` that was made up, and the note about the repair. */
  records: number
  /** The number of these that a replay of the source does not see: all of them, if the source does not replay. */
  recovered: number
  /** The first thousand fragments, in the order of the source. A warning says how many more there are. */
  fragments: RepairFragment[]
  /** The size of all fragments in bytes, except those that only repeat the beginning of the record after them, and of the NULs inside records. */
  lostBytes: number
  /** The number of records that named no version, or none that there is, and got `"v": 1`: default replays read them, and strict ones end there. */
  versioned: number
  /** The number of records that repeated the one before. */
  duplicates: number
  /** Whether all records have new numbers, because theirs did not ascend. */
  renumbered: boolean
  /** Whether the `session_start` was made up. */
  startInvented: boolean
  /** The other sessions in the file, at most a thousand. None of their records is in the destination; `sessionId` in the options repairs one of them. */
  others: OtherSession[]
  /** What else is to be known, in whole sentences: what was replaced, guessed or left out. */
  warnings: string[]
}

/**
 * The errors that {@link repairSession} rejects with. Their `name` is `'RepairError'`.
 *
 * The `code` is one of these, or a system code (`ENOENT`, `ENOSPC` …):
 *
 * - `'NoRecords'`: the source has no record of a session. The message says so if it is one of another program, which {@link importSession} opens.
 * - `'NoSession'`: the source has no session `options.sessionId`. `sessions` has the ids that there are.
 * - `'NoStart'`: its `session_start` is lost, and no `projectHash` was given.
 * - `'DestinationExists'`: there is something at the destination, or at `receiptPath`.
 * - `'SourceChanged'`: something wrote to the source in the meantime.
 * - `'Unrepairable'`: what was found does not replay.
 */
export interface RepairError extends Error {
  code: 'NoRecords' | 'NoSession' | 'NoStart' | 'DestinationExists' | 'SourceChanged' | 'Unrepairable' | (string & {})
  /** The file that it is about. */
  path?: string
  /** The ids of the sessions in the file, if it has others than the one that was asked for. */
  sessions?: string[]
  /** The system's number for its error, negative as in Node. */
  errno?: number
  /** The system call that failed. */
  syscall?: string
}

/** @internal */
export class RepairError extends Error {
  constructor({ message, ...fields }: Failure) {
    super(message)
    withFields(this, fields)
  }
}
define(RepairError.prototype, 'name', { ...own('RepairError'), enumerable: false })

const REPAIR: JobKind = {
  panicCode: 'ESESSIONPANIC',
  doing: 'repairing a session',
  errorOf: (failure) => new RepairError(failure),
  cleansUp: true,
}

/**
 * Finds the records of a session whose file is damaged, and writes them to a new file, which replays in strict mode and can be resumed. The source is
 * only read.
 *
 * {@link replaySession} reads a file line by line. When an append failed half-way, the next record stands in the same line as its fragment; after a
 * crash there may be a block of NULs in front of it, or the first line may be torn; another program may have put real line feeds into strings, or
 * encoded the whole file otherwise. In all of these the records are still there. What is inside a string or inside a record that is torn is never
 * taken for a record.
 *
 * Records stay byte for byte as they are, and records of types that this release does not know are kept. If anything was wrong, the last record of
 * the new file is a `session_event` that says so. Repairing the new file changes nothing.
 *
 * @param source - The damaged file: JSONL, pretty-printed, or one array; as UTF-8 or UTF-16; plain, or compressed with gzip or
 * zstd.
 * @param destination - A path that does not exist yet. The file is written next to it, synced and renamed; a failure or an abort leaves nothing.
 * @returns Rejects with a {@link RepairError}, with the reason of an aborted `options.signal`, and with the error that `options.onProgress` throws.
 * @throws TypeError - At once, if an argument is of the wrong type.
 *
 * @example
 * ```ts
 * import { mkdtempSync, writeFileSync } from 'node:fs';
 * import { tmpdir } from 'node:os';
 * import { join } from 'node:path';
 * import { repairSession } from 'session-tape';
 *
 * const directory = mkdtempSync(join(tmpdir(), 'chats-'));
 * const start = '{"v":1,"seq":1,"type":"session_start","payload":{"sessionId":"a1","projectHash":"p","provider":"x","model":"y","startTime":"z"}}';
 * const event = '{"v":1,"seq":2,"type":"session_event","payload":{"severity":"info","message":"found"}}';
 * writeFileSync(join(directory, 'damaged.jsonl'), `${start}\n{"v":1,"seq":2,"ty${event}\n`);
 *
 * // The fragment is the beginning of the record after it, so nothing is lost.
 * const { recovered, lostBytes } = await repairSession(join(directory, 'damaged.jsonl'), join(directory, 'repaired.jsonl'));
 * console.log(recovered, lostBytes); // 1 0
 * ```
 */
export function repairSession(
  source: string,
  destination: string,
  options: RepairOptions = NO_OPTIONS,
): Promise<RepairReceipt> {
  check.filledString(source, 'source')
  check.filledString(destination, 'destination')
  const {
    projectHash,
    sessionId,
    receiptPath,
    dryRun = false,
    signal,
    onProgress,
  } = checkedStrictly<RepairOptions>(options, {
    projectHash: 'filledString?',
    sessionId: 'filledString?',
    receiptPath: 'filledString?',
    dryRun: 'boolean?',
    ...WORK,
  })
  const wanted: NativeRepairOptions = {
    projectHash,
    sessionId,
    receiptPath,
    dryRun,
    now: Date.now(),
    progress: onProgress !== undefined,
  }
  const start = (onReady: () => void) => native.startRepair(bundlesToWrite(), source, destination, wanted, onReady)
  return runJob<RepairReceipt>(REPAIR, start, { signal, onProgress })
}
