/** What is pending is the same in each run of a program, however fast the writer is: a record counts until its turn of the event loop has ended. */
import { expect, test } from 'vitest'
import { linesOf, said, startedRecorder } from '../support/recording'

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** Blocks this thread until the writer has written so many lines. */
function waitForLines(path: string, count: number): void {
  const gate = new Int32Array(new SharedArrayBuffer(4))
  const deadline = performance.now() + 100_000
  while (linesOf(path).length < count) {
    if (performance.now() > deadline) throw new Error('the lines were not written')
    Atomics.wait(gate, 0, 0, 1)
  }
}

test('a record that is written counts as pending until the event loop has turned', async () => {
  const { recorder, path } = await startedRecorder()
  const before = linesOf(path).length
  expect([recorder.getPendingRecordCount(), recorder.getPendingByteCount()]).toEqual([0, 0])
  recorder.recordContent(said('one'))
  recorder.recordContent(said('two'))
  waitForLines(path, before + 2)
  const bytes = linesOf(path)
    .slice(before)
    .reduce((sum, line) => sum + Buffer.byteLength(line) + 1, 0)
  expect([recorder.getPendingRecordCount(), recorder.getPendingByteCount()]).toEqual([2, bytes])
  await Promise.resolve()
  expect(recorder.getPendingRecordCount()).toBe(2)
  await turn()
  await turn()
  expect([recorder.getPendingRecordCount(), recorder.getPendingByteCount()]).toEqual([0, 0])
  recorder.recordContent(said('three'))
  waitForLines(path, before + 3)
  expect(recorder.getPendingRecordCount()).toBe(1)
  await recorder.dispose()
})

test('each recorder counts its own records, also in a turn that another one has begun', async () => {
  const [first, second] = [await startedRecorder(), await startedRecorder()]
  first.recorder.recordContent(said('of the first'))
  second.recorder.recordContent(said('of the second'))
  second.recorder.recordContent(said('and one more'))
  waitForLines(first.path, 3)
  waitForLines(second.path, 4)
  expect([first.recorder.getPendingRecordCount(), second.recorder.getPendingRecordCount()]).toEqual([1, 2])
  await Promise.all([first.recorder.dispose(), second.recorder.dispose()])
})

test('a flush or the end of the recorder ends the turn', async () => {
  const { recorder, path } = await startedRecorder()
  recorder.recordContent(said('flushed'))
  await recorder.flush()
  expect(recorder.getPendingRecordCount()).toBe(0)
  recorder.recordContent(said('written already'))
  waitForLines(path, 4)
  await recorder.flush()
  expect(recorder.getPendingRecordCount()).toBe(0)
  recorder.recordContent(said('disposed of'))
  await recorder.dispose()
  expect(recorder.getPendingRecordCount()).toBe(0)
})
