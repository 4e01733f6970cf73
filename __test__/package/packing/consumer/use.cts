// A strict TypeScript project's CommonJS module: compiled and run by package.spec.ts in a project of its own.
import tape = require('session-tape')

const replayed: Promise<tape.ReplayResult> = tape.replaySession('no-such-session.jsonl')
void replayed.then((replay) => {
  if (replay.ok) throw new Error('there is no such file')
  console.log(replay.error.slice(0, 27))
})

// If the package's types were not found, everything would be `any` and this would not be an error.
// @ts-expect-error a recorder needs its configuration
void (() => new tape.SessionRecordingService())
