/**
 * Runs: a replay with and without verification, the memory it takes, and what an event costs the recorder however many nodes there are.
 *
 * Imported, it measures; started as a script, it is the process whose memory is measured.
 */
import { execFile } from 'node:child_process';
import { rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { replayRun, verifyRun } from '../index.mjs';
import { collectGarbage, inTurn, median, ratios, threadWork, timed } from './measure.mjs';
import { peakOf } from './memory.mjs';
import { endlessRun, linesOf, recordedRun } from './run-workloads.mjs';
import { DATA } from './workloads.mjs';

const SELF = fileURLToPath(import.meta.url);
const LEVELS = ['none', 'chain', 'full'];
const NODES = [10, 1000, 100_000];
const BURST = 100;

export async function benchRuns({ rounds, scale, say, large }) {
  say('runs: recording a million events');
  const run = await recordedRun(1e6 * scale);
  await checkRun(run);
  say('runs: replay');
  const replay = await benchLevels(run, rounds);
  const memory = [await memoryOf(run)];
  if (large) memory.push(await largeMemory(10e6 * scale, say));
  say('runs: append');
  return { ...replay, memory, append: await benchAppend(Math.round(70_000 * scale), rounds) };
}

/** A replay that is fast and misses something wins nothing. */
async function checkRun({ directory, events }) {
  const found = await verifyRun(directory);
  const checked = [found.chain, found.stateHashes].map((check) => check.checked);
  const isWhole = found.ok && found.scheduleMatch && found.outputHashesMatch && checked.every((count) => count === events);
  if (!isWhole) throw new Error(`${directory} does not verify: ${JSON.stringify(found)}`);
}

async function benchLevels({ directory, events }, rounds) {
  const side = (verify) => async () => {
    const { ms, cpuMs, value } = await timed(() => replayRun(directory, { verify }));
    if (!value.ok || value.eventCount !== events) throw new Error(`${directory} does not replay (${verify})`);
    return { ms, cpuMs };
  };
  const measured = await inTurn(Object.fromEntries(LEVELS.map((verify) => [verify, side(verify)])), rounds);
  const ms = (verify) => measured[verify].map((one) => one.ms);
  return {
    events,
    bytes: statSync(join(directory, 'events.cath-log')).size,
    levels: LEVELS.map((verify) => ({
      verify,
      ms: median(ms(verify)),
      cpuMs: median(measured[verify].map((one) => one.cpuMs)),
      perSecond: (events / median(ms(verify))) * 1000,
      overhead: ratios(ms(verify), ms('none')),
    })),
  };
}

async function memoryOf({ directory, events }) {
  const peak = {};
  for (const verify of ['none', 'full']) {
    const { stdout } = await promisify(execFile)(process.execPath, ['--expose-gc', SELF, verify, directory]);
    peak[verify] = JSON.parse(stdout).peak;
  }
  return { events, bytes: statSync(join(directory, 'events.cath-log')).size, peak };
}

async function largeMemory(events, say) {
  say('runs: memory of ten million events');
  const run = await recordedRun(events);
  try {
    return await memoryOf(run);
  } finally {
    rmSync(run.directory, { recursive: true });
  }
}

async function benchAppend(events, rounds) {
  const directory = join(DATA, 'run-endless');
  const side = (nodes) => () => appendAll(directory, nodes, events);
  const measured = await inTurn(Object.fromEntries(NODES.map((nodes) => [`n${nodes}`, side(nodes)])), rounds);
  rmSync(directory, { recursive: true, force: true });
  const of = (nodes, key) => measured[`n${nodes}`].map((one) => one[key]);
  return NODES.map((nodes) => ({
    nodes,
    events,
    perSecond: median(of(nodes, 'perSecond')),
    callMicros: median(of(nodes, 'callMicros')),
    threadMicros: median(of(nodes, 'threadMicros')),
    against: ratios(of(nodes, 'threadMicros'), of(NODES[0], 'threadMicros')),
  }));
}

/** Events in bursts, as `record.mjs` has them, until all is handed to the system. */
async function appendAll(directory, nodes, events) {
  const { recorder, events: source } = endlessRun(directory, nodes);
  const list = Array.from({ length: events }, () => source.next().value);
  await recorder.flush();
  collectGarbage();
  const before = threadWork();
  const started = performance.now();
  let inCalls = 0;
  for (let i = 0; i < events; ) {
    const burstEnd = Math.min(i + BURST, events);
    const burstStarted = performance.now();
    for (; i < burstEnd; i++) recorder.append(list[i]);
    inCalls += performance.now() - burstStarted;
    await nextTurn();
  }
  await recorder.flush();
  const ms = performance.now() - started;
  const thread = threadWork(before);
  await recorder.dispose();
  if (linesOf(directory) !== events + 2) throw new Error(`${directory} does not have every event`);
  return { perSecond: (events / ms) * 1000, callMicros: (inCalls / events) * 1000, threadMicros: (thread.ms / events) * 1000 };
}

if (process.argv[1] === SELF) {
  const [verify, directory] = process.argv.slice(2);
  await replayRun(directory, { verify, until: 1000 });
  process.stdout.write(JSON.stringify(await peakOf(() => replayRun(directory, { verify }))));
}
