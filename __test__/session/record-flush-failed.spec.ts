/**
 * Rules 5 and 6: a flush that is asked for when the writer has failed already, and nobody was told yet. It ends as one that
 * was pending does; after the warning there is nothing to flush.
 */
import { mkdirSync, renameSync, rmdirSync, unlinkSync } from 'node:fs';
import { fc, test } from '../support/property';
import { describe, expect } from 'vitest';
import { type Recorder, type Warning, freshDirectory, newRecorder, recordsOf, said, startedRecorder, watchedRecorder } from '../support/recording';

/** Not one turn of the event loop until the writer has failed, so that nobody can have been told; the bound only ends a test that has failed. */
function waitBusily(recorder: Recorder): void {
  for (const end = performance.now() + 10_000; recorder.isActive() && performance.now() < end;) Math.sqrt(2);
  expect(recorder.isActive()).toBe(false);
}

/** A recorder that goes on in what is a directory: EISDIR, of which flushes are told. */
function onADirectory(): { recorder: Recorder; warnings: Warning[]; path: string } {
  const path = freshDirectory();
  const watched = watchedRecorder();
  watched.recorder.initializeForResume(path, 3);
  return { ...watched, path };
}

const counts = fc.tuple(fc.integer({ min: 1, max: 30 }), fc.nat({ max: 30 }), fc.integer({ min: 1, max: 4 }));

describe('a failure that nobody was told of', () => {
  test.prop([counts], { numRuns: 60 })('rejects every flush until then, and counts all that was enqueued', async ([before, after, flushes]) => {
    const { recorder, warnings, path } = onADirectory();
    for (let i = 0; i < before; i++) recorder.recordContent(said('lost'));
    waitBusily(recorder);
    for (let i = 0; i < after; i++) recorder.recordContent(said('lost as well'));
    const asked = await Promise.allSettled(Array.from({ length: flushes }, () => recorder.flush()));
    for (const flush of asked) expect(flush).toMatchObject({ status: 'rejected', reason: { code: 'EISDIR', syscall: 'open', path } });
    expect(warnings).toMatchObject([{ code: 'EISDIR', eventsDropped: before + after, message: expect.stringMatching(` ${before + after} records? w`) }]);
    expect(await recorder.flush()).toBeUndefined();
    recorder.recordContent(said('ignored'));
    expect(await recorder.flush()).toBeUndefined();
    await recorder.dispose();
    expect(warnings).toHaveLength(1);
  });

  test.prop([fc.integer({ min: 1, max: 300 })], { numRuns: 40 })('or is found out at any moment of many records', async (count) => {
    const { recorder, warnings } = onADirectory();
    for (let i = 0; i < count; i++) recorder.recordContent(said('x'.repeat(i * 10)));
    await expect(recorder.flush()).rejects.toMatchObject({ code: 'EISDIR' });
    expect(warnings).toMatchObject([{ eventsDropped: count }]);
  });

  test('resolves a flush of a kind that a CLI goes on without a recording for', async () => {
    for (const count of [1, 10, 2000]) {
      const { recorder, warnings, path } = await startedRecorder();
      unlinkSync(path);
      recorder.recordContent(said('lost'));
      waitBusily(recorder);
      for (let i = 1; i < count; i++) recorder.recordContent(said('lost as well'));
      expect(await recorder.flush()).toBeUndefined();
      expect(warnings).toMatchObject([{ code: 'ENOENT', eventsDropped: count }]);
    }
  });

  test('is of no concern to a flush of nothing', async () => {
    const { recorder, warnings, path } = await startedRecorder();
    const flushed = recorder.flush();
    unlinkSync(path);
    mkdirSync(path);
    recorder.recordContent(said('lost'));
    expect(await flushed).toBeUndefined();
    await expect(recorder.flush()).rejects.toMatchObject({ code: 'EISDIR' });
    expect(warnings).toMatchObject([{ eventsDropped: 1 }]);
    rmdirSync(path);
  });

  test('is told before its flush settles; from within onWarning there is nothing to flush', async () => {
    const order: string[] = [];
    const recorder = newRecorder({ onWarning: () => void recorder.flush().then(() => order.push('flushed within'), () => order.push('rejected within')) });
    recorder.initializeForResume(freshDirectory(), 1);
    recorder.recordContent(said('lost'));
    waitBusily(recorder);
    await recorder.flush().catch(() => order.push('rejected'));
    expect(order).toEqual(['flushed within', 'rejected']);
  });
});

test.prop([fc.integer({ min: 1, max: 400 })], { numRuns: 25 })('what is in the file and what was dropped is what was enqueued', async (count) => {
  const { recorder, warnings, path } = await startedRecorder();
  for (let i = 0; i < count; i++) recorder.recordContent(said(`${i}`));
  const kept = `${path}.kept`;
  // In the middle of the writing.
  renameSync(path, kept);
  for (let i = 0; i < count; i++) recorder.recordContent(said(`${count + i}`));
  await recorder.flush();
  expect(recordsOf(kept).length + warnings[0]!.eventsDropped).toBe(2 + 2 * count);
});
