/**
 * `npm run bench`: the addon and its JavaScript rivals in turn in one process; the figures go to `bench/RESULTS.md`.
 *
 * `npm run bench -- --quick` takes a tenth of the work and three rounds, `--only replay|snapshot|header|sessions|record|runs|diff|bundles` a part;
 * both print and leave RESULTS.md as it is. `--large` adds files of 1 and 10 GB and a run of ten million events, which are generated and
 * deleted.
 */
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { machine } from './machine.mjs';
import { report } from './report.mjs';
import { DATA } from './workloads.mjs';

const RESULTS = fileURLToPath(new URL('RESULTS.md', import.meta.url));
const PARTS = ['replay', 'snapshot', 'header', 'sessions', 'record', 'runs', 'diff', 'bundles'];
const ROUNDS = 7;
const say = (text) => process.stderr.write(`${text}\n`);

async function measure(parts, { quick, large }) {
  const how = { rounds: quick ? 3 : ROUNDS, scale: quick ? 0.1 : 1, say };
  const results = { machine: machine(), rounds: how.rounds, quick };
  if (parts.includes('replay')) results.replay = await (await import('./replay.mjs')).benchReplay(how);
  if (parts.includes('snapshot')) results.snapshot = await (await import('./large.mjs')).benchSnapshot(how);
  if (large && parts.includes('snapshot')) results.large = await (await import('./large.mjs')).benchLarge(how);
  if (parts.includes('header')) results.headers = await (await import('./header.mjs')).benchHeaders(how);
  if (parts.includes('sessions')) results.sessions = await (await import('./sessions.mjs')).benchSessions(how);
  if (parts.includes('record')) {
    results.record = await (await import('./record.mjs')).benchRecord(how);
    results.durable = await (await import('./durable.mjs')).benchDurable(how);
    const { imageMemory } = await import('./memory.mjs');
    results.image = { tape: await imageMemory('tape'), stringify: await imageMemory('stringify') };
  }
  if (parts.includes('runs')) results.runs = await (await import('./runs.mjs')).benchRuns({ ...how, large });
  if (parts.includes('diff')) results.diff = await (await import('./diff.mjs')).benchDiff(how);
  if (parts.includes('bundles')) results.bundles = await (await import('./bundles.mjs')).benchBundles(how);
  return results;
}

function options() {
  try {
    const { values } = parseArgs({ options: { quick: { type: 'boolean' }, large: { type: 'boolean' }, only: { type: 'string' } } });
    if (values.only === undefined || PARTS.includes(values.only)) return values;
    throw new Error(`--only takes one of ${PARTS.join(', ')}`);
  } catch (error) {
    say(`bench: ${error.message}`);
    process.exit(2);
  }
}

const { quick = false, large = false, only } = options();
const text = report(await measure(only === undefined ? PARTS : [only], { quick, large }));
rmSync(join(DATA, 'record'), { recursive: true, force: true });
if (quick || only !== undefined) {
  process.stdout.write(text);
} else {
  writeFileSync(RESULTS, text);
  say(`written: ${RESULTS}`);
}
