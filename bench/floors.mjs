// The minimum that a replay needs on the runtime that runs this: `node --expose-gc bench/floors.mjs`, or `bun`. Each program does only one thing:
//
// - read a file;
// - or create the objects of 150 000 small items and keep them, 1 300 per turn of the event loop, all texts being the same string: no file, no
//   parser, no thread of ours. Its longest stop is that of the runtime's garbage collection.
//
// Reports the lowest of five times, and the median and maximum of the stops.

import { closeSync, openSync, readSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { REPLAY_WORKLOADS, replayFile } from './workloads.mjs';

const ROUNDS = 5;
const ITEMS = 150_000;
const ITEMS_A_TURN = 1300;
const CHUNK = 1 << 20;

const collectGarbage = globalThis.gc ?? (() => globalThis.Bun?.gc(true));

async function measured(task) {
  const times = [];
  const stops = [];
  for (let round = 0; round < ROUNDS; round++) {
    collectGarbage();
    const watcher = monitorEventLoopDelay({ resolution: 1 });
    watcher.enable();
    await sleep(20);
    const start = performance.now();
    await task();
    times.push(performance.now() - start);
    await sleep(20);
    watcher.disable();
    stops.push(watcher.max / 1e6);
  }
  stops.sort((one, other) => one - other);
  return { ms: Math.min(...times), stop: stops[ROUNDS >> 1], worst: stops.at(-1) };
}

function readAll(path) {
  const chunk = Buffer.allocUnsafe(CHUNK);
  const file = openSync(path, 'r');
  while (readSync(file, chunk, 0, CHUNK) > 0);
  closeSync(file);
}

async function makeItems() {
  const text = 'history the this be history message'.repeat(3);
  const items = [];
  while (items.length < ITEMS) {
    for (let n = 0; n < ITEMS_A_TURN; n++) items.push({ speaker: 'ai', blocks: [{ type: 'text', text }] });
    await nextTurn();
  }
  return items;
}

const print = (name, { ms, stop, worst }) => console.log(`${name.padEnd(44)}${ms.toFixed(1).padStart(8)} ms, stops ${stop.toFixed(1)} / ${worst.toFixed(1)} ms`);

console.log(process.versions.bun ? `Bun ${process.versions.bun}` : `Node ${process.version}`);
for (const workload of REPLAY_WORKLOADS.filter(({ alphabet, name }) => alphabet === 'wide' && !name.startsWith('tiny'))) {
  const { filePath } = await replayFile(workload, 1);
  print(`reads ${workload.name}`, await measured(() => readAll(filePath)));
}
print(`makes ${ITEMS} small items`, await measured(makeItems));
