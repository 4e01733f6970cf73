// Runs: workflows, the state of a run, replaying and verifying, recording.

import type { BundleProblem } from './bundle.js';
import type { Progress, RecordingOwner, RecordingWarning } from './common.js';
// Only for links in the comments.
import type { BundleCode, exportBundle, verifyBundle } from './bundle.js';
import type { RecordingError, RecordingWarningCode } from './common.js';

/**
 * What a run's events are about. Payloads, effects and transitions of each kind are sections 4 and 5 of the format's documentation, to
 * which all sections of this part refer: https://github.com/session-tape/session-tape/blob/main/docs/run-format.md
 */
export type RunEventKind =
  | 'RunCreated' | 'RunStarted' | 'RunCompleted' | 'RunFailed'
  | 'NodeScheduled' | 'NodeStarted' | 'NodeCompleted' | 'NodeFailed' | 'NodeSkipped'
  | 'ToolInvoked' | 'ToolCompleted' | 'ToolFailed' | 'ToolTimedOut'
  | 'CapabilityCheck' | 'PolicyDecision'
  | 'TaskAssigned' | 'TaskAccepted' | 'TaskRejected'
  | 'SnapshotCreated' | 'SnapshotRestored' | 'BlobStored' | 'Heartbeat' | 'Error';

/** What a run executes: nodes, and which of them wait for which. */
export interface Workflow {
  /** For people, and in RunCreated; not part of the graph. */
  name: string;
  /** The same. */
  version: string;
  /** In any order: it makes no difference. */
  nodes: WorkflowNode[];
}

/** A node of a {@link Workflow}. */
export interface WorkflowNode {
  /** Non-empty, unique in the workflow. Tasks are named after it: `<id>#<attempt>`. */
  id: string;
  /** What sort of node it is, in the workflow's own terms. */
  kind: string;
  /** The tool that it runs, if it is about one. */
  tool?: string | undefined;
  /** Ids of the nodes that must be Completed or Skipped before this one is scheduled. Left out: none. */
  dependsOn?: string[] | undefined;
  /** What a worker must be able to do to get its tasks. Left out: nothing. */
  capabilities?: string[] | undefined;
}

/** What is known of a run after an event. */
export interface RunState {
  coordinator: CoordinatorState;
  /** The workers by id: those of RunStarted, and those that Heartbeat has made known. */
  workers: Record<string, WorkerState>;
  /**
   * SHA-256 in hex over status, logical time and all entries of the state (section 9): two executions with the same events have the same. Run
   * id, wall clock and blobs are not in it.
   */
  stateHash: string;
}

/** The run as a whole. */
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
  /** The time of the last event. */
  logicalTime: number;
}

/** A node. */
export interface NodeState {
  status: 'Pending' | 'Scheduled' | 'Running' | 'Completed' | 'Failed' | 'Skipped';
  /** How often it was scheduled; 0 before the first time. */
  attempt: number;
  /** The task of the last attempt. Absent before the first, and when the node was skipped before that task ran. */
  task?: string;
  /** The `outputHash` of NodeCompleted. */
  resultHash?: string;
  /** Why the last attempt that failed did so; gone when a later one completes. */
  error?: { code: string; message: string };
}

/** A worker. */
export interface WorkerState {
  workerId: string;
  /** As its last Heartbeat said; `idle` before. Only an `idle` or a `busy` worker gets tasks. */
  status: string;
  /** The tasks that it has, by id: Assigned, Accepted or Running. `assignedAt` is the logical time of TaskAssigned. */
  activeTasks: Record<string, { node: string; attempt: number; status: string; assignedAt: number }>;
  /** The tasks that it completed, in the order in which they ended. Failed ones are not among them. */
  completedTasks: string[];
  /** Sorted, each once. */
  capabilities: string[];
}

/**
 * What is wrong with a run, and where (section 13).
 *
 * | `code` | means |
 * |---|---|
 * | `NotAJsonLine` | a complete line is not a JSON object, or not UTF-8 |
 * | `NotCanonical` | it is one, but not of the one form of a line: other keys, another order, white space, a key twice |
 * | `UnsupportedVersion` | the line is of another format version |
 * | `UnknownKind` | the event is of a kind that this release does not know |
 * | `MissingField` | a required field of the line or its payload is not there |
 * | `InvalidField` | a field is of the wrong type, or has a value that it can't have |
 * | `TooLarge` | a line, blob, snapshot or graph is over its limit (section 13) |
 * | `TimeGap` | the event does not have the logical time that its place demands: one was lost, inserted, repeated or moved |
 * | `ParentMissing` | the cause that the event names is not an earlier event |
 * | `AfterEnd` | an event after the end of the run |
 * | `IllegalTransition` | the state does not allow the event |
 * | `ChainBroken` | a hash is not that of the stored bytes: they were changed after they were written |
 * | `StateMismatch` | the state does not have the recorded hash |
 * | `ScheduleMismatch` | the run's scheduler decides otherwise, or the worker that a task is handed on to is not eligible; never under `external` |
 * | `WorkflowInvalid` | `workflow.json` or `dag.json` is no valid graph |
 * | `DagMismatch` | `workflow.json`, `dag.json` and RunCreated do not belong together |
 * | `SnapshotInvalid` | a snapshot is damaged, of another run, or not signed by a trusted key |
 * | `BlobMissing`, `BlobCorrupt` | an output's blob is not there, or does not have its hash |
 * | `OutputMismatch` | an output, normalised, does not have its hash |
 * | `EmptyLog` | there is not one whole event in the log |
 * | `NotARun` | what is at the path is no run: an empty directory or one of other things, a session's file, a run's log without its directory. The message says which |
 * | `ENOENT`, `EACCES` … | the system's own code: a file of the run can't be read. These have `errno`, `syscall` and, as a rule, `path` too |
 * | any {@link BundleCode} | the path is a bundle's, and it does not verify. `path` is the file of the bundle, if it is about one |
 */
export interface RunError {
  /** One of the table. Later releases may add to it. */
  code: string;
  /** The same for people, in one line. */
  message: string;
  /** Logical time of the event concerned. Absent if it is about no event. */
  time?: number;
  /** The same as the event's id, `evt_<time>`. */
  eventId?: string;
  /** What should have been there, shortened if it is long. */
  expected?: string;
  /** What was there instead. */
  found?: string;
  /** The system's number for its error, negative as in Node. */
  errno?: number;
  /** The system call that failed. */
  syscall?: string;
  /** The file that the system would not open, or the file of the bundle with which something is wrong. */
  path?: string;
  /** Of a bundle that does not verify: all that is wrong with it. `code`, `message` and `path` are of the first. */
  problems?: BundleProblem[];
}

/** A run that was replayed. */
export interface RunReplaySuccess {
  ok: true;
  /** After the last event, or after `until`. */
  state: RunState;
  /** How many events led to the state, those before the snapshot included. */
  eventCount: number;
  /** Id of the snapshot with which the replay began; `null` if it began with the first event. */
  fromSnapshot: string | null;
  /** What was read: events and bytes of the log, without those before the snapshot, and how long that took. */
  metrics: { events: number; bytes: number; seconds: number };
  /** Snapshots that were passed over, with the reason, and a torn last line. Empty for a sound run. */
  warnings: string[];
}

/** A run that can't be replayed. */
export interface RunReplayFailure {
  ok: false;
  /** What is wrong with the earliest event of which something is. */
  error: RunError;
  /** The state after the event before that one: the last good state. `null` if there is no such event. */
  state: RunState | null;
  /** As in {@link RunReplaySuccess}. */
  warnings: string[];
}

/** Either, told apart by `ok`. */
export type RunReplayResult = RunReplaySuccess | RunReplayFailure;

/** Options of {@link replayRun}. */
export interface RunReplayOptions {
  /**
   * Begin with a snapshot: the one of this id (`snap_<logical time>`), or in this file (`snap_<logical time>.cath-snap`, in whatever
   * directory; a name alone is that of one of the run's own), or the newest. If it can't be used (missing, damaged, of another run, not
   * signed by a trusted key, later than `until`), a warning says so, and the run's next older one is taken, or the beginning. Left
   * out: the beginning.
   */
  fromSnapshot?: string | 'latest' | undefined;
  /** Logical time of the last event that is taken. Left out, `Infinity`, or beyond the end: all there are. */
  until?: number | undefined;
  /**
   * How much is verified, of the events that are taken:
   *
   * - `'none'`: that each line is of the one form, in its place, with all its fields, and that the state allows the event.
   * - `'chain'` (default): also the hashes of each line and payload. Any stored byte that was changed is found.
   * - `'full'`: also the hash of the state after each event, the scheduler's decisions, and the outputs of tools.
   */
  verify?: 'none' | 'chain' | 'full' | undefined;
  /**
   * Ed25519 public keys in PEM (SPKI), as Node's `crypto` exports them. If there are any, a snapshot counts only if one of them signed it, or
   * the manifest of the bundle that it is in, and a bundle that is signed only if one of them signed it. A partial bundle with a snapshot that
   * does not count has nothing to start from: `SnapshotInvalid`. Left out, or empty: signatures are not looked at.
   */
  trustedKeys?: string[] | undefined;
  /** Aborting it stops the work; the promise rejects with the signal's `reason`. */
  signal?: AbortSignal | undefined;
  /** Called on the JavaScript thread now and then while a large log is read, and once at the end with the whole. */
  onProgress?: ((progress: Progress) => void) | undefined;
}

/** One of the things that {@link verifyRun} verifies. */
export interface Check {
  /** How many were looked at, those that failed included. */
  checked: number;
  /** How many of these are not as they should be. */
  failed: number;
  /** How many could not be looked at: for want of a state, or because what they need was left out or redacted. */
  unverifiable: number;
  /** What is wrong with the earliest that failed. Absent if none did. */
  firstFailure?: RunError;
}

/**
 * What {@link verifyRun} found. A flag is `true` only if something was checked, nothing failed and nothing was unverifiable: a run
 * without tools has `outputHashesMatch: false`, and `outputHashes.checked` says why.
 */
export interface RunVerification {
  /** The log is whole, and nothing at all failed or was unverifiable. What a run does not have, outputs or snapshots, is not held against it. */
  ok: boolean;
  /** `workflow.json` compiles to the bytes of `dag.json`, whose hash RunCreated names. */
  dagMatch: boolean;
  /** Each TaskAssigned is what the named scheduler decides from the state before it; with `external`, it was a legal transition. */
  scheduleMatch: boolean;
  /** The state after each event has the recorded hash. */
  stateHashesMatch: boolean;
  /** The raw blob of each ToolCompleted has its hash, and normalised the other. */
  outputHashesMatch: boolean;
  /** Lines: their form, place and hashes, and that the state allows their events. */
  chain: Check;
  /** Behind `dagMatch`: one for the run. Unverifiable without `workflow.json`. */
  dag: Check;
  /** Behind `scheduleMatch`: one for each TaskAssigned. */
  schedule: Check;
  /** Behind `stateHashesMatch`: one for each event. A SnapshotRestored that claims another state than the one before it fails as well. */
  stateHashes: Check;
  /** Behind `outputHashesMatch`: one for each ToolCompleted. */
  outputHashes: Check;
  /** Snapshot files: whether a replay could begin with them. */
  snapshots: Check;
}

/** Options of {@link verifyRun}. */
export interface RunVerifyOptions {
  /** As in {@link RunReplayOptions}: if there are any, each snapshot must be signed by one of them, or be in a bundle that is. */
  trustedKeys?: string[] | undefined;
  /** Aborting it stops the work; the promise rejects with the signal's `reason`. */
  signal?: AbortSignal | undefined;
  /** Called on the JavaScript thread now and then while a large log is read, and once at the end with the whole. */
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
  /** The graph node concerned; `null` if it is about none. */
  node: string | null;
  /** Id of the event that caused this one; `null` for RunCreated only. */
  parent: string | null;
  /** As `JSON.parse` gives it: what the kind has by section 4, and whatever else was recorded. */
  payload: Record<string, unknown>;
  /** SHA-256 in hex of salt and payload. */
  payloadHash: string;
  /** Hash of the state after this event. */
  stateHash: string;
  /** Hash of the line and, through the one before, of all that came before. */
  hash: string;
}

/** Options of {@link readRunEvents}. */
export interface RunEventsOptions {
  /** Logical time of the first event. It is found without reading what comes before. Left out: 0. */
  from?: number | undefined;
  /** Logical time of the last event. Left out, `Infinity`, or beyond the end: the log's last. */
  to?: number | undefined;
  /** Only events of these kinds. The others are read and checked all the same. Left out: all. */
  kinds?: RunEventKind[] | undefined;
}

/**
 * Compiles a workflow to its graph (section 7): what `dag.json` holds.
 *
 * The same workflow gives the same bytes, whatever order its nodes, dependencies and capabilities were written in.
 *
 * @returns `dag`, the graph as canonical JSON, and `dagHash`, the SHA-256 of its UTF-8 bytes in hex: what RunCreated names.
 * @throws An `Error` with the `code` `WorkflowInvalid` if the nodes are no graph: an id used twice, a dependency that is not there or is the node
 * itself, nodes that depend on each other in a circle.
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
 * Replays a run: its state after the last event, or after any.
 *
 * Works off the JavaScript thread, in memory bounded by the state and a window of the log. A last line that is not complete is no part
 * of the run, and no error.
 *
 * A bundle is verified first, as {@link verifyBundle} does it, with `trustedKeys` for its signature too: nothing is replayed that its manifest does
 * not vouch for. One that is an archive is unpacked to a temporary directory, which is gone when the promise settles (soon after, if
 * that is because of an abort). The bytes of `onProgress` are then those of the bundle, half of them for verifying it.
 *
 * @param path - The run's directory, or its bundle: see {@link exportBundle}.
 * @returns Resolves whatever is in the run: what is wrong with it is `ok: false` and a {@link RunError}, also where it can't be read.
 * Rejects with the reason of an aborted `options.signal`, with what `options.onProgress` throws, and for a bug in session-tape with an
 * `Error` whose `code` is `ERUNPANIC` and whose `cause` has what the addon said; for nothing else.
 * @throws TypeError - At once, if an argument is of the wrong type, or a trusted key is none.
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
 * Verifies a run: recomputes everything that can be recomputed, and counts what is not as recorded.
 *
 * Goes on behind a failure as far as that makes sense. Works off the JavaScript thread, on two cores where there are some, in memory
 * bounded by the state and a window of the log.
 *
 * @param path - The run's directory, or its bundle: see {@link exportBundle}.
 * @returns Resolves whatever is in the run; one that can't be read has `chain.firstFailure` with the system's code. Rejects as
 * {@link replayRun} does.
 * @throws TypeError - At once, if an argument is of the wrong type, or a trusted key is none.
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
 * Each is proven to be a line of the one form, in its place, of a known kind and with all its fields, those left out by `kinds` too. Hashes are
 * not looked at: {@link replayRun} and {@link verifyRun} do that.
 *
 * Reads ahead by one part of some hundred events, never more, and nothing before the first event is asked for. The log is
 * closed at its end, after an error, and when the iteration is left early. An iterator is for one iteration: call again for another.
 *
 * A bundle is verified before its first event is yielded; what is unpacked of an archive stays until the log is closed. One that begins with a
 * snapshot has only the events after that.
 *
 * @param path - The run's directory, or its bundle: see {@link exportBundle}.
 * @returns Where the log is damaged, or can't be read, the iterator throws, behind the events before: an `Error` with the fields of
 * {@link RunError}.
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

/** Configuration of a {@link RunRecorder}. A wrong or missing field throws a `TypeError` that names it. */
export interface RunRecorderConfig {
  /**
   * The run directory. Created, with its parents. It must not hold a log yet, unless `resume`: otherwise the constructor throws
   * an error with the code `EEXIST`.
   */
  directory: string;
  /** Non-empty. In no hash of a state, so that two equal executions have equal hashes. */
  runId: string;
  /** What is executed. `workflow.json` holds it as it is given, `dag.json` the graph that it compiles to (section 7). */
  workflow: Workflow;
  /**
   * How tasks find their workers (section 8). The recorder records assignments and does not make them; {@link verifyRun} checks
   * them against this.
   */
  scheduler: 'round-robin' | 'least-loaded' | 'external';
  /** What the run as a whole may do: non-empty strings. Default: none; with `resume`, what was recorded. */
  capabilities?: string[] | undefined;
  /**
   * Go on with the run in `directory`, if there is one. The log is replayed first, every hash verified, on the calling
   * thread: about a second for 100 MB. `workflow`, `runId`, `scheduler` and, if given, `capabilities` must be those of the
   * recorded run. Default `false`.
   *
   * A last line that a crash has torn is cut off, and `onWarning` is told with the code `TornTail`. A log without any whole event
   * begins anew. A damaged log is refused, as {@link replayRun} refuses it, and left as it is.
   */
  resume?: boolean | undefined;
  /**
   * What a resolved `flush()` promises, and what a blob or snapshot that was written is: `'os'` (default), the bytes are with the
   * operating system and survive the death of the process; `'fsync'`, they are on stable storage and survive a power cut.
   */
  durability?: 'os' | 'fsync' | undefined;
  /**
   * Called on the JavaScript thread: at most once when writing has ended because of an error, as for sessions (see
   * {@link RecordingWarningCode}; `eventsDropped` counts the events that were appended until then and are not in the log), and with `resume` once
   * with the code `TornTail` if there was a torn line. Without it writing ends in silence; `isActive()` tells.
   */
  onWarning?: ((warning: RecordingWarning) => void) | undefined;
}

/** An event to append. */
export interface RunEventInput {
  /** What it is about (section 4). RunCreated is recorded by the constructor, and only there. */
  kind: RunEventKind;
  /** The graph node concerned. Left out or `null`: the node of the payload's `task`; without a task, none. */
  node?: string | null | undefined;
  /**
   * Id of the event that caused this one, `evt_<logical time>`; it must exist. Left out or `null`: the one that section 6 implies for the
   * kind, or, where that does not exist, the event before.
   */
  parent?: string | null | undefined;
  /** The fields that section 4 lists for the kind, and any others: they are recorded as they are. */
  payload: Record<string, unknown>;
}

/**
 * Codes of what a {@link RunRecorder} throws or rejects with, besides the system's own (`ENOSPC`, `EACCES` …: these errors have
 * `errno`, `syscall` and `path`, as Node's have).
 *
 * | code | from | means |
 * |---|---|---|
 * | `EEXIST` | constructor | the directory holds a log, and `resume` was not asked for |
 * | `ERUNLOCKED` | constructor | another live recorder, of any process, has the log open; `owner` tells whose, where that can be read |
 * | `WorkflowInvalid` | constructor | the workflow is no graph: a cycle, an id used twice, a dependency that is not there |
 * | `DagMismatch` | constructor | with `resume`: the recorded run has another graph |
 * | `RunMismatch` | constructor | with `resume`: the recorded run has another id, scheduler or capabilities |
 * | `RunSealed` | constructor | the directory has a `manifest.json`, that is, it is a bundle |
 * | any of {@link RunError} | constructor | with `resume`: the log is damaged there |
 * | `UnknownKind` | append | there is no such kind |
 * | `MissingField`, `InvalidField` | append | a field of the payload, or the node, is missing or is not what it must be |
 * | `IllegalTransition` | append | the state does not allow the event |
 * | `ParentMissing` | append | `parent` is no id of an earlier event |
 * | `AfterEnd` | append | the run has ended: only SnapshotCreated and BlobStored may come |
 * | `StateMismatch` | append | what SnapshotRestored names is not the state |
 * | `TooLarge` | append, snapshot | the line would be longer than 16 MiB, or the snapshot than 1 GiB |
 * | `InvalidPrivateKey` | snapshot | `signWith` is no Ed25519 private key |
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

/** What a {@link RunRecorder} throws or rejects with. Arguments of the wrong type throw a `TypeError` instead. */
export interface RunRecorderError extends Error {
  /** A {@link RunRecorderErrorCode}, or another of {@link RunError} or of the system. */
  code: RunRecorderErrorCode | (string & {});
  /** The logical time that the refused event would have had, or that the damaged one has. */
  time?: number;
  /** The same as an event's id. */
  eventId?: string;
  /** What should have been, where there is something to compare. */
  expected?: string;
  /** What was. */
  found?: string;
  /** The system's number for its error, negative as in Node. */
  errno?: number;
  /** The system call that failed. */
  syscall?: string;
  /** The file concerned. */
  path?: string;
  /** With `ERUNLOCKED`: who has the log open, as far as that can be read. */
  owner?: RecordingOwner;
}

/**
 * Records one run to one directory (section 1): its log, its graph, its snapshots and blobs.
 *
 * The constructor makes the directory ready, on the calling thread, and records RunCreated. From then on recording is as
 * for sessions: each event is checked against the state and chained at once, and written by a background thread in whole
 * batches. An event costs the same however many nodes the graph has. What was appended is written also when the process ends
 * without `flush()` or `dispose()`, and the recorder does not keep the process open.
 *
 * The log is locked as long as the recorder has it, also against other processes. The lock goes with its owner, however that ends.
 *
 * A write error never throws into the program. It ends the writing, not the recorder: `append` goes on checking and keeps the state
 * in memory, `isActive()` says `false`, `onWarning` says why. The log then ends at a whole event, and can be resumed.
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
   * Makes the directory ready and records RunCreated; with `resume`, goes on behind the last event. The directory's own
   * I/O happens here and now; the event is written in the background, like all others.
   *
   * @throws TypeError - If a field of `config` is missing or of the wrong type; the message names it.
   * @throws {@link RunRecorderError} - For what is wrong with the workflow, the directory or the log in it.
   */
  constructor(config: RunRecorderConfig);

  /**
   * Records an event.
   *
   * The payload is serialised here and now, exactly as `JSON.stringify` would: changing the object afterwards changes nothing. What is
   * refused takes no logical time and leaves state and log as they are.
   *
   * @returns The event's id and its logical time: 0 is RunCreated, then one more each event.
   * @throws {@link RunRecorderError} - For an event that is not legal; see {@link RunRecorderErrorCode}.
   * @throws TypeError - If a field of `event` is of the wrong type; and what `JSON.stringify` throws (a cycle, a BigInt).
   */
  append(event: RunEventInput): { eventId: string; logicalTime: number };

  /**
   * Stores bytes under their hash, here and now: whole or not at all, and not again if they are there. Records nothing: an event that
   * names the hash, or BlobStored, is the caller's to append.
   *
   * @param data - The bytes; of a string, those of its UTF-8.
   * @param mediaType - For the caller's BlobStored; nothing is stored of it.
   * @returns The SHA-256 of the bytes, in lower-case hex.
   * @throws {@link RunRecorderError} - If the system does not let them be written.
   */
  putBlob(data: Uint8Array | string, mediaType?: string): string;

  /**
   * Takes a snapshot of the state as it is at the call. Flushes the log, writes the file, off the JavaScript thread, and then
   * appends SnapshotCreated. Several at once are fine.
   *
   * @param options - `signWith`: an Ed25519 private key in PEM (PKCS#8), as Node's `crypto` exports it. Without it the snapshot is not
   * signed.
   * @returns The snapshot's id, the logical time after which it was taken, and the hash of its content. Rejects with a
   * {@link RunRecorderError}, and nothing is written, if the key is none, or if the log or the file can't be written.
   */
  snapshot(options?: { signWith?: string | undefined }): Promise<{ snapshotId: string; logicalTime: number; contentHash: string }>;

  /** The state after the last event, whether or not that is written yet. The object is the caller's own. */
  state(): RunState;

  /**
   * Resolves when everything appended before the call is in the log, or, with `durability: 'fsync'`, on stable storage.
   *
   * @returns At once when nothing waits or the warning of a failure was given. Rejects with a {@link RecordingError} when writing failed
   * for a reason that is not a {@link RecordingWarningCode} and something that was appended before the call is lost by that, whether the
   * failure came before the call or after it; the warning comes in either case.
   */
  flush(): Promise<void>;

  /** `true` from construction until `dispose()` or a write failure. */
  isActive(): boolean;

  /**
   * Ends recording: nothing more is taken, what was appended before is still written, and snapshots under way are finished.
   *
   * A program that does not await it loses nothing.
   *
   * @returns Resolves when the log is closed and its lock released. A second call gives the same promise.
   */
  dispose(): Promise<void>;
}
