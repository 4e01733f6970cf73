/** `cleanUpLocks`: the files that it removes from a directory of sessions, and similar ones that it keeps. */
import { linkSync, lutimesSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { randomUUID } from 'node:crypto';
import { afterEach, describe, expect, vi } from 'vitest';
import { acquireSessionLock, cleanUpLocks } from '../../index.js';
import { eachCase } from '../support/each-case';
import { directoryOf } from '../support/file-directory';
import { fc, test } from '../support/property';
import { ageAll, DEAD_PID, guardOf, HOUR, ID, lockOf, makeOlder, markOf, MINUTE, namesIn, writeAged, writeLock } from '../support/session-locks';

afterEach(() => void vi.restoreAllMocks());

const UUID = 'b1946ac9-2492-4d23-85a1-0c7a7ef0f0ba';
const dead = (id: string): string => lockOf(DEAD_PID, { sessionId: id });

/** Files that are removed, by name: content, and age of the last modification. */
const REMOVED: Record<string, [content: string, age?: number]> = {
  'dead.lock': [dead('dead')],
  'without-token.lock': [lockOf(DEAD_PID, { sessionId: 'without-token', ownerToken: undefined })],
  'old.lock': [lockOf(process.ppid, { sessionId: 'old', age: 49 * HOUR })],
  'without-id.lock': [lockOf(DEAD_PID, { sessionId: undefined })],
  'id-is-no-text.lock': [lockOf(DEAD_PID, { sessionId: 7 })],
  'id-is-not-safe.lock': [lockOf(DEAD_PID, { sessionId: '../x' })],
  'without-pid.lock': ['{}', 49 * HOUR],
  'checkpoint-namespace-c0ffee.lock': [dead('checkpoint-namespace-c0ffee')],
};
const OTHERS_REMOVED: typeof REMOVED = {
  'a.lock.tguard': [lockOf(DEAD_PID)],
  'b.lock.tguard': [lockOf(process.ppid, { age: 11 * MINUTE })],
  'c.lock.tguard': ['', 11 * MINUTE],
  [`a.lock.${UUID}.locktmp`]: ['', 6 * MINUTE],
  [`b.lock.${UUID}.locktmp`]: [dead('b'), 49 * HOUR],
  '.session-tape-x': ['', 61 * MINUTE],
  '.session-tape-': ['', 61 * MINUTE],
};
/** Files that are kept. */
const KEPT: typeof REMOVED = {
  'alive.lock': [lockOf(process.ppid, { sessionId: 'alive' })],
  'of-another.lock': [lockOf(DEAD_PID, { sessionId: 'another' }), 100 * HOUR],
  'not-json.lock': ['12:34', 100 * HOUR],
  'empty.lock': ['', 100 * HOUR],
  'young.lock': ['{}', 47 * HOUR],
  'yarn.lock.bak': [dead('yarn'), 100 * HOUR],
  'a.b.lock': [dead('a.b'), 100 * HOUR],
  '.lock': [dead('x'), 100 * HOUR],
  'x.LOCK': [dead('x'), 100 * HOUR],
  'session-2026-02-11T16-00-71e871bd.jsonl.lock': [dead('x'), 100 * HOUR],
  'session-2026-02-11T16-00-71e871bd.jsonl': ['', 100 * HOUR],
  'session-2026-02-11T16-00-71e871bd.jsonl.snap': ['', 100 * HOUR],
  'd.lock.tguard': [lockOf(process.ppid, { age: 9 * MINUTE }), 100 * HOUR],
  'e.lock.tguard': ['', 9 * MINUTE],
  'a.b.lock.tguard': [lockOf(DEAD_PID), 100 * HOUR],
  'a.tguard': [lockOf(DEAD_PID), 100 * HOUR],
  'a.jsonl.lock.tguard': [lockOf(DEAD_PID), 100 * HOUR],
  [`c.lock.${UUID}.locktmp`]: ['', 4 * MINUTE],
  'c.lock.not-a-uuid.locktmp': ['', 100 * HOUR],
  [`c.lock.${UUID}x.locktmp`]: ['', 100 * HOUR],
  [`a.b.lock.${UUID}.locktmp`]: ['', 100 * HOUR],
  [`c.${UUID}.locktmp`]: ['', 100 * HOUR],
  [`c.lock.${UUID}.tmp`]: ['', 100 * HOUR],
  'c.locktmp': ['', 100 * HOUR],
  '.session-tape-young': ['', 59 * MINUTE],
  '.session-tap': ['', 100 * HOUR],
  'session-tape-x': ['', 100 * HOUR],
};

const makeOldLink = (target: string, path: string): void => {
  symlinkSync(target, path);
  const then = (Date.now() - 100 * HOUR) / 1000;
  lutimesSync(path, then, then);
};

const fill = (directory: string, files: typeof REMOVED): void => {
  for (const [name, [content, age]] of Object.entries(files)) writeAged(join(directory, name), content, age);
};

describe('a directory', () => {
  test.each(Object.entries({ ...REMOVED, ...OTHERS_REMOVED }))('is left without %s', async (name, [content, age]) => {
    const directory = directoryOf();
    writeAged(join(directory, name), content, age);
    expect(await cleanUpLocks(directory)).toBe(name in REMOVED ? 1 : 0);
    expect(namesIn(directory)).toEqual([]);
  });

  test('keeps files that only look similar', async () => {
    const directory = directoryOf();
    fill(directory, KEPT);
    expect(await cleanUpLocks(directory)).toBe(0);
    expect(namesIn(directory)).toEqual(Object.keys(KEPT).sort());
    for (const [name, [content]] of Object.entries(KEPT)) expect(readFileSync(join(directory, name), 'utf8')).toBe(content);
  });

  const some = (files: typeof REMOVED) => fc.subarray(Object.keys(files));
  test.prop([some(REMOVED), some(OTHERS_REMOVED), some(KEPT)], { numRuns: 25 })('with any mixture of files keeps the right ones, and the result is the number of removed locks', async (locks, others, kept) => {
    const directory = directoryOf();
    const all: typeof REMOVED = { ...REMOVED, ...OTHERS_REMOVED, ...KEPT };
    for (const name of [...locks, ...others, ...kept]) writeAged(join(directory, name), ...all[name]!);
    expect(await cleanUpLocks(`${directory}/`)).toBe(locks.length);
    expect(namesIn(directory)).toEqual([...kept].sort());
    expect(await cleanUpLocks(directory)).toBe(0);
  });

  test('keeps directories and links with any of these names, and the targets of the links', async () => {
    const names = Object.keys({ ...REMOVED, ...OTHERS_REMOVED });
    const makers: ((path: string, content: string) => unknown)[] = [
      (path) => mkdirSync(path),
      (path) => makeOldLink('nowhere', path),
      (path, content) => {
        const target = writeAged(join(directoryOf(), 'target'), content, 100 * HOUR);
        makeOldLink(target, path);
      },
    ];
    await eachCase(names, async (name) => {
      for (const make of makers) {
        const directory = directoryOf();
        make(join(directory, name), { ...REMOVED, ...OTHERS_REMOVED }[name]![0]);
        const before = namesIn(directory);
        expect(await cleanUpLocks(directory)).toBe(0);
        expect(namesIn(directory)).toEqual(before);
      }
    });
  });

  test('that does not exist or is a file has no locks; one that is not a string throws', async () => {
    const directory = directoryOf({ file: '' });
    expect([await cleanUpLocks(join(directory, 'none')), await cleanUpLocks(join(directory, 'file'))]).toEqual([0, 0]);
    expect(() => cleanUpLocks(7 as never)).toThrow(TypeError);
  });

  test('keeps the locks that are held, by this thread too', async () => {
    const directory = directoryOf();
    const locks = await Promise.all(['a', 'b', 'c'].map((id) => acquireSessionLock(directory, id)));
    fill(directory, { 'dead.lock': [dead('dead')] });
    ageAll(directory, 100 * HOUR);
    expect(await cleanUpLocks(directory)).toBe(1);
    expect(await Promise.all(locks.map((lock) => lock.ownsLock()))).toEqual([true, true, true]);
    await Promise.all(locks.map((lock) => lock.release()));
  });

  test('that several clean at once loses each lock once', async () => {
    const directory = directoryOf();
    const ids = Array.from({ length: 20 }, () => randomUUID());
    for (const id of ids) writeLock(directory, dead(id), { id });
    const counts = await Promise.all([1, 2, 3].map(() => cleanUpLocks(directory)));
    expect(counts.reduce((sum, count) => sum + count)).toBe(20);
    expect(namesIn(directory)).toEqual([]);
  });
});

describe('files with two names', () => {
  const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

  test('a guard that is the lock itself is removed once its inode no longer changes', async () => {
    const directory = directoryOf();
    const path = writeLock(directory, lockOf(process.ppid));
    linkSync(path, guardOf(path));
    await cleanUpLocks(directory);
    expect(namesIn(directory)).toEqual([`${ID}.lock`, `${ID}.lock.tguard`]);
    await pause(300);
    expect(await cleanUpLocks(directory)).toBe(0);
    expect(namesIn(directory)).toEqual([`${ID}.lock`]);
  });

  test('the mark of a process that has ended is removed, and the guard with it', async () => {
    for (const link of [true, false]) {
      const directory = directoryOf();
      const path = writeLock(directory, lockOf(process.ppid));
      if (link) linkSync(path, guardOf(path));
      else writeFileSync(guardOf(path), lockOf(DEAD_PID));
      linkSync(guardOf(path), markOf(path, readFileSync(guardOf(path))));
      await pause(260);
      ageAll(directory, 6 * MINUTE);
      expect(await cleanUpLocks(directory)).toBe(0);
      await pause(300);
      await cleanUpLocks(directory);
      expect(namesIn(directory)).toEqual([`${ID}.lock`]);
    }
  });

  test('a temporary file that is linked to the lock is removed, the lock stays', async () => {
    const directory = directoryOf();
    const path = writeLock(directory, lockOf(process.ppid), { age: 6 * MINUTE });
    linkSync(path, `${path}.${UUID}.locktmp`);
    expect(await cleanUpLocks(directory)).toBe(0);
    expect(namesIn(directory)).toEqual([`${ID}.lock`]);
  });

  test('the mark of a process that is at work stays, whatever the age of the guard', async () => {
    const directory = directoryOf();
    const path = writeLock(directory, lockOf(process.ppid));
    writeAged(guardOf(path), lockOf(DEAD_PID), 6 * MINUTE);
    const mark = markOf(path, readFileSync(guardOf(path)));
    linkSync(guardOf(path), mark);
    // Its inode changes while `cleanUpLocks` watches.
    const working = setInterval(() => makeOlder(mark, 6 * MINUTE), 50);
    await cleanUpLocks(directory);
    clearInterval(working);
    expect(namesIn(directory)).toHaveLength(3);
  });
});
