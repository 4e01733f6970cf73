/**
 * One of several processes that record into the same file: opens it as a resumed session would and appends.
 * Arguments: file, name of the writer, number of records, lastSeq, records between two flushes, bytes per record.
 */
import tape from '../../index.js'
import { configOf } from './child-parts.mjs'

const [path, writer, count, lastSeq, every, size] = process.argv.slice(2)
const recorder = new tape.SessionRecordingService(configOf('/nowhere'))
recorder.initializeForResume(path, Number(lastSeq))
for (let i = 0; i < Number(count); i++) {
  // Now and then a record larger than a page or a pipe buffer: if writes can be split at all, this one is.
  const text = size ? 'y'.repeat(Number(size)) : i % 500 === 250 ? '€'.repeat(50_000) : 'x'.repeat((i * 37) % 300)
  recorder.enqueue('note', { writer, i, text })
  if (i % Number(every) === Number(every) - 1) await recorder.flush()
  if (i === 0) console.log('recording')
}
await recorder.dispose()
