// Runs: workflows, the state of a run, replaying and verifying, recording.

import type { BundleProblem } from './bundle.js';
import type { Progress, RecordingOwner, RecordingWarning } from './common.js';
// Only for links in the comments.
import type { BundleCode, exportBundle, verifyBundle } from './bundle.js';
import type { RecordingError, RecordingWarningCode } from './common.js';

/**
 * The kinds of a run's events. Their payloads, effects and transitions are in sections 4 and 5 of the format's documentation, to
 * which all section numbers in this file refer: https://github.com/session-tape/session-tape/blob/main/docs/run-format.md
 */
export type RunEventKind =
  | 'RunCreated' | 'RunStarted' | 'RunCompleted' | 'RunFailed'
  | 'NodeScheduled' | 'NodeStarted' | 'NodeCompleted' | 'NodeFailed' | 'NodeSkipped'
  | 'ToolInvoked' | 'ToolCompleted' | 'ToolFailed' | 'ToolTimedOut'
  | 'CapabilityCheck' | 'PolicyDecision'
  | 'TaskAssigned' | 'TaskAccepted' | 'TaskRejected'
  | 'SnapshotCreated' | 'SnapshotRestored' | 'BlobStored' | 'Heartbeat' | 'Error';

/** The workflow that a run executes: nodes and their dependencies. */
export interface Workflow {
  /** A name for people, which is recorded in RunCreated; not part of the graph. */
  name: string;
  /** A version for people, which is recorded in RunCreated; not part of the graph. */
  version: string;
  /** The nodes. Their order has no effect. */
  nodes: WorkflowNode[];
}

/** A node of a {@link Workflow}. */
export interface WorkflowNode {
  /** Non-empty, unique in the workflow. Tasks are named after it: `<id>#<attempt>`. */
  id: string;
  /** The kind of node, as the workflow defines it. */
  kind: string;
  /** The tool that the node runs, if any. */
  tool?: string | undefined;
  /** Ids of the nodes that must be Completed or Skipped before this one is scheduled. Default: none. */
  dependsOn?: string[] | undefined;
  /** The capabilities that a worker needs to be assigned the tasks of this node. Default: none. */
  capabilities?: string[] | undefined;
}

/** The state of a run after an event. */
export interface RunState {
  coordinator: CoordinatorState;
  /** The workers by id: those of RunStarted, and those that were added by a Heartbeat. */
  workers: Record<string, WorkerState>;
  /**
   * SHA-256 in hex over status, logical time and all entries of the state (section 9): two executions with the same events have the same hash. It
   * does not depend on run id, wall clock and blobs.
   */
  stateHash: string;
}

/** The state of the run as a whole. */
export interface CoordinatorState {
  run: { id: string; status: 'Created' | 'Running' | 'Completed' | 'Failed' };
  /** The graph: its nodes by id, `dependsOn` as `edges` from the dependency to the node that waits for it. */
  dag: { nodes: WorkflowNode[]; edges: [string, string][] };
  /** Every node of the graph, by id. */
  nodeStates: Record<string, NodeState>;
  /** The tasks that wait for a worker, in order. */
  pendingTasks: string[];
  /** Ids of the nodes that are Completed, sorted by their UTF-8 bytes. */
  completedNodes: string[];
  /** The logical time of the last event. */
  logicalTime: number;
}

/** The state of a node. */
export interface NodeState {
  status: 'Pending' | 'Scheduled' | 'Running' | 'Completed' | 'Failed' | 'Skipped';
  /** Number of times the node was scheduled; 0 if it never was. */
  attempt: number;
  /** The task of the last attempt. Absent before the first attempt, and if the node was skipped before that task ran. */
  task?: string;
  /** The `outputHash` of NodeCompleted. */
  resultHash?: string;
  /** The error of the last failed attempt; absent again once a later attempt completes. */
  error?: { code: string; message: string };
}

/** The state of a worker. */
export interface WorkerState {
  workerId: string;
  /** The status in the worker's last Heartbeat; `idle` before the first. Tasks are assigned only to `idle` and `busy` workers. */
  status: string;
  /** The worker's current tasks, by id: Assigned, Accepted or Running. `assignedAt` is the logical time of TaskAssigned. */
  activeTasks: Record<string, { node: string; attempt: number; status: string; assignedAt: number }>;
  /** The tasks that the worker completed, in the order in which they ended. Failed ones are not included. */
  completedTasks: string[];
  /** The capabilities, sorted, without duplicates. */
  capabilities: string[];
}

/**
 * An error of a run, and its location (section 13).
 *
 * | `code` | means |
 * |---|---|
 * | `NotAJsonLine` | a complete line is not a JSON object, or not UTF-8 |
 * | `NotCanonical` | a line is a JSON object, but not in canonical form: other keys, another order, white space, a duplicate key |
 * | `UnsupportedVersion` | the line is of another format version |
 * | `UnknownKind` | the event is of a kind that this release does not know |
 * | `MissingField` | a required field of the line or its payload is missing |
 * | `InvalidField` | a field is of the wrong type or has an invalid value |
 * | `TooLarge` | a line, blob, snapshot or graph is over its limit (section 13) |
 * | `TimeGap` | the event does not have the logical time that its place requires: an event was lost, inserted, repeated or moved |
 * | `ParentMissing` | the parent that the event names is not an earlier event |
 * | `AfterEnd` | an event follows the end of the run |
 * | `IllegalTransition` | the state does not allow the event |
 * | `ChainBroken` | a hash does not match the stored bytes: they were changed after they were written |
 * | `StateMismatch` | the hash of the state is not the recorded one |
 * | `ScheduleMismatch` | the run's scheduler decides otherwise, or the worker to which a task is reassigned is not eligible; never with `external` |
 * | `WorkflowInvalid` | `workflow.json` or `dag.json` is not a valid graph |
 * | `DagMismatch` | `workflow.json`, `dag.json` and RunCreated do not belong together |
 * | `SnapshotInvalid` | a snapshot is damaged, of another run, or not signed by a trusted key |
 * | `BlobMissing`, `BlobCorrupt` | an output's blob is missing, or does not match its hash |
 * | `OutputMismatch` | a normalised output does not match its hash |
 * | `EmptyLog` | the log has no complete event |
 * | `NotARun` | the path is not that of a run: an empty or unrelated directory, a session's file, a run's log instead of its directory. The message says which |
 * | `ENOENT`, `EACCES` … | a system code: a file of the run can't be read. These errors also have `errno`, `syscall` and usually `path` |
 * | any {@link BundleCode} | the path is that of a bundle which does not verify. `path` is the file of the bundle concerned, if there is one |
 */
export interface RunError {
  /** A code of the table above. Later releases may add codes. */
  code: string;
  /** A message for people, in one line. */
  message: string;
  /** Logical time of the event concerned. Absent if the error concerns no event. */
  time?: number;
  /** The event's id, `evt_<time>`. */
  eventId?: string;
  /** The expected value, shortened if it is long. */
  expected?: string;
  /** The value that was found. */
  found?: string;
  /** The system's number for its error, negative as in Node. */
  errno?: number;
  /** The system call that failed. */
  syscall?: string;
  /** The file that could not be opened or read, or the file of the bundle concerned. */
  path?: string;
  /** If a bundle does not verify: all its problems. `code`, `message` and `path` are those of the first. */
  problems?: BundleProblem[];
}

/** A run that was replayed. */
export interface RunReplaySuccess {
  ok: true;
  /** The state after the last event, or after `until`. */
  state: RunState;
  /** Number of events that led to the state, including those before the snapshot. */
  eventCount: number;
  /** Id of the snapshot from which the replay began; `null` if it began with the first event. */
  fromSnapshot: string | null;
  /** The number of events and bytes that were read of the log, without those before the snapshot, and the time that this took. */
  metrics: { events: number; bytes: number; seconds: number };
  /**
   * Warnings about snapshots that were not used, with the reason, about a torn last line, and about a hole left by a power cut. Empty for an intact
   * run.
   */
  warnings: string[];
}

/** A run that can't be replayed. */
export interface RunReplayFailure {
  ok: false;
  /** The error of the earliest faulty event. */
  error: RunError;
  /** The state before that event, which is the last valid one. `null` if there is none. */
  state: RunState | null;
  /** As in {@link RunReplaySuccess}. */
  warnings: string[];
}

/** The result of a replay, discriminated by `ok`. */
export type RunReplayResult = RunReplaySuccess | RunReplayFailure;

/** Options of {@link replayRun}. */
export interface RunReplayOptions {
  /**
   * Begin with a snapshot: the one with this id (`snap_<logical time>`), the one in this file (`snap_<logical time>.cath-snap`, in any directory; a
   * name without a directory is that of one of the run's own), or the newest. If it can't be used (missing, damaged, of another run, not signed by
   * a trusted key, later than `until`), there is a warning, and the replay begins with the run's next older snapshot, or at the beginning if there
   * is none. Default: the beginning.
   */
  fromSnapshot?: string | 'latest' | undefined;
  /** Logical time of the last event to apply. If it is `Infinity` or beyond the end, all events are applied, which is the default. */
  until?: number | undefined;
  /**
   * How much of the replayed events is verified:
   *
   * - `'none'`: each line is in canonical form, in its place and has all fields, and the state allows the event.
   * - `'chain'` (default): also the hashes of each line and payload. Any changed byte of the log is detected.
   * - `'full'`: also the hash of the state after each event, the scheduler's decisions, the outputs of tools, and stored blobs.
   */
  verify?: 'none' | 'chain' | 'full' | undefined;
  /**
   * Ed25519 public keys in PEM (SPKI), as Node's `crypto` exports them. If there are any, a snapshot counts only if one of them signed it, or
   * signed the manifest of the bundle that contains it; a signed bundle counts only if one of them signed it. A partial bundle whose snapshot does
   * not count can't be replayed: `SnapshotInvalid`. Default: none, so that signatures are not checked.
   */
  trustedKeys?: string[] | undefined;
  /** Aborting it stops the work; the promise rejects with the signal's `reason`. */
  signal?: AbortSignal | undefined;
  /** Called on the JavaScript thread periodically while a large log is read, and once at the end with the total. */
  onProgress?: ((progress: Progress) => void) | undefined;
}

/** The result of one of the checks of {@link verifyRun}. */
export interface Check {
  /** Number of items that were checked, including those that failed. */
  checked: number;
  /** Number of checked items that failed. */
  failed: number;
  /** Number of items that could not be checked, because there is no state, or the required data is missing or was redacted. */
  unverifiable: number;
  /** The error of the earliest failed item. Absent if none failed. */
  firstFailure?: RunError;
}

/**
 * Result of {@link verifyRun}. A flag is `true` only if something was checked, nothing failed and nothing was unverifiable: a run
 * without tools has `outputHashesMatch: false`, and `outputHashes.checked` says why.
 */
export interface RunVerification {
  /** The log is complete and no check failed or was unverifiable. A run without outputs or snapshots can be `ok`. */
  ok: boolean;
  /** `workflow.json` compiles to the bytes of `dag.json`, whose hash RunCreated names, and has the name and version that RunCreated gives. */
  dagMatch: boolean;
  /** Each TaskAssigned is the decision of the run's scheduler in the state before it; with `external`, it was a legal transition. */
  scheduleMatch: boolean;
  /** The state after each event has the recorded hash. */
  stateHashesMatch: boolean;
  /** The raw blob of each ToolCompleted matches `rawHash`, and its normalised form `outputHash`. */
  outputHashesMatch: boolean;
  /**
   * The check of the lines: their form, place and hashes, and whether the state allows their events. Unverifiable: complete lines after a hole in
   * the log.
   */
  chain: Check;
  /** The check behind `dagMatch`: one item for the run. Unverifiable without `workflow.json`. */
  dag: Check;
  /** The check behind `scheduleMatch`: one item per TaskAssigned. */
  schedule: Check;
  /** The check behind `stateHashesMatch`: one item per event. A SnapshotRestored that claims another state than the one before it fails as well. */
  stateHashes: Check;
  /** The check behind `outputHashesMatch`: one item per ToolCompleted. */
  outputHashes: Check;
  /** The check of stored blobs: one item per BlobStored, whose blob must have its hash and its size. */
  blobs: Check;
  /** The check of the snapshot files: whether a replay could begin with them. */
  snapshots: Check;
}

/** Options of {@link verifyRun}. */
export interface RunVerifyOptions {
  /** As in {@link RunReplayOptions}: if there are any, each snapshot must be signed by one of them, or be in a bundle that is. */
  trustedKeys?: string[] | undefined;
  /** Aborting it stops the work; the promise rejects with the signal's `reason`. */
  signal?: AbortSignal | undefined;
  /** Called on the JavaScript thread periodically while a large log is read, and once at the end with the total. */
  onProgress?: ((progress: Progress) => void) | undefined;
}

/** An event of a run, as {@link readRunEvents} yields it. */
export interface RunEvent {
  /** `evt_<logicalTime>`. */
  eventId: string;
  /** 0, 1, 2 … without gaps. */
  logicalTime: number;
  /** Wall clock, ISO-8601, UTC. For people; nothing is ordered by it. */
  ts: string;
  kind: RunEventKind;
  /** The graph node concerned; `null` if there is none. */
  node: string | null;
  /** Id of the event that caused this one; `null` for RunCreated only. */
  parent: string | null;
  /** As `JSON.parse` returns it: the fields of the kind (section 4), and any others that were recorded. */
  payload: Record<string, unknown>;
  /** SHA-256 in hex of salt and payload. */
  payloadHash: string;
  /** Hash of the state after this event. */
  stateHash: string;
  /** Hash of the line and, through the hash of the previous line, of the whole log up to it. */
  hash: string;
}

/** Options of {@link readRunEvents}. */
export interface RunEventsOptions {
  /** Logical time of the first event, which is found without reading the log before it. Default: 0. */
  from?: number | undefined;
  /** Logical time of the last event. If it is `Infinity` or beyond the end, it is the log's last event, which is the default. */
  to?: number | undefined;
  /** Yield only events of these kinds. The others are read and checked, too. Default: all. */
  kinds?: RunEventKind[] | undefined;
  /** Aborting it stops the work, also that of opening a bundle; the iterator throws the signal's `reason` instead of its next event. */
  signal?: AbortSignal | undefined;
}

/**
 * Compiles a workflow to its graph (section 7), which is the content of `dag.json`.
 *
 * The same workflow gives the same bytes, whatever order its nodes, dependencies and capabilities were written in.
 *
 * @returns `dag`, the graph as canonical JSON, and `dagHash`, the SHA-256 of its UTF-8 bytes in hex, which RunCreated names.
 * @throws An `Error` with the `code` `WorkflowInvalid` if the nodes do not form a valid graph: a duplicate id, a dependency on an unknown node or
 * on the node itself, a cycle.
 * @throws TypeError - If `workflow`, or a field of it, is of the wrong type; the message names it (`workflow.nodes[2].id`).
 *
 * @example
 * ```ts
 * import { compileWorkflow } from 'session-tape';
 *
 * const { dag } = compileWorkflow({
 *   name: 'release', version: '1',
 *   nodes: [{ id: 'test', kind: 'task', dependsOn: ['build'] }, { id: 'build', kind: 'task', capabilities: ['net'] }],
 * });
 * console.log(dag.slice(0, 28)); // {"edges":[["build","test"]],
 * ```
 */
export declare function compileWorkflow(workflow: Workflow): { dag: string; dagHash: string };

/**
 * Replays a run, and returns its state after the last event or after any other.
 *
 * Works off the JavaScript thread, in memory bounded by the state and a window of the log. An incomplete last line is not part
 * of the run, and not an error.
 *
 * A bundle is verified first, as by {@link verifyBundle}, including its signature with `trustedKeys`: only files that match its manifest are
 * replayed. An archive is unpacked to a temporary directory, which is removed before the promise settles (or shortly after, if it settles because
 * of an abort). `onProgress` then reports bytes of the bundle, half of them for its verification.
 *
 * @param path - The run's directory, or its bundle: see {@link exportBundle}.
 * @returns Resolves whatever the run contains: a damaged or unreadable run gives `ok: false` and a {@link RunError}. Rejects with the reason of an
 * aborted `options.signal`, with the error that `options.onProgress` throws, and for a bug in session-tape with an `Error` whose `code` is
 * `ERUNPANIC` and whose `cause` has the message of the addon; in no other case.
 * @throws TypeError - At once, if an argument is of the wrong type, or a trusted key is not a public key.
 *
 * @example
 * ```ts
 * import { replayRun } from 'session-tape';
 *
 * const run = await replayRun('no-such-run.cath-bundle', { fromSnapshot: 'latest' });
 * if (run.ok) {
 *   console.log(run.state.coordinator.completedNodes, 'after', run.eventCount, 'events');
 * } else {
 *   console.log(run.error.code); // ENOENT
 * }
 * ```
 */
export declare function replayRun(path: string, options?: RunReplayOptions): Promise<RunReplayResult>;

/**
 * Verifies a run: recomputes everything that can be recomputed, and counts the differences from the recording.
 *
 * Continues after a failure where later checks are still meaningful. Works off the JavaScript thread, on two cores if available, in memory
 * bounded by the state and a window of the log.
 *
 * @param path - The run's directory, or its bundle: see {@link exportBundle}.
 * @returns Resolves whatever the run contains. For a run that can't be read, `chain.firstFailure` has the system's code. Rejects as
 * {@link replayRun} does.
 * @throws TypeError - At once, if an argument is of the wrong type, or a trusted key is not a public key.
 *
 * @example
 * ```ts
 * import { verifyRun } from 'session-tape';
 *
 * const { ok, chain } = await verifyRun('no-such-run.cath-bundle');
 * console.log(ok ? 'as it was recorded' : chain.firstFailure?.code); // ENOENT
 * ```
 */
export declare function verifyRun(path: string, options?: RunVerifyOptions): Promise<RunVerification>;

/**
 * Reads a run's events one by one: the event trace.
 *
 * Checks that each event, including those that `kinds` leaves out, is a line in canonical form, in its place, of a known kind and with all its
 * fields. Does not check hashes: {@link replayRun} and {@link verifyRun} do that.
 *
 * Reads ahead by at most one batch of a few hundred events, and reads nothing before the first event is requested. The log is closed at its end,
 * after an error, and when the iteration ends early. An iterator can be iterated only once: call the function again for another iteration.
 *
 * A bundle is verified before its first event is yielded; the unpacked files of an archive stay until the log is closed. A partial bundle
 * has only the events after its snapshot.
 *
 * @param path - The run's directory, or its bundle: see {@link exportBundle}.
 * @returns If the log is damaged or can't be read, the iterator yields the events before that place and then throws an `Error` with the
 * fields of {@link RunError}.
 * @throws TypeError - At once, if an argument is of the wrong type.
 *
 * @example
 * ```ts
 * import { readRunEvents } from 'session-tape';
 *
 * try {
 *   for await (const { eventId, kind, node } of readRunEvents('no-such-run.cath-bundle', { kinds: ['NodeFailed'] })) {
 *     console.log(eventId, kind, node);
 *   }
 * } catch (error) {
 *   console.log((error as { code: string }).code); // ENOENT
 * }
 * ```
 */
export declare function readRunEvents(path: string, options?: RunEventsOptions): AsyncGenerator<RunEvent, void, undefined>;

// ---- Runs: recording ---------------------------------------------------------------------------

/** Configuration of a {@link RunRecorder}. If a field is wrong or missing, the constructor throws a `TypeError` that names it. */
export interface RunRecorderConfig {
  /**
   * The run directory. It is created, with its parents. Unless `resume` is set, it must not contain a log yet: the constructor then throws an error
   * with the code `EEXIST`.
   */
  directory: string;
  /** Non-empty. State hashes do not depend on it, so that two equal executions have equal hashes. */
  runId: string;
  /**
   * The workflow that is executed. It is stored in `workflow.json` as it was passed, and in `dag.json` as the graph that it compiles to (section
   * 7).
   */
  workflow: Workflow;
  /**
   * The rule by which tasks are assigned to workers (section 8). The recorder only records assignments; {@link verifyRun} checks them against this
   * rule.
   */
  scheduler: 'round-robin' | 'least-loaded' | 'external';
  /** The capabilities of the run as a whole: non-empty strings. Default: none; with `resume`, the recorded ones. */
  capabilities?: string[] | undefined;
  /**
   * Resume the run in `directory`, if there is one. The log is replayed first, with every hash verified, on the calling thread: about a second per
   * 100 MB. `workflow`, `runId`, `scheduler` and, if given, `capabilities` must be those of the recorded run. Default `false`.
   *
   * A last line that was torn by a crash is cut off, and so is everything from a hole on that a power cut has left in the log; `onWarning` is
   * called with the code `TornTail`. Complete lines after a hole are kept in `events.cath-log.cut-<offset>`. A log without a complete event is
   * started anew. A damaged log is refused, as by {@link replayRun}, and not changed.
   */
  resume?: boolean | undefined;
  /**
   * What a resolved `flush()`, and a written blob or snapshot, guarantees. `'os'` (default): the bytes are with the operating system, and survive
   * the death of the process. `'fsync'`: they are on stable storage, and survive a power cut.
   */
  durability?: 'os' | 'fsync' | undefined;
  /**
   * The permissions of the log if this recorder creates it, less the umask of the process: from `0o600` to `0o777`, and the owner must be able to read
   * and write. `directory` and those for blobs and snapshots, if the recorder creates them, can be entered by whoever can read the log. Default `0o600`,
   * and so `0o700` for the directories: no one else can read the run. What exists keeps its permissions. Without effect on Windows.
   */
  mode?: number | undefined;
  /**
   * Called on the JavaScript thread: at most once after writing has ended because of an error, as for sessions (see {@link RecordingWarningCode};
   * `eventsDropped` counts the events that were appended until then and are not in the log), and with `resume` once with the code `TornTail` if
   * there was a torn line; once with the code `LockUnsupported` if the file system has no locks, so that nothing prevents a second recorder. After
   * these two, recording continues. Without it writing ends silently; see `isActive()`.
   */
  onWarning?: ((warning: RecordingWarning) => void) | undefined;
}

/** An event to append. */
export interface RunEventInput {
  /** The kind of event (section 4). Only the constructor records RunCreated. */
  kind: RunEventKind;
  /** The graph node concerned. If it is omitted or `null`, it is the node of the payload's `task`; without a task, none. */
  node?: string | null | undefined;
  /**
   * Id of the event that caused this one, `evt_<logical time>`; it must exist. If it is omitted or `null`, it is the event that section 6 implies
   * for the kind or, if that does not exist, the previous event.
   */
  parent?: string | null | undefined;
  /** The fields that section 4 lists for the kind, and any others, which are recorded as they are. */
  payload: Record<string, unknown>;
}

/**
 * The codes of the errors that a {@link RunRecorder} throws or rejects with, in addition to system codes (`ENOSPC`, `EACCES` …: these errors have
 * `errno`, `syscall` and `path`, as Node's have).
 *
 * | code | from | means |
 * |---|---|---|
 * | `EEXIST` | constructor | the directory contains a log, and `resume` is not set |
 * | `ERUNLOCKED` | constructor | another live recorder, of any process, has the log open; `owner` is its process, if that can be read |
 * | `WorkflowInvalid` | constructor | the workflow is not a valid graph: a cycle, a duplicate id, a dependency on an unknown node |
 * | `DagMismatch` | constructor | with `resume`: the recorded run has another graph |
 * | `RunMismatch` | constructor | with `resume`: the recorded run has another id, scheduler or capabilities |
 * | `RunSealed` | constructor | the directory is a bundle: it has a `manifest.json` |
 * | any of {@link RunError} | constructor | with `resume`: the log is damaged |
 * | `UnknownKind` | append | the kind does not exist |
 * | `MissingField`, `InvalidField` | append | a field of the payload, or the node, is missing or invalid |
 * | `IllegalTransition` | append | the state does not allow the event |
 * | `ParentMissing` | append | `parent` is not the id of an earlier event |
 * | `AfterEnd` | append | the run has ended: only SnapshotCreated and BlobStored may follow |
 * | `StateMismatch` | append | the state that SnapshotRestored names is not the current one |
 * | `TooLarge` | append, snapshot | the line would be longer than 16 MiB, or the snapshot than 1 GiB |
 * | `InvalidPrivateKey` | snapshot | `signWith` is not an Ed25519 private key |
 * | `RecorderDisposed` | append, putBlob, snapshot | `dispose()` was called |
 */
export type RunRecorderErrorCode =
  | 'EEXIST'
  | 'ERUNLOCKED'
  | 'WorkflowInvalid'
  | 'DagMismatch'
  | 'RunMismatch'
  | 'RunSealed'
  | 'UnknownKind'
  | 'MissingField'
  | 'InvalidField'
  | 'IllegalTransition'
  | 'ParentMissing'
  | 'AfterEnd'
  | 'StateMismatch'
  | 'TooLarge'
  | 'InvalidPrivateKey'
  | 'RecorderDisposed';

/** The errors that a {@link RunRecorder} throws or rejects with. Arguments of the wrong type throw a `TypeError` instead. */
export interface RunRecorderError extends Error {
  /** A {@link RunRecorderErrorCode}, another code of {@link RunError}, or a system code. */
  code: RunRecorderErrorCode | (string & {});
  /** The logical time that the refused event would have had, or that of the damaged event. */
  time?: number;
  /** The id of that event. */
  eventId?: string;
  /** The expected value, if the error is about a value. */
  expected?: string;
  /** The value that was found. */
  found?: string;
  /** The system's number for its error, negative as in Node. */
  errno?: number;
  /** The system call that failed. */
  syscall?: string;
  /** The file concerned. */
  path?: string;
  /** With `ERUNLOCKED`: the process that has the log open, if that can be read. */
  owner?: RecordingOwner;
}

/**
 * Records one run to one directory (section 1): its log, its graph, its snapshots and blobs.
 *
 * The constructor prepares the directory on the calling thread and records RunCreated. After that, recording works as for sessions: each event is
 * checked against the state and chained at once, and written by a background thread in batches. The cost of an event does not depend on the size of
 * the graph. Appended events are written even if the process ends without `flush()` or `dispose()`, and the recorder does not keep the process
 * running.
 *
 * While the recorder is open, the log is locked, also for other processes. The system releases the lock when its owner ends for whatever reason.
 *
 * A write error is never thrown. It ends the writing, but not the recorder: `append` still checks events and keeps the state in memory,
 * `isActive()` returns `false`, and `onWarning` is called with the reason. The log then ends with a complete event and can be resumed.
 *
 * @example
 * ```ts
 * import { mkdtempSync } from 'node:fs';
 * import { tmpdir } from 'node:os';
 * import { join } from 'node:path';
 * import { RunRecorder } from 'session-tape';
 *
 * const recorder = new RunRecorder({
 *   directory: join(mkdtempSync(join(tmpdir(), 'runs-')), 'release-7.cath-bundle'),
 *   runId: 'release-7',
 *   workflow: { name: 'release', version: '1', nodes: [{ id: 'build', kind: 'task' }] },
 *   scheduler: 'round-robin',
 *   onWarning: (warning) => console.error('not recording any more:', warning.message),
 * });
 * recorder.append({ kind: 'RunStarted', payload: { workers: [{ id: 'w1', capabilities: [] }] } });
 * recorder.append({ kind: 'NodeScheduled', payload: { task: 'build#1', dependsOn: [] } });
 * const { eventId } = recorder.append({ kind: 'TaskAssigned', payload: { task: 'build#1', worker: 'w1' } });
 * console.log(eventId); // evt_3
 * try {
 *   recorder.append({ kind: 'NodeCompleted', payload: { task: 'build#1', outputHash: recorder.putBlob('ok') } });
 * } catch (error) {
 *   console.log((error as { code: string }).code); // IllegalTransition
 * }
 * const { snapshotId } = await recorder.snapshot();
 * console.log(snapshotId); // snap_3
 * await recorder.dispose();
 * ```
 */
export declare class RunRecorder {
  /**
   * Prepares the directory and records RunCreated; with `resume`, continues after the last event. The directory is
   * prepared synchronously; the event is written in the background, like all others.
   *
   * @throws TypeError - If a field of `config` is missing or of the wrong type; the message names it.
   * @throws {@link RunRecorderError} - If the workflow, the directory or the log in it can't be used.
   */
  constructor(config: RunRecorderConfig);

  /**
   * Records an event.
   *
   * The payload is serialised synchronously, exactly as `JSON.stringify` would: changing the object afterwards has no effect. A refused
   * event uses no logical time and does not change the state or the log.
   *
   * @returns The event's id and its logical time. RunCreated has 0, and each further event one more.
   * @throws {@link RunRecorderError} - If the event is not legal; see {@link RunRecorderErrorCode}.
   * @throws TypeError - If a field of `event` is of the wrong type; and what `JSON.stringify` throws (a cycle, a BigInt).
   */
  append(event: RunEventInput): { eventId: string; logicalTime: number };

  /**
   * Stores bytes under their hash, synchronously and atomically; a blob that already exists is not written again. Records no event:
   * appending one that names the hash, or BlobStored, is up to the caller.
   *
   * @param data - The bytes; a string is encoded as UTF-8.
   * @param mediaType - The media type, for the caller's BlobStored; it is not stored.
   * @returns The SHA-256 of the bytes, in lower-case hex.
   * @throws {@link RunRecorderError} - If the bytes can't be written.
   */
  putBlob(data: Uint8Array | string, mediaType?: string): string;

  /**
   * Takes a snapshot of the state at the time of the call. Flushes the log, writes the file off the JavaScript thread, and then
   * appends SnapshotCreated. Concurrent calls are allowed.
   *
   * @param options - `signWith`: an Ed25519 private key in PEM (PKCS#8), as Node's `crypto` exports it. Without it the snapshot is not
   * signed.
   * @returns The snapshot's id, the logical time after which it was taken, and the hash of its content. Rejects with a
   * {@link RunRecorderError}, and writes no snapshot, if the key is invalid or the log or the file can't be written.
   */
  snapshot(options?: { signWith?: string | undefined }): Promise<{ snapshotId: string; logicalTime: number; contentHash: string }>;

  /** Returns the state after the last event, whether or not that event has been written. Each call returns a new object. */
  state(): RunState;

  /**
   * Resolves when everything appended before the call is in the log or, with `durability: 'fsync'`, on stable storage.
   *
   * @returns Resolves at once if nothing is pending or `onWarning` was already called for a failure. Rejects with a {@link RecordingError} if
   * writing failed for a reason that is not a {@link RecordingWarningCode} and events that were appended before the call are lost, whether the
   * failure came before or after the call; `onWarning` is called in either case.
   */
  flush(): Promise<void>;

  /** `true` from construction until `dispose()` or a write failure. */
  isActive(): boolean;

  /**
   * Ends recording: no more events are accepted, those appended before are still written, and snapshots in progress are finished.
   *
   * A program that does not await it loses nothing.
   *
   * @returns Resolves when the log is closed and its lock released. Further calls return the same promise.
   */
  dispose(): Promise<void>;
}
