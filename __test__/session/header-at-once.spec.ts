// readSessionHeader of a file that is in memory answers without another thread: with the same answer, and without blocking the event loop.

import '../support/on-disk.js'; // Only of a file on a disk can the system say whether it is in memory.
import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { existsSync, linkSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { afterAll, describe, expect } from 'vitest';
import { fc, test } from '../support/property';
import { readSessionHeader, readSessionHeaders } from '../../index.js';
import { START_PAYLOAD, content, file, session, start, writeSession } from '../support/session-file.js';
import { eachCase } from '../support/each-case.js';
import { anyFile } from '../support/line-arbitraries.js';
import { childReport, isLinux, unprivileged } from '../support/processes';
import { runs } from '../support/session-arbitraries.js';
import { expectSame } from '../support/same-replay.js';

const PAGE = 4096;
/** The addon's own function: null if it can't answer without waiting. */
const { native } = createRequire(import.meta.url)('../../dist/addon.js') as { native: { readHeaderNow: (filePath: string) => string | null } };
const { readHeaderNow } = native;
const canMakePipes = isLinux && spawnSync('mkfifo', ['--version']).status === 0;

const roots: string[] = [];
afterAll(() => roots.forEach((root) => rmSync(root, { recursive: true, force: true })));
function newRoot(parent = tmpdir()): string {
  const root = realpathSync(mkdtempSync(join(parent, 'session-tape-header-')));
  roots.push(root);
  return root;
}
const root = newRoot();

/** Whether this system, and the file system of the temporary directory, can answer at once at all. */
const answersAtOnce = (() => {
  const path = join(root, 'probe.jsonl');
  writeFileSync(path, session());
  return Array.from({ length: 100 }, () => readHeaderNow(path)).some((header) => header !== null);
})();

/** A file whose first line has `length` bytes, newline included. */
function lineOf(length: number, after = ''): string {
  const frame = Buffer.byteLength(file(start({ model: '' })));
  return file(start({ model: 'm'.repeat(length - frame) })) + after;
}

/** Starts a new round of attempts, so that the next read is attempted at once. */
const newRound = (): Promise<unknown> => readSessionHeader('none');

/** Asserts that the immediate answer, if there is one, is the same as that of the threads. */
async function expectOneAnswer(path: string): Promise<void> {
  const [found] = await readSessionHeaders([path]);
  const now = readHeaderNow(path);
  if (now !== null) expectSame(JSON.parse(now), found);
  expectSame(await readSessionHeader(path), found);
}

describe('at once or not, the answer is the same', () => {
  test.prop([anyFile], runs(300))('for any file', async (bytes) => {
    await expectOneAnswer(writeSession(bytes));
  });

  test('for first lines about as long as a page, ended or not', async () => {
    for (let length = PAGE - 3; length <= PAGE + 3; length += 1) {
      for (const text of [lineOf(length), lineOf(length, session(content('a'))), lineOf(length).slice(0, -1)]) {
        const path = writeSession(text);
        await expectOneAnswer(path);
        expect(await readSessionHeader(path)).toStrictEqual(JSON.parse(text.split('\n')[0]!).payload);
      }
    }
  });

  test('for anything that a path can lead to', async () => {
    const at = (name: string) => join(root, name);
    writeFileSync(at('good.jsonl'), session());
    writeFileSync(at('empty.jsonl'), '');
    writeFileSync(at('sparse.jsonl'), '');
    truncateSync(at('sparse.jsonl'), 1 << 20);
    linkSync(at('good.jsonl'), at('hard.jsonl'));
    symlinkSync('good.jsonl', at('link.jsonl'));
    symlinkSync('link.jsonl', at('link-of-link.jsonl'));
    symlinkSync('circle.jsonl', at('circle.jsonl'));
    symlinkSync('nowhere', at('dangling.jsonl'));
    mkdirSync(at('directory.jsonl'));
    const good = ['good.jsonl', 'hard.jsonl', 'link.jsonl', 'link-of-link.jsonl', 'directory.jsonl/../good.jsonl'].map(at);
    good.push(relative(process.cwd(), at('good.jsonl')));
    const bad = ['empty.jsonl', 'sparse.jsonl', 'circle.jsonl', 'dangling.jsonl', 'directory.jsonl', 'good.jsonl/', 'good.jsonl/deeper', 'none.jsonl'].map(at);
    bad.push('', '.', '/', 'a\0b', '\ud800', 'x'.repeat(300), 'x'.repeat(5000), '/dev/null', '/dev/zero', '/proc/self/environ', '/proc/self/fd/0');
    await eachCase([...good, ...bad], async (path) => {
      await newRound();
      await expectOneAnswer(path);
      expect(await readSessionHeader(path)).toStrictEqual(good.includes(path) ? START_PAYLOAD : null);
    });
  });

  test.skipIf(!existsSync('/dev/shm'))('on a file system in memory', async () => {
    const path = join(newRoot('/dev/shm'), 'a.jsonl');
    writeFileSync(path, session());
    await expectOneAnswer(path);
    expect(await readSessionHeader(path)).toStrictEqual(START_PAYLOAD);
  });

  test.skipIf(!canMakePipes)('null for a pipe without a writer', async () => {
    const pipe = join(root, 'pipe.jsonl');
    spawnSync('mkfifo', [pipe]);
    expect(await childReport('child-listing.mjs', ['header', pipe], { timeoutMs: 10_000 })).toStrictEqual(null);
  });

  // Skipped if there is no user that permissions apply to and who can load the addon.
  test.skipIf(unprivileged === null)('for files of other users, readable and not', async () => {
    const directory = newRoot();
    spawnSync('chmod', ['755', directory]);
    const [open, closed] = [join(directory, 'open.jsonl'), join(directory, 'closed.jsonl')];
    writeFileSync(open, session(), { mode: 0o644 });
    writeFileSync(closed, session(), { mode: 0o000 });
    const user = unprivileged ?? {};
    expect(await childReport('child-listing.mjs', ['header', open], user)).toStrictEqual(START_PAYLOAD);
    expect(await childReport('child-listing.mjs', ['header', closed], user)).toBeNull();
  });

  test('after each change of the file', async () => {
    const path = join(root, 'changing.jsonl');
    for (let i = 0; i < 200; i += 1) {
      writeFileSync(path, i % 3 === 0 ? 'garbage\n' : file(start({ sessionId: `session ${i}` })));
      expect((await readSessionHeader(path))?.sessionId).toBe(i % 3 === 0 ? undefined : `session ${i}`);
    }
    rmSync(path);
    expect(await readSessionHeader(path)).toBeNull();
  });

  test('but a new object each time', async () => {
    const path = writeSession(session());
    expect(await readSessionHeader(path)).not.toBe(await readSessionHeader(path));
  });
});

describe.skipIf(!answersAtOnce)('a file in memory', () => {
  test('is answered before the next turn of the event loop', async () => {
    const path = writeSession(session());
    const wentOn = async (): Promise<boolean> => {
      await newRound();
      let turned = false;
      const turn = new Promise<void>((resolve) => {
        setImmediate(() => {
          turned = true;
          resolve();
        });
      });
      await readSessionHeader(path);
      const before = turned;
      await turn;
      return before;
    };
    // A single attempt may fail while the system is busy with neighbouring names.
    const answers = [];
    for (let i = 0; i < 20; i += 1) answers.push(await wentOn());
    expect(answers).toContain(false);
  });
});

describe('the event loop goes on', () => {
  /** The largest number of headers that were read between two turns of the event loop. */
  async function mostInATurn(readers: number, each: number): Promise<number> {
    const path = writeSession(session());
    let [inThisTurn, most, done] = [0, 0, false];
    const nextTurn = (): void => {
      most = Math.max(most, inThisTurn);
      inThisTurn = 0;
      if (!done) setImmediate(nextTurn);
    };
    nextTurn();
    const reader = async (): Promise<void> => {
      for (let i = 0; i < each; i += 1) {
        expect(await readSessionHeader(path)).not.toBeNull();
        inThisTurn += 1;
      }
    };
    await Promise.all(Array.from({ length: readers }, reader));
    done = true;
    return Math.max(most, inThisTurn);
  }

  // A turn has two phases in which a loop can continue; in each it can read 64 files on this thread and one on another.
  test('in a loop over many files', async () => {
    expect(await mostInATurn(1, 3000)).toBeLessThanOrEqual(2 * 65);
  });

  test('in several loops at a time', async () => {
    expect(await mostInATurn(32, 300)).toBeLessThanOrEqual(2 * (64 + 32));
  });
});
