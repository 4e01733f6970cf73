// Diffs: where two recordings diverge, and what led to an event.

import type { BundleProblem } from './bundle.js';
import type { Progress } from './common.js';
// Only for links in the comments.
import type { BundleCode } from './bundle.js';
import type { verifyRun } from './run.js';

/**
 * One side of a divergence: the event of one recording at which the two diverge.
 *
 * After `kind` follow the fields that say what the event concerns (`node`, `tool`, a session's `speaker`) and those that distinguish it from others
 * of its kind: `output_hash`, `request_hash`, `input_hash`, `worker`, `code`, `message`… A session's side has an `excerpt` of the first text that
 * differs.
 */
export interface DiffSide {
  /** The id of the run or session. Empty if a partial recording does not contain it. */
  run_id: string;
  /** `evt_<logical time>` in a run, `rec_<place>` in a session. */
  event_id: string;
  /** The event's kind, or the record's type. */
  kind: string;
  /** The graph node concerned. */
  node?: string;
  /** The tool that is called or returns a result. */
  tool?: string;
  /** The hash of the output; in a session, of the JSON text of the tool's result. */
  output_hash?: string;
  [key: string]: unknown;
}

/** A value that differs between the two sides. */
export interface DiffField {
  /** JSON pointer (RFC 6901) into the event as it is compared: `/kind`, `/node`, `/parent`, `/payload/…`; in a session `/type`, `/payload/…`. */
  path: string;
  /** The value on the left. Absent if the left side has no such value, or if `note` is `tooLarge`. */
  left?: unknown;
  /** The value on the right, likewise. */
  right?: unknown;
  /**
   * A note on the difference. `whitespace`: the texts differ in white space only. `redacted`: the values may be equal, but one of them was
   * redacted. `otherPlace`: the logical times are equal, but refer to different events. `tooLarge`: a value is larger than 4 MiB.
   * `precision`: two integers that differ, but not as JavaScript numbers; `left` and `right` are strings of their digits.
   */
  note?: 'whitespace' | 'redacted' | 'otherPlace' | 'tooLarge' | 'precision';
}

/** A causal ancestor of an event. */
export interface CausalEdge {
  /** Id of the event. */
  event_id: string;
  /** The event's kind, or the record's type. */
  kind: string;
  /** What the event concerns: a tool, a node; in a session the speaker and the tools. */
  label?: string;
  /** `recorded`: the log states the cause. `inferred`: the cause follows from the order of the records of a session. */
  evidence: 'recorded' | 'inferred';
}

/** One of the differences between two recordings, as listed with `full`. */
export interface DiffEdit {
  /** `insert`: on the right only. `delete`: on the left only. `change`: on both sides with different values. */
  op: 'insert' | 'delete' | 'change';
  /** The event on the left: its logical time or, in a session, its place. */
  left?: number;
  /** The event on the right, likewise. */
  right?: number;
  /** The values that changed. Absent for `change` once the fields of all edits together exceed 32 MiB. */
  fields?: DiffField[];
}

/** Where two recordings diverge, and why. `docs/diff.md` describes how each field is determined. */
export interface Diff {
  /** The logical time of the event on the left, or on the right if the left has ended; in a session, the record's place, counted from 0. */
  divergence_event: number;
  /** How they diverge. `HeaderMismatch`: the workflows, graphs or projects differ. */
  kind: 'EventMismatch' | 'LeftEnded' | 'RightEnded' | 'HeaderMismatch';
  /** The event on the left; `null` if the left has ended. */
  left: DiffSide | null;
  /** The event on the right; `null` if the right has ended. */
  right: DiffSide | null;
  /** The values that differ between the two events. Empty if one side has ended. */
  fields: DiffField[];
  /** The ids of the causal ancestors of the event, nearest first: of the left event, or of the right one if the left has ended. */
  causal_ancestors: string[];
  /** The causal ancestors of both sides. `truncated`: whether that side has more, before the start of a partial recording or beyond 100 000. */
  ancestors: { left: CausalEdge[]; right: CausalEdge[]; truncated: { left: boolean; right: boolean } };
  /** The id, on the left, of the nearest ancestor that both sides share. `null` if they share none. */
  common_ancestor: string | null;
  /** The node at which they diverge and all nodes that depend on it, nearest first. Empty for sessions, and for events that concern no node. */
  affected_nodes: string[];
  /** The likely cause, as far as the recordings show it; otherwise `Unknown`. */
  likely_cause:
    | 'ExternalDataChanged'
    | 'InputChanged'
    | 'ScheduleChanged'
    | 'PolicyChanged'
    | 'WorkflowChanged'
    | 'LogTruncated'
    | 'Unknown';
  /** With `full`: all differences, in order, with as few insertions and deletions as possible. */
  edits?: DiffEdit[];
  /**
   * With `full`: the equal ranges from the divergence on. `left` and `right` are the numbers of the first event of a range, `length` is the number
   * of compared events in it.
   */
  equal?: { left: number; right: number; length: number }[];
  /** With `full`, instead of `edits`: the recordings differ by more insertions and deletions than `limit`. */
  edits_stopped?: { limit: number };
}

/** Options of {@link diff}. */
export interface DiffOptions {
  /** Also align the two recordings in full and list all differences. Takes longer: both logs are read to their ends. Default `false`. */
  full?: boolean | undefined;
  /** Also compare heartbeats. Default `false`. */
  heartbeats?: boolean | undefined;
  /**
   * Fields to ignore in the comparison, in addition to those that are never compared: JSON pointers (RFC 6901) into the event. A pointer to a field
   * that does not exist has no effect.
   */
  ignore?: string[] | undefined;
  /** Stops the comparison; the promise rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
  /** Called periodically, and once at the end, with the number of bytes of both logs together that were compared. */
  onProgress?: ((progress: Progress) => void) | undefined;
}

/** The errors that {@link diff} and {@link traceAncestors} reject with. */
export interface DiffError extends Error {
  /**
   * A code of runs (`docs/run-format.md`, section 13); for sessions `EmptyFile`, `MissingStart`, `InvalidStart`, `TooLarge`, `Changed`; a system
   * code (`ENOENT`…); `NotComparable`: one side is a run, the other a session; `NoSuchEvent`; a {@link BundleCode}.
   */
  code: string;
  /** If a bundle was refused: all its problems. `code` and `path` are those of the first. */
  problems?: BundleProblem[];
  /** Which of the two recordings the error concerns. */
  side?: 'left' | 'right';
  /** Logical time of the event concerned, for a run. */
  time?: number;
  /** Id of the event concerned. */
  eventId?: string;
  /** The expected value. */
  expected?: string;
  /** The value that was found. */
  found?: string;
  /** The system's number for its error, negative as in Node. */
  errno?: number;
  /** The system call that failed. */
  syscall?: string;
  /** The file concerned. */
  path?: string;
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
 * import { diff, diffToText } from 'session-tape';
 *
 * export async function why(left: string, right: string): Promise<string> {
 *   const found = await diff(left, right, { ignore: ['/payload/priority'] });
 *   return found === null ? 'They did the same' : `${found.likely_cause}\n${diffToText(found)}`;
 * }
 * ```
 */
export declare function diff(left: string, right: string, options?: DiffOptions): Promise<Diff | null>;

/**
 * Formats a diff as text for people, without a line feed at the end. Control characters are escaped.
 *
 * @param diff - What {@link diff} resolved to.
 * @param options - `color`: use terminal escape sequences for colours (default `false`). `details`: also show the likely cause, the
 * affected nodes, and each field that differs (default `false`).
 */
export declare function diffToText(diff: Diff | null, options?: { color?: boolean | undefined; details?: boolean | undefined }): string;

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
export declare function traceAncestors(
  path: string,
  eventId: string,
  options?: { signal?: AbortSignal | undefined },
): Promise<{ chain: CausalEdge[]; truncated: boolean }>;
