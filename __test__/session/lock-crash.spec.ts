/** Processes that are killed while they acquire, take over, renew, release or clean up: what they leave never blocks a session for good. */
import { linkSync, mkdirSync, unlinkSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { expect } from 'vitest';
import { acquireSessionLock, cleanUpLocks, type SessionLock, sessionLockPath } from '../../index.js';
import { directoryOf } from '../support/file-directory';
import { test } from '../support/property';
import { ageAll, DEAD_PID, guardOf, HOUR, ID, lockOf, LockProcess, MINUTE, namesIn, writeAged, writeLock } from '../support/session-locks';

interface Operation {
  /** Makes what the operation begins with. */
  prepare: (directory: string) => void;
  /** What the process does before it can be killed, and then. */
  begin?: (victim: LockProcess, directory: string) => Promise<unknown>;
  run: (victim: LockProcess, directory: string) => Promise<unknown>;
  /** How many steps there are. */
  steps: number;
}

const acquire: Operation['run'] = (victim, directory) => victim.acquire(join(directory, 'chats'));
const dead = (directory: string): string => {
  mkdirSync(join(directory, 'chats'));
  return writeLock(join(directory, 'chats'), lockOf(DEAD_PID));
};
const deadGuard = (path: string): void => writeFileSync(guardOf(path), lockOf(DEAD_PID));
const linkedGuard = (path: string): void => linkSync(path, guardOf(path));
const theLock = (directory: string): string => sessionLockPath(join(directory, 'chats'), ID);

const OPERATIONS: Record<string, Operation> = {
  'acquiring': { prepare: (directory) => mkdirSync(join(directory, 'chats')), run: acquire, steps: 4 },
  'acquiring in a directory that is made': { prepare: () => {}, run: acquire, steps: 6 },
  'taking over': { prepare: (directory) => void dead(directory), run: acquire, steps: 11 },
  'taking over with a guard of a dead process': { prepare: (directory) => deadGuard(dead(directory)), run: acquire, steps: 15 },
  'taking over with a guard that is the lock': { prepare: (directory) => linkedGuard(dead(directory)), run: acquire, steps: 15 },
  'removing a stale lock': { prepare: (directory) => void dead(directory), run: (victim, directory) => victim.ask('removeStale', join(directory, 'chats'), ID), steps: 6 },
  'cleaning up': {
    prepare: (directory) => {
      const path = dead(directory);
      deadGuard(path);
      writeAged(`${path}.b1946ac9-2492-4d23-85a1-0c7a7ef0f0ba.locktmp`, '', 6 * MINUTE);
    },
    run: (victim, directory) => victim.ask('cleanUp', join(directory, 'chats')),
    steps: 12,
  },
  'releasing': { prepare: () => {}, begin: acquire, run: (victim) => victim.release(), steps: 6 },
  'releasing with a guard of a dead process': {
    prepare: () => {},
    begin: async (victim, directory) => {
      await acquire(victim, directory);
      deadGuard(theLock(directory));
    },
    run: (victim) => victim.release(),
    steps: 10,
  },
  'renewing': {
    prepare: () => {},
    begin: async (victim, directory) => {
      await acquire(victim, directory);
      await victim.ask('shiftClock', 2 * HOUR);
    },
    run: (victim) => victim.ask('look'),
    steps: 6,
  },
};

/** Runs an operation in a process that ends itself after so many steps. Resolves to whether it was completed. */
async function interrupted({ prepare, begin, run }: Operation, directory: string, steps: number): Promise<boolean> {
  const victim = new LockProcess();
  try {
    prepare(directory);
    await begin?.(victim, directory);
    await victim.ask('arm', steps);
    return (await run(victim, directory)) !== 'ended';
  } finally {
    await victim.kill();
  }
}

/** Whether a process had begun to remove a guard: the mark is the guard under a second name. */
const hasMark = (chats: string): boolean => namesIn(chats).includes(`${ID}.lock.tguard`) && namesIn(chats).filter((name) => name.endsWith('.locktmp')).length > 1;

const acquired = (chats: string): Promise<SessionLock | string> => acquireSessionLock(chats, ID).catch(({ code }: { code: string }) => code);

test.each(Object.entries(OPERATIONS))('a process killed at each step of %s leaves a session that can be locked', async (_, operation) => {
  const completed = await Promise.all(Array.from({ length: operation.steps + 1 }, (_, steps) => expectLockableAfter(operation, steps)));
  // No step is missing, and none too many.
  expect(completed).toEqual([...Array<boolean>(operation.steps).fill(false), true]);
});

/** Kills a process after so many steps of an operation. Resolves to whether it had completed it. */
async function expectLockableAfter(operation: Operation, steps: number): Promise<boolean> {
  const directory = directoryOf();
  const isCompleted = await interrupted(operation, directory, steps);
  const chats = join(directory, 'chats');
  let lock = await acquired(chats);
  if (typeof lock === 'string') {
    // The one state that has to be cleaned up, which any program does when it starts.
    expect([steps, lock, hasMark(chats)]).toEqual([steps, 'ESESSIONLOCKED', true]);
    ageAll(chats, 6 * MINUTE);
    await cleanUpLocks(chats);
    lock = await acquireSessionLock(chats, ID);
  }
  expect(await lock.ownsLock()).toBe(true);
  await lock.release();
  ageAll(chats, 6 * MINUTE);
  await cleanUpLocks(chats);
  expect([steps, namesIn(chats)]).toEqual([steps, []]);
  return isCompleted;
}

test('a process killed at each step while others want the lock: one of them has it, or the next one', async () => {
  const others = [new LockProcess(), new LockProcess()];
  try {
    for (const name of ['taking over with a guard of a dead process', 'taking over with a guard that is the lock']) {
      for (let steps = 0; ; steps++) {
        const directory = directoryOf();
        const chats = join(directory, 'chats');
        const victim = { ...OPERATIONS[name]!, run: (process: LockProcess) => Promise.all([acquire(process, directory), race()]).then(([answer]) => answer) };
        let answers: unknown[] = [];
        const race = async (): Promise<void> => {
          answers = await Promise.all(others.map((process) => process.acquire(chats)));
        };
        const isCompleted = await interrupted(victim, directory, steps);
        const winners = others.filter((_, index) => answers[index] === 'held');
        expect([name, steps, winners.length]).toEqual([name, steps, Math.min(1, winners.length)]);
        for (const winner of winners) {
          expect([await winner.ask('owns'), await winner.release()]).toEqual([true, 'released']);
        }
        if (hasMark(chats)) {
          ageAll(chats, 6 * MINUTE);
          await cleanUpLocks(chats);
        }
        const lock = await acquireSessionLock(chats, ID);
        await lock.release();
        expect(namesIn(chats).filter((file) => !file.endsWith('.locktmp'))).toEqual([]);
        for (const file of namesIn(chats)) unlinkSync(join(chats, basename(file)));
        if (isCompleted) break;
      }
    }
  } finally {
    await Promise.all(others.map((process) => process.kill()));
  }
});
