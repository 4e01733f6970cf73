import { native } from '../addon.js'
import { NO_OPTIONS, type Shape, WORK, check, checkEach, checked, expect, unlessMissing } from '../arguments.js'
import { bundles } from '../binding/bundles.js'
import { RUN, runJob } from '../binding/job.js'
import type { NativeDiffOptions } from '../binding/native.js'
import type { BundleProblem } from '../bundle/error.js'
import type { Progress } from '../progress.js'
import type { CausalEdge, Diff } from './document.js'
// Only for links in the comments.
import type { BundleCode } from '../bundle/error.js'
import type { verifyRun } from '../run/replay.js'

/** Options of {@link diff}. */
export interface DiffOptions {
  /** Also align the two recordings in full and list all differences. Takes longer: both logs are read to their ends. Default `false`. */
  full?: boolean | undefined
  /** Also compare heartbeats. Default `false`. */
  heartbeats?: boolean | undefined
  /**
   * Fields to ignore in the comparison, in addition to those that are never compared: JSON pointers (RFC 6901) into the event. A pointer to a field
   * that does not exist has no effect.
   */
  ignore?: string[] | undefined
  /** Stops the comparison; the promise rejects with the signal's reason. */
  signal?: AbortSignal | undefined
  /** Called periodically, and once at the end, with the number of bytes of both logs together that were compared. */
  onProgress?: ((progress: Progress) => void) | undefined
}

/** The errors that {@link diff} and {@link traceAncestors} reject with. */
export interface DiffError extends Error {
  /**
   * A code of runs (`docs/run-format.md`, section 13); for sessions `EmptyFile`, `MissingStart`, `InvalidStart`, `TooLarge`, `Changed`; a system
   * code (`ENOENT`…); `NotComparable`: one side is a run, the other a session; `NoSuchEvent`; a {@link BundleCode}.
   */
  code: string
  /** If a bundle was refused: all its problems. `code` and `path` are those of the first. */
  problems?: BundleProblem[]
  /** Which of the two recordings the error concerns. */
  side?: 'left' | 'right'
  /** Logical time of the event concerned, for a run. */
  time?: number
  /** Id of the event concerned. */
  eventId?: string
  /** The expected value. */
  expected?: string
  /** The value that was found. */
  found?: string
  /** The system's number for its error, negative as in Node. */
  errno?: number
  /** The system call that failed. */
  syscall?: string
  /** The file concerned. */
  path?: string
}

/**
 * Finds where two runs, or two sessions, diverge, and why.
 *
 * Compares what the executions did. Does not compare ids, wall clocks, salts, hashes of lines, snapshots and stored blobs, heartbeats (unless
 * requested), the ids of a session's tool calls, and usage figures, timestamps and ids in metadata. Both logs are read side by side, off the
 * JavaScript thread, up to the first event that differs; memory does not grow with their length. No hashes are checked: use {@link verifyRun} to
 * check that a log is intact.
 *
 * @param left - A run's directory or log, a session's file, or a bundle of either, which is verified first.
 * @param right - The other recording, likewise.
 * @returns The diff, or `null` if no compared field differs. Rejects with a {@link DiffError} if one of the recordings can't be read up to the
 * divergence.
 * @throws TypeError - If an argument is of the wrong type, or an element of `ignore` is not a JSON pointer.
 *
 * @example
 * ```ts
 * import { mkdtempSync } from 'node:fs';
 * import { tmpdir } from 'node:os';
 * import { join } from 'node:path';
 * import { diff, diffToText, SessionRecordingService, traceAncestors } from 'session-tape';
 *
 * const chatsDir = mkdtempSync(join(tmpdir(), 'chats-'));
 * async function ask(sessionId: string, answer: string): Promise<string> {
 *   const recorder = new SessionRecordingService({
 *     sessionId, projectHash: 'my-project', chatsDir, workspaceDirs: [], provider: 'acme', model: 'acme-large',
 *   });
 *   recorder.recordContent({ speaker: 'human', blocks: [{ type: 'text', text: 'How warm is it?' }] });
 *   recorder.recordContent({ speaker: 'ai', blocks: [{ type: 'tool_call', id: sessionId, name: 'thermometer', parameters: {} }] });
 *   recorder.recordContent({ speaker: 'tool', blocks: [{ type: 'tool_response', callId: sessionId, toolName: 'thermometer', result: answer }] });
 *   await recorder.dispose();
 *   return recorder.getFilePath()!;
 * }
 * const [monday, tuesday] = [await ask('monday', '12 degrees'), await ask('tuesday', '14 degrees')];
 *
 * const found = await diff(monday, tuesday, { full: true, ignore: ['/payload/content/metadata'] });
 * console.log(found?.likely_cause, found?.fields[0]?.path); // ExternalDataChanged /payload/content/blocks/0/result
 * console.log(diffToText(found).split('\n')[0]); // Divergence at event #3
 * const { chain } = await traceAncestors(monday, 'rec_3');
 * console.log(chain.map(({ event_id: id }) => id).join(' ')); // rec_2 rec_1 rec_0
 * ```
 */
export function diff(left: string, right: string, options: DiffOptions = NO_OPTIONS): Promise<Diff | null> {
  check.string(left, 'left')
  check.string(right, 'right')
  const { full = false, heartbeats = false, ignore = [], signal, onProgress } = checked(options, DIFF_OPTIONS)
  const wanted: NativeDiffOptions = { full, heartbeats, ignore: ignore.slice(), progress: onProgress !== undefined }
  const start = (onReady: () => void) => native.startDiff(bundles, left, right, wanted, onReady)
  return runJob(RUN, start, { signal, onProgress })
}

/**
 * Finds the causal ancestors of an event: in a run along the recorded parents, in a session from the order of its records.
 *
 * Reads only the lines that are needed, and verifies none of them.
 *
 * @param path - A run's directory or log, a session's file, or a bundle of either, which is verified first.
 * @param eventId - `evt_<logical time>` in a run, `rec_<place from 0>` in a session.
 * @returns The ancestors, nearest first, without the event itself. `truncated`: whether there are more, before the start of a partial recording or
 * beyond 100 000. Rejects with a {@link DiffError}.
 * @throws TypeError - If an argument is of the wrong type.
 */
export function traceAncestors(
  path: string,
  eventId: string,
  options: { signal?: AbortSignal | undefined } = NO_OPTIONS,
): Promise<{ chain: CausalEdge[]; truncated: boolean }> {
  check.string(path, 'path')
  check.string(eventId, 'eventId')
  const { signal } = checked<typeof options>(options, { signal: 'signal?' })
  const start = (onReady: () => void) => native.startTrace(bundles, path, eventId, onReady)
  return runJob(RUN, start, { signal })
}

const DIFF_OPTIONS: Shape<DiffOptions> = {
  ...WORK,
  full: 'boolean?',
  heartbeats: 'boolean?',
  ignore: unlessMissing(checkPointers),
}

function checkPointers(pointers: string[], where: string): void {
  check.strings(pointers, where)
  checkEach(pointers, where, (pointer, name) => {
    const fault = native.jsonPointerFault(pointer)
    expect(fault === null, name, `a JSON pointer (${fault})`, pointer)
  })
}
