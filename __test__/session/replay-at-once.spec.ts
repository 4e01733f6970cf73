// replaySession of a small file that is in memory runs without another thread: with the same result, and without blocking the event loop.

import '../support/on-disk.js'; // Only of a file on a disk can the system say whether it is in memory.
import { createRequire } from 'node:module';
import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect } from 'vitest';
import { fc, test } from '../support/property';
import { exportBundle, replaySession } from '../../index.js';
import type { ReplayOptions } from '../../index.js';
import { PROJECT_HASH, content, session, writeSession } from '../support/session-file.js';
import { anyFile } from '../support/line-arbitraries.js';
import { expectSameReplay } from '../support/same-replay.js';
import { runs } from '../support/session-arbitraries.js';

const LIMIT = 64 << 10;
/** The addon's own functions: null if the file can't be replayed without waiting, and a task of the thread pool. */
const { native } = createRequire(import.meta.url)('../../dist/addon.js') as {
  native: {
    replayAtOnce: (filePath: string, options: object) => object | null;
    replaySmall: (filePath: string, options: object) => Promise<object | null>;
  };
};
const LENIENT = { auditTrail: false, progress: false, snapshot: false, strict: false };

const root = mkdtempSync(join(tmpdir(), 'session-tape-at-once-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

/** Repeats the attempt: a single one may fail while the system is busy with neighbouring names. */
const isReplayedAtOnce = (path: string): boolean =>
  Array.from({ length: 100 }, () => native.replayAtOnce(path, LENIENT)).some((job) => job !== null);

const worksHere = isReplayedAtOnce(writeSession(session()));

/** Replays through a job: a replay that reports progress is not done at once. */
const byJob = (path: string, options: ReplayOptions): Promise<unknown> =>
  replaySession(path, undefined, { ...options, onProgress: () => {} });

const anyOptions = fc.record({
  strict: fc.boolean(),
  auditTrail: fc.boolean(),
  throughSeq: fc.option(fc.integer({ min: 0, max: 8 }), { nil: undefined }),
});

describe('at once or by a job, the result is the same', () => {
  test.prop([anyFile, anyOptions], runs(200))('for any file and options', async (bytes, options) => {
    const path = writeSession(bytes);
    expectSameReplay(await replaySession(path, undefined, options), (await byJob(path, options)) as never);
  });

  test.prop([fc.array(fc.integer({ min: 0, max: 400 }), { minLength: 1, maxLength: 12 })], runs(20))(
    'while a file grows beyond the size that is replayed at once',
    async (kilobytes) => {
      const path = writeSession(session());
      let [seq, expected] = [1, 0];
      for (const size of kilobytes) {
        seq += 1;
        expected += 1;
        const payload = { content: { speaker: 'human', blocks: [{ type: 'text', text: 'é'.repeat(size << 9) }] } };
        appendFileSync(path, `${JSON.stringify({ v: 1, seq, ts: '2026-02-11T16:00:00.000Z', type: 'content', payload })}\n`);
        const replay = await replaySession(path, PROJECT_HASH);
        if (!replay.ok) throw new Error(replay.error);
        expect(replay.history).toHaveLength(expected);
        expect(replay.history.at(-1)).toStrictEqual(payload.content);
      }
    },
  );

  test('with an error if there is no session', async () => {
    for (const [name, bytes] of Object.entries({ empty: '', garbage: 'garbage\n', blank: '\n\n' })) {
      const path = join(root, `${name}.jsonl`);
      writeFileSync(path, bytes);
      expect(await replaySession(path)).toStrictEqual(await byJob(path, {}));
    }
    expect(await replaySession(join(root, 'none.jsonl'))).toMatchObject({ ok: false, error: expect.stringContaining('ENOENT') });
    expect(await replaySession(root)).toMatchObject({ ok: false });
  });

  test('of a bundle', async () => {
    const path = writeSession(session(content('a'), content('b')));
    const archive = join(root, 'bundle.stape');
    await exportBundle(path, archive);
    expect(native.replayAtOnce(archive, LENIENT)).toBeNull();
    const replay = await replaySession(archive);
    expect(replay.ok && replay.history).toHaveLength(2);
  });
});

describe.skipIf(!worksHere)('a small file in memory', () => {
  test('is replayed at once up to 64 KiB, and as a whole', () => {
    for (const [excess, atOnce] of [[0, true], [1, false]] as const) {
      const frame = Buffer.byteLength(session(content('')));
      const text = session(content('x'.repeat(LIMIT - frame + excess)));
      expect(isReplayedAtOnce(writeSession(text))).toBe(atOnce);
    }
  });

  test('has its result before the next turn of the event loop', async () => {
    const path = writeSession(session(content('a')));
    const answers = [];
    for (let i = 0; i < 30; i += 1) {
      let turned = false;
      const turn = new Promise<void>((resolve) => {
        setImmediate(() => {
          turned = true;
          resolve();
        });
      });
      await replaySession(path);
      answers.push(turned);
      await turn;
    }
    expect(answers).toContain(false);
  });

  test('does not hold the event loop up with its neighbours', async () => {
    const path = writeSession(session(content('a')));
    let [inThisTurn, most, done] = [0, 0, false];
    const nextTurn = (): void => {
      most = Math.max(most, inThisTurn);
      inThisTurn = 0;
      if (!done) setImmediate(nextTurn);
    };
    nextTurn();
    const reader = async (): Promise<void> => {
      for (let i = 0; i < 40; i += 1) {
        await replaySession(path);
        inThisTurn += 1;
      }
    };
    await Promise.all(Array.from({ length: 16 }, reader));
    done = true;
    // A turn has two phases in which a loop can continue; each has eight replays on this thread, and the results of other threads.
    expect(Math.max(most, inThisTurn)).toBeLessThanOrEqual(2 * (8 + 16));
  });
});
