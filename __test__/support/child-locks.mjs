/**
 * A process that does with locks what its parent says, one message `[command, ...arguments]` after the other, and answers each. Its timers
 * of several minutes run when the parent says so.
 *
 * With LOCK_KILL_AT=n it kills itself before the n-th step of the command that follows `arm`: a step is a call of the file system.
 */
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);
const fs = require('node:fs/promises');
const STEPS = ['open', 'link', 'unlink', 'mkdir', 'lstat', 'readdir'];
const STEPS_OF_FILES = ['writeFile', 'write', 'read', 'sync', 'stat', 'close'];

let stepsLeft = Infinity;
let steps = 0;
function step() {
  steps += 1;
  if (--stepsLeft < 0) process.kill(process.pid, 'SIGKILL');
}
function countSteps(object, names) {
  for (const name of names) {
    const method = object[name];
    object[name] = function (...args) {
      step();
      return method.apply(this, args);
    };
  }
}
const { open } = fs;
fs.open = async (...args) => {
  const handle = await open(...args);
  countSteps(handle, STEPS_OF_FILES);
  return handle;
};
countSteps(fs, STEPS);

/** The timers of the library, to be run on demand. */
const looks = [];
const { setInterval } = globalThis;
globalThis.setInterval = (look, every) => {
  looks.push({ look, every });
  return setInterval(look, every);
};

const { acquireSessionLock, cleanUpLocks, removeStaleLock, isSessionLocked } = require('../../index.js');
const { now } = Date;
let held;

const commands = {
  async acquire(directory, id) {
    held = await acquireSessionLock(directory, id);
    return 'held';
  },
  async acquireAt(time, directory, id) {
    while (now() < time) await new Promise((resolve) => setImmediate(resolve));
    return commands.acquire(directory, id);
  },
  async release() {
    await held.release();
    return 'released';
  },
  owns: () => held.ownsLock(),
  isLocked: isSessionLocked,
  cleanUp: cleanUpLocks,
  removeStale: removeStaleLock,
  /** Moves the clock of this process. */
  shiftClock(by) {
    Date.now = () => now() + by;
    return true;
  },
  /** What the timers of the library do, every five minutes and for all locks. */
  async look() {
    const fiveMinutes = looks.filter(({ every }) => every === 5 * 60 * 1000);
    await Promise.all(fiveMinutes.map(({ look }) => look()));
    return fiveMinutes.length > 0;
  },
  /** Kills the process before the step of this number of what it does next. */
  arm(at) {
    stepsLeft = at;
    return true;
  },
  steps() {
    const counted = steps;
    steps = 0;
    return counted;
  },
};

process.on('message', async ([command, ...args]) => {
  let answer;
  try {
    answer = await commands[command](...args);
  } catch (error) {
    answer = error.code ?? String(error);
  }
  process.send(answer);
});
