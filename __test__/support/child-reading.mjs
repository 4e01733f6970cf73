/**
 * A process that reads what may never end. Arguments: the name of a function of the API, after how many milliseconds its signal is aborted
 * (`never`), and its arguments as JSON, one of which may be `"signal"`. Prints how the call ended, and how much memory the process has once
 * nothing is read any more. It has to end by itself.
 */
import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import * as tape from '../../index.js';

const [name, abortAfter, json] = process.argv.slice(2);
const before = process.memoryUsage.rss();
const controller = new AbortController();
if (abortAfter !== 'never') setTimeout(() => controller.abort(new Error('as wanted')), Number(abortAfter));

/** The arguments, the signal in the place of its name. */
const given = JSON.parse(json, (key, value) => (value === 'signal' ? controller.signal : value));

const calls = {
  async readRunEvents(...args) {
    const events = [];
    for await (const event of tape.readRunEvents(...args)) events.push(event.kind);
    return events;
  },
  async openSession(...args) {
    const { history, ...rest } = await tape.openSession(...args);
    return rest;
  },
};

async function settled() {
  try {
    return { resolved: (await (calls[name] ?? tape[name])(...given)) ?? null };
  } catch (error) {
    return { rejected: { message: error.message, code: error.code } };
  }
}

const bytesRead = () => Number(/rchar: (\d+)/.exec(readFileSync('/proc/self/io', 'utf8'))[1]);

/**
 * Returns when nothing is read and memory stays as it is for a while; never, if that goes on. A thread that has just read its last byte may
 * still be moving hundreds of megabytes into a larger buffer before it sees that nobody wants them.
 */
async function quiet() {
  if (process.platform !== 'linux') return;
  const look = () => ({ read: bytesRead(), memory: process.memoryUsage.rss() });
  let last = look();
  for (let still = 0; still < 3; ) {
    await pause(100);
    const now = look();
    const same = now.read - last.read <= 65_536 && Math.abs(now.memory - last.memory) <= 1 << 20;
    still = same ? still + 1 : 0;
    last = now;
  }
}

const result = await settled();
await quiet();
console.log(JSON.stringify({ ...result, grown: process.memoryUsage.rss() - before }));
