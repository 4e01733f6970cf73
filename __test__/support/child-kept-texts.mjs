// How much memory the process has taken beyond what it had before a replay, in bytes: with all of its history, with some items far from each
// other, and with none. Printed as JSON.
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { replaySession } from '../../index.mjs';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc');
const [path] = process.argv.slice(2);

/** What is resident once garbage is collected, on other threads too. */
async function resident() {
  for (let time = 0; time < 4; time++) {
    collect();
    await sleep(20);
  }
  return Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync('/proc/self/status', 'utf8'))[1]) * 1024;
}

const before = await resident();
let { history } = await replaySession(path);
const all = (await resident()) - before;
// Each of them may keep what is on its page, but not what was in memory beside it.
history = history.filter((_, index) => index % 2500 === 0);
const few = (await resident()) - before;
history = undefined;
const none = (await resident()) - before;
process.stdout.write(JSON.stringify({ all, few, none }));
