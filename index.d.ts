/**
 * session-tape: the flight recorder of AI command-line tools.
 *
 * {@link SessionRecordingService} writes a session to an append-only JSONL file, off the JavaScript thread; {@link replaySession} folds such a file
 * back into the history that a CLI resumes from, and {@link readSessionRecords} yields every line of it.
 *
 * {@link RunRecorder} records a run, the execution of a workflow, as a hash-chained log; {@link replayRun}, {@link verifyRun} and
 * {@link readRunEvents} read it.
 *
 * {@link exportBundle} exports a run or a session as a bundle, which another machine can verify and replay: see {@link verifyBundle},
 * {@link importBundle}, and every reading function, which accepts a bundle as its path.
 *
 * "Replay rule N" and "recording rule N" in these declarations are the numbered rules of the file format's documentation:
 * https://github.com/session-tape/session-tape/blob/main/docs/session-format.md
 *
 * Every function checks its arguments first: an argument of the wrong type throws a `TypeError` synchronously, with
 * the `code` `ERR_INVALID_ARG_TYPE` and a message that names the argument (`filePath`, `options.throughSeq`,
 * `config.sessionId` …). The content of a file never causes a synchronous throw.
 *
 * @packageDocumentation
 */

// Only for links in the comment above.
import type { exportBundle, importBundle, verifyBundle } from './types/bundle.js';
import type { readRunEvents, replayRun, RunRecorder, verifyRun } from './types/run.js';
import type { readSessionRecords, replaySession, SessionRecordingService } from './types/session.js';

export * from './types/session.js';
export * from './types/session-finding.js';
export * from './types/session-lock.js';
export * from './types/session-names.js';
export * from './types/session-preview.js';
export * from './types/session-reference.js';
export * from './types/session-resuming.js';
export * from './types/run.js';
export * from './types/bundle.js';
export * from './types/diff.js';
export * from './types/common.js';
