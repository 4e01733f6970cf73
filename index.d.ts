/**
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
 * Reading, writing and verifying run off the JavaScript thread. Only `new RunRecorder`, `putBlob` and the first `reconcile` do their I/O synchronously.
 *
 * @packageDocumentation
 */

// Recording a session
export * from './dist/session/recorder.js'
export * from './dist/session/recorder-config.js'
export * from './dist/recording-warning.js'
export * from './dist/constants.js'

// Reading sessions
export * from './dist/session/replay.js'
export * from './dist/session/replay-result.js'
export * from './dist/session/open.js'
export * from './dist/session/read-records.js'
export * from './dist/session/media.js'
export * from './dist/session/header.js'
export * from './dist/session/preview.js'
export * from './dist/session/checkpoints.js'
export * from './dist/progress.js'

// Finding sessions
export * from './dist/session/list.js'
export * from './dist/session/summary.js'
export * from './dist/session/describe.js'
export * from './dist/session/scan-options.js'
export * from './dist/search/search.js'
export * from './dist/session/reference.js'

// Resuming, forking and deleting
export * from './dist/session/resume.js'
export * from './dist/session/fork.js'
export * from './dist/session/delete.js'
export * from './dist/session/failure.js'

// Names and checkpoints
export * from './dist/names/names.js'
export * from './dist/names/place.js'
export * from './dist/names/lock-error.js'

// Session locks
export * from './dist/locks/session-lock.js'
export * from './dist/locks/handle.js'
export * from './dist/locks/locked-error.js'

// Repairing, archiving and keeping
export * from './dist/session/repair.js'
export * from './dist/session/archive.js'
export * from './dist/session/keep.js'
export * from './dist/session/files.js'

// Sessions of other programs
export * from './dist/foreign/foreign.js'
export * from './dist/foreign/export.js'

// Recording a run
export * from './dist/run/recorder.js'
export * from './dist/run/workflow.js'

// Reading runs
export * from './dist/run/replay.js'
export * from './dist/run/events.js'
export * from './dist/run/state.js'
export * from './dist/run/error.js'

// Bundles
export * from './dist/bundle/bundle.js'
export * from './dist/bundle/error.js'

// Comparing
export * from './dist/diff/diff.js'
export * from './dist/diff/diff-text.js'
export * from './dist/diff/document.js'

// Items and records
export * from './dist/session/records.js'
