/**
 * A process that does with locks what its parent says, one message `[command, ...arguments]` after the other, and answers each. Its timers
 * of several minutes run when the parent says so.
 */
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);
const fs = require('node:fs/promises');

// The steps at which the process can be made to end: all that change something on the disk. Between them it stays as it is.
let stepsLeft = Infinity;
function step() {
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
fs.open = async (path, flags, ...more) => {
  if (flags === 'wx') step();
  const handle = await open(path, flags, ...more);
  countSteps(handle, ['writeFile', 'write']);
  return handle;
};
countSteps(fs, ['link', 'unlink', 'mkdir']);

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
  /** Lets the process make so many steps more; it kills itself before the next one. */
  arm(at) {
    stepsLeft = at;
    return true;
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
