/** The longest line that a replay reads: no record is longer, whichever way it is recorded. */
import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { replaySession, said, startedRecorder, recordsOf } from '../support/recording'

const LIMIT = 536_870_888
const refusal = expect.objectContaining({
  code: 'RecordTooLong',
  message: `Cannot record: the line would be longer than ${LIMIT} bytes, and no replay could read it`,
}) as Error

describe('a record whose line no replay could read', () => {
  test('is cut off if it is a purge from a stream, and the session goes on', async () => {
    const { recorder, path } = await startedRecorder()
    const bytes = readFileSync(path)
    const big = said('y'.repeat(2 << 20))
    let given = 0
    const rows = function* () {
      for (; given < 300; given++) yield big
    }
    const recorded = recorder.recordSemanticMediaPurgeRows(rows(), { contentIndex: 0, blockIndex: 0 })
    const after = recorder.commit('note', 1)
    await expect(recorded).rejects.toEqual(refusal)
    expect(given).toBe(255)
    expect(await after).toMatchObject({ seq: 3 })
    await recorder.dispose()
    expect(readFileSync(path).subarray(0, bytes.length)).toEqual(bytes)
    expect(recordsOf(path)).toHaveLength(3)
    expect(await replaySession(path)).toMatchObject({ ok: true, lastSeq: 3 })
  }, 120_000)

  test('is refused if it is any other, and takes no number', async () => {
    const { recorder, path } = await startedRecorder()
    // One unit of a string, three bytes in the file; and one that is escaped to six.
    for (const text of ['€'.repeat(LIMIT / 3), '\u2028'.repeat(LIMIT / 6)]) {
      expect(() => recorder.enqueue('note', text)).toThrow(refusal)
      expect(() => recorder.commit('note', text)).toThrow(refusal)
      expect(() => recorder.prepareContentBatch([said(text)])).toThrow(refusal)
      expect(() => recorder.recordSemanticMediaPurge([said(text)], { contentIndex: 0, blockIndex: 0 })).toThrow(refusal)
    }
    expect(recorder.getLastEnqueuedSequence()).toBe(2)
    expect(await recorder.commit('note', 1)).toMatchObject({ seq: 3 })
    await recorder.dispose()
    expect(recordsOf(path)).toHaveLength(3)
  }, 120_000)
})
