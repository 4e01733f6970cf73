// Diffs: where two recordings diverge, and what led to an event.

import type { BundleProblem } from './bundle.js';
import type { Progress } from './common.js';
// Only for links in the comments.
import type { BundleCode } from './bundle.js';
import type { verifyRun } from './run.js';

/**
 * One side of a divergence: the event that a recording has where the two part.
 *
 * Behind `kind` come what it is about (`node`, `tool`, a session's `speaker`) and what tells it from others of its kind: `output_hash`,
 * `request_hash`, `input_hash`, `worker`, `code`, `message`… A session's side has an `excerpt` of the first text that differs.
 */
export interface DiffSide {
  /** The run's id, or the session's. Empty where a partial recording does not say. */
  run_id: string;
  /** `evt_<logical time>` in a run, `rec_<place>` in a session. */
  event_id: string;
  /** The event's kind, or the record's type. */
  kind: string;
  /** The graph node concerned. */
  node?: string;
  /** The tool that is called or answers. */
  tool?: string;
  /** The hash of the output; in a session, of the JSON text of the tool's result. */
  output_hash?: string;
  [key: string]: unknown;
}

/** A value that is not the same on both sides. */
export interface DiffField {
  /** JSON pointer (RFC 6901) into the event as it is compared: `/kind`, `/node`, `/parent`, `/payload/…`; in a session `/type`, `/payload/…`. */
  path: string;
  /** The value on the left. Absent: it is not there, or `note` is `tooLarge`. */
  left?: unknown;
  /** The value on the right. */
  right?: unknown;
  /**
   * What else there is to say. `whitespace`: two texts that differ in white space only. `redacted`: they could be the same, one was
   * redacted. `otherPlace`: times that are the same number, but mean different events. `tooLarge`: a value of more than 4 MiB.
   */
  note?: 'whitespace' | 'redacted' | 'otherPlace' | 'tooLarge';
}

/** What an event came of. */
export interface CausalEdge {
  /** Its id. */
  event_id: string;
  /** Its kind, or type. */
  kind: string;
  /** What it is about: a tool, a node; in a session who speaks, and the tools. */
  label?: string;
  /** `recorded`: it stands in the log. `inferred`: it follows from the order of a session's records. */
  evidence: 'recorded' | 'inferred';
}

/** A difference between two recordings as wholes. */
export interface DiffEdit {
  /** `insert`: it is on the right only. `delete`: on the left only. `change`: it says something else. */
  op: 'insert' | 'delete' | 'change';
  /** The event on the left: its logical time; in a session, its place. */
  left?: number;
  /** The event on the right. */
  right?: number;
  /** What changed. Absent for `change` once all edits together have more than 32 MiB of it. */
  fields?: DiffField[];
}

/** Where two recordings part, and why. `docs/diff.md` says how each of it is found. */
export interface Diff {
  /** The logical time of the event on the left, on the right where the left has ended; in a session, the record's place from 0. */
  divergence_event: number;
  /** How they part. `HeaderMismatch`: another workflow or graph, another project. */
  kind: 'EventMismatch' | 'LeftEnded' | 'RightEnded' | 'HeaderMismatch';
  /** The event on the left, `null` where the left has ended. */
  left: DiffSide | null;
  /** The event on the right, `null` where the right has ended. */
  right: DiffSide | null;
  /** What differs between the two events. Empty where one side has ended. */
  fields: DiffField[];
  /** The ids of what the event came of, nearest first: on the left, or on the right where the left has ended. */
  causal_ancestors: string[];
  /** The same of both sides, with what each is. `truncated`: of that side there are more, before a partial recording or beyond 100 000. */
  ancestors: { left: CausalEdge[]; right: CausalEdge[]; truncated: { left: boolean; right: boolean } };
  /** The nearest ancestor that both have, by its id on the left. `null` if there is none. */
  common_ancestor: string | null;
  /** The node at which they part, and all that depend on it, nearest first. Empty for sessions, and for events that concern no node. */
  affected_nodes: string[];
  /** Why, as far as the recordings tell. `Unknown` where they do not. */
  likely_cause:
    | 'ExternalDataChanged'
    | 'InputChanged'
    | 'ScheduleChanged'
    | 'PolicyChanged'
    | 'WorkflowChanged'
    | 'LogTruncated'
    | 'Unknown';
  /** With `full`: all that differs, in order, with as few insertions and deletions as can be. */
  edits?: DiffEdit[];
  /** With `full`: the events that do not differ from the divergence on: numbers of the first of a stretch, and how many are compared in it. */
  equal?: { left: number; right: number; length: number }[];
  /** With `full`, instead of `edits`: it takes more insertions and deletions than `limit`. */
  edits_stopped?: { limit: number };
}

/** What {@link diff} is asked for. */
export interface DiffOptions {
  /** Also align the two as wholes, and list all that differs. Takes longer: both logs are read to their ends. Default `false`. */
  full?: boolean | undefined;
  /** Also compare heartbeats. Default `false`. */
  heartbeats?: boolean | undefined;
  /** What not to compare, on top of what never is: JSON pointers (RFC 6901) into the event. A pointer that leads nowhere is no error. */
  ignore?: string[] | undefined;
  /** Stops the comparison; the promise rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
  /** Told how many bytes of both logs together are compared, now and then and at the end. */
  onProgress?: ((progress: Progress) => void) | undefined;
}

/** What {@link diff} and {@link traceAncestors} reject with. */
export interface DiffError extends Error {
  /**
   * A code of runs (`docs/run-format.md`, section 13); of sessions `EmptyFile`, `MissingStart`, `InvalidStart`, `TooLarge`, `Changed`; the
   * system's own (`ENOENT`…); `NotComparable`: one is a run, the other a session; `NoSuchEvent`; a {@link BundleCode}.
   */
  code: string;
  /** Where a bundle was refused: all that is wrong with it. `code` and `path` are of the first. */
  problems?: BundleProblem[];
  /** Which of the two recordings it is about. */
  side?: 'left' | 'right';
  /** Logical time of the event of a run concerned. */
  time?: number;
  /** Its id. */
  eventId?: string;
  /** What should have been there. */
  expected?: string;
  /** What was. */
  found?: string;
  /** The system's number for its error, negative as in Node. */
  errno?: number;
  /** The system call that failed. */
  syscall?: string;
  /** The file concerned. */
  path?: string;
}

/**
 * Where two runs, or two sessions, part, and why.
 *
 * What is compared is what an execution did: not its ids, wall clocks, salts, hashes of lines, snapshots and stored blobs, heartbeats (unless
 * wanted), a session's ids of tool calls, and usage figures, timestamps and ids in metadata. Both logs are read side by side, off the
 * JavaScript thread, up to the first event that is not the same; memory does not grow with their length. No hashes are checked: that a
 * log is whole is for {@link verifyRun} to say.
 *
 * @param left - A run's directory or log, a session's file, or a bundle of either, which is verified first.
 * @param right - The same of the other.
 * @returns `null` if nothing that matters differs. Rejects with a {@link DiffError} if one can't be read up to where they part.
 * @throws TypeError - If an argument is of the wrong type, or an element of `ignore` is no JSON pointer.
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
 * A diff as people read it, without a line feed at its end. Characters that steer a terminal are escaped.
 *
 * @param diff - What {@link diff} resolved to.
 * @param options - `color`: with the escape sequences of a terminal (default `false`). `details`: also what is likely the cause, what is
 * affected, and each field that differs (default `false`).
 */
export declare function diffToText(diff: Diff | null, options?: { color?: boolean | undefined; details?: boolean | undefined }): string;

/**
 * What an event came of: a run's along the recorded parents, a session's as it follows from the order of its records.
 *
 * Only the lines that it takes are read, and none is verified.
 *
 * @param path - A run's directory or log, a session's file, or a bundle of either, which is verified first.
 * @param eventId - `evt_<logical time>` in a run, `rec_<place from 0>` in a session.
 * @returns The ancestors, nearest first, the event itself left out. `truncated`: there are more, before the beginning of a partial
 * recording or beyond 100 000. Rejects with a {@link DiffError}.
 * @throws TypeError - If an argument is of the wrong type.
 */
export declare function traceAncestors(
  path: string,
  eventId: string,
  options?: { signal?: AbortSignal | undefined },
): Promise<{ chain: CausalEdge[]; truncated: boolean }>;
