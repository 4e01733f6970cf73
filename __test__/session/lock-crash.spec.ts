/** Processes that are killed while they acquire, take over, renew, release or clean up: what they leave never blocks a session for good. */
import { linkSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { acquireSessionLock, cleanUpLocks, type SessionLock, sessionLockPath } from '../../index.js';
import { directoryOf } from '../support/file-directory';
import { test } from '../support/property';
import { ageAll, DEAD_PID, guardOf, HOUR, ID, lockOf, LockProcess, MINUTE, namesIn, writeAged, writeLock } from '../support/session-locks';

interface Operation {
  /** Makes what the operation begins with. */
  prepare?: (chats: string) => void;
  /** What the process does before it is stopped, and then. */
  begin?: (victim: LockProcess, chats: string) => Promise<unknown>;
  command: (chats: string) => unknown[];
  /** How many steps there are. */
  steps: number;
  /** How long, in milliseconds, what was prepared must be at rest: while it is not, an operation tries again, and has more steps. */
  rest?: number;
}

const acquire = (chats: string): unknown[] => ['acquire', chats, ID];
const release = (chats: string): unknown[] => ['release', chats];
const makeDirectory = (chats: string): void => void mkdirSync(chats);
const dead = (chats: string): string => {
  makeDirectory(chats);
  return writeLock(chats, lockOf(DEAD_PID));
};
const deadGuard = (path: string): void => writeFileSync(guardOf(path), lockOf(DEAD_PID));
const linkedGuard = (path: string): void => linkSync(path, guardOf(path));

const OPERATIONS: Record<string, Operation> = {
  'acquiring': { prepare: makeDirectory, command: acquire, steps: 4 },
  'acquiring in a directory that is made': { command: acquire, steps: 6 },
  'taking over': { prepare: dead, command: acquire, steps: 11 },
  'taking over with a guard of a dead process': { prepare: (chats) => deadGuard(dead(chats)), command: acquire, steps: 15 },
  'taking over with a guard that is the lock': { prepare: (chats) => linkedGuard(dead(chats)), command: acquire, steps: 15, rest: 300 },
  'removing a stale lock': { prepare: dead, command: (chats) => ['removeStale', chats, ID], steps: 6 },
  'cleaning up': {
    prepare: (chats) => {
      const path = dead(chats);
      deadGuard(path);
      writeAged(`${path}.b1946ac9-2492-4d23-85a1-0c7a7ef0f0ba.locktmp`, '', 6 * MINUTE);
    },
    command: (chats) => ['cleanUp', chats],
    steps: 12,
  },
  'releasing': { begin: (victim, chats) => victim.acquire(chats), command: release, steps: 6 },
  'releasing with a guard of a dead process': {
    begin: async (victim, chats) => {
      await victim.acquire(chats);
      deadGuard(sessionLockPath(chats, ID));
    },
    command: release,
    steps: 10,
  },
};

/** On a busy machine an operation that waits may need one try more than usual. */
const WHOLE_RUNS = 4;

/**
 * Lets a process run an operation once for each number of steps after which it stops, and then some times with as many as it has, each time in a
 * directory of its own. Resolves to the directories and to whether the operation was completed there.
 */
async function stoppedAtEachStep(victim: LockProcess, { prepare, begin, command, steps, rest = 0 }: Operation): Promise<{ chats: string; isCompleted: boolean }[]> {
  const all = Array.from({ length: steps + WHOLE_RUNS }, () => join(directoryOf(), 'chats'));
  for (const chats of all) {
    prepare?.(chats);
    await begin?.(victim, chats);
  }
  await new Promise((resolve) => setTimeout(resolve, rest));
  return Promise.all(all.map(async (chats, at) => ({ chats, isCompleted: (await victim.ask('begin', chats, Math.min(at, steps), ...command(chats))) !== 'stopped' })));
}

/** Whether a process had begun to remove a guard: the mark is the guard under a second name. */
const hasMark = (chats: string): boolean => namesIn(chats).includes(`${ID}.lock.tguard`) && namesIn(chats).filter((name) => name.endsWith('.locktmp')).length > 1;

const acquired = (chats: string): Promise<SessionLock | string> => acquireSessionLock(chats, ID).catch(({ code }: { code: string }) => code);

test.each(Object.entries(OPERATIONS))('a process killed at each step of %s leaves a session that can be locked', async (_, operation) => {
  const victim = new LockProcess();
  const all = await stoppedAtEachStep(victim, operation);
  await victim.kill();
  // No step is missing, and none too many.
  const completed = all.map(({ isCompleted }) => isCompleted);
  expect(completed.slice(0, operation.steps)).toEqual(Array<boolean>(operation.steps).fill(false));
  expect(completed.slice(operation.steps)).toContain(true);
  await Promise.all(all.map(({ chats }, steps) => expectLockable(chats, steps)));
});

test('a process killed at each step of renewing leaves a session that can be locked', async () => {
  const STEPS = 6;
  const completed = await Promise.all(Array.from({ length: STEPS + 1 }, async (_, steps) => {
    const [victim, chats] = [new LockProcess(), directoryOf()];
    await victim.acquire(chats);
    await victim.ask('shiftClock', 2 * HOUR);
    await victim.ask('arm', steps);
    const isCompleted = (await victim.ask('look')) !== 'ended';
    await victim.kill();
    await expectLockable(chats, steps);
    return isCompleted;
  }));
  expect(completed).toEqual([...Array<boolean>(STEPS).fill(false), true]);
});

async function expectLockable(chats: string, steps: number): Promise<void> {
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
}

test.each(Object.keys(OPERATIONS).filter((name) => name.startsWith('taking over')))('a process killed at each step of %s while others want the lock: at most one of them has it, and then the next one', async (name) => {
  const [victim, ...others] = [new LockProcess(), new LockProcess(), new LockProcess()] as const;
  try {
    const all = await stoppedAtEachStep(victim, OPERATIONS[name]!);
    const racing = all.map(({ chats }) => Promise.all(others.map((other) => other.acquire(chats))));
    await victim.kill();
    await Promise.all(all.map(async ({ chats }, steps) => {
      const answers = await racing[steps]!;
      const winners = others.filter((_, index) => answers[index] === 'held');
      expect([steps, winners.length]).toEqual([steps, Math.min(1, winners.length)]);
      for (const winner of winners) {
        await expect(acquireSessionLock(chats, ID)).rejects.toMatchObject({ code: 'ESESSIONLOCKED' });
        expect([await winner.ask('owns', chats), await winner.ask('release', chats)]).toEqual([true, 'released']);
      }
      await expectLockable(chats, steps);
    }));
  } finally {
    await Promise.all([victim, ...others].map((one) => one.kill()));
  }
});
