// How much of the heap is taken by what is kept of a replay, in bytes. Printed as JSON.
import { readFileSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { replaySession } from '../../index.mjs';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc');
const [path, what] = process.argv.slice(2);
const TIMES = 20;

/** Of what `make` gives, for each of many times. */
async function heapOf(make) {
  await make();
  const kept = [];
  collect();
  const before = process.memoryUsage().heapUsed;
  for (let time = 0; time < TIMES; time++) kept.push(await make());
  collect();
  const bytes = process.memoryUsage().heapUsed - before;
  // It is used here, so it was alive until now.
  return Math.round(bytes / kept.length);
}

const parsed = () => readFileSync(path, 'utf8').trimEnd().split('\n').map((line) => JSON.parse(line).payload);
const of = (pick) => heapOf(async () => pick(await replaySession(path)));
const figures =
  what === 'kept'
    ? {
        metadata: await of(({ metadata }) => metadata),
        warnings: await of(({ warnings }) => warnings),
        ids: await of(({ history }) => history.map(({ value }) => value.id)),
      }
    : { replay: await of(({ history }) => history), parse: await heapOf(parsed) };
process.stdout.write(JSON.stringify(figures));
