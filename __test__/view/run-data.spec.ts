// The data of a run's page, and the states that the page builds, against the engine.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { exportBundle, readRunEvents, replayRun } from '../../index.js';
import { GOLDEN_RUN, PROJECT } from '../support/command-line';
import { fc, test } from '../support/property';
import { runs } from '../support/session-arbitraries.js';
import { freshFile, part } from '../support/view-page';

const { EventTable, KINDS } = part('run/event-table');
const { gather } = part('run/gather');

/** What the page itself runs, of which nothing can be required. */
const script = ['state', 'state-view', 'bars'].map((name) => readFileSync(join(PROJECT, `cli/html/view/run/${name}.js`), 'utf8')).join('\n');
const { States, shownState, engineState, taskBars } = new Function(`${script}\nreturn { States, shownState, engineState, taskBars }`)() as Record<string, any>;

/** The events as the page has them. */
function pageRun({ table, initial }: any): any {
  const { columns, nodes, workers, statuses, startedWorkers } = table;
  return { columns, nodes: nodes.list, workers: workers.list, statuses: statuses.list, startedWorkers, initial, length: table.length, first: table.first, kindOf: (event: number) => KINDS[columns.kind[event]] };
}

const source = (at: string) => ({ kind: 'run', at, log: join(at, 'events.cath-log'), given: at, size: 0 });

/** Orders what has no order of its own. */
const sorted = (shown: any) => ({
  ...shown,
  status: [...shown.status],
  attempt: [...shown.attempt],
  workers: shown.workers.map((worker: any) => ({ ...worker, active: [...worker.active].sort() })).sort((a: any, b: any) => (a.id < b.id ? -1 : 1)),
});

async function expectStates(at: string, events: number[]): Promise<void> {
  const run = pageRun(await gather(source(at)));
  const states = new States(run);
  for (const event of events.filter((each) => each < run.length)) {
    const replay = await replayRun(at, { until: run.first + event, verify: 'none' });
    const { coordinator, workers } = replay.state!;
    const engine = engineState(run, { run: coordinator.run, nodeStates: coordinator.nodeStates, pendingTasks: coordinator.pendingTasks, workers });
    expect(sorted(shownState(run, states.after(event))), `after event ${event}`).toEqual(sorted(engine));
  }
}

describe('the state that the page shows', () => {
  test('is that of the engine after every event of the golden run', async () => {
    await expectStates(GOLDEN_RUN, Array.from({ length: 268 }, (_, at) => at));
  });

  test.prop([fc.array(fc.nat(267), { minLength: 1, maxLength: 12 })], runs(10))('is that of the engine in whatever order events are chosen', async (events) => {
    await expectStates(GOLDEN_RUN, events);
  });

  test('is that of the engine in a bundle that begins behind a snapshot', async () => {
    const partial = freshFile('partial.cath-bundle');
    await exportBundle(GOLDEN_RUN, partial, { fromSnapshot: 'latest' });
    const { table } = await gather(source(partial));
    expect(table.first).toBeGreaterThan(0);
    await expectStates(partial, Array.from({ length: table.length }, (_, at) => at));
  });
});

describe('the events in the page', () => {
  test('are those of the log: kinds, nodes, parents and times', async () => {
    const { table } = await gather(source(GOLDEN_RUN));
    let [event, clock] = [0, table.start];
    for await (const { logicalTime, kind, node, parent, ts } of readRunEvents(GOLDEN_RUN)) {
      const { columns } = table;
      clock += columns.at[event];
      const found = [KINDS[columns.kind[event]], clock, columns.parent[event] === 0 ? null : `evt_${logicalTime - columns.parent[event]}`];
      expect(found).toEqual([kind, Date.parse(ts), parent]);
      if (node !== null) expect(table.nodes.list[columns.node[event]]).toBe(node);
      event++;
    }
    expect(event).toBe(table.length);
  });

  const anyColumn = fc.array(fc.oneof(fc.integer({ min: -1, max: 200 }), fc.maxSafeInteger()), { maxLength: 60 });
  test.prop([anyColumn], runs(100))('are encoded in as few bits as hold them, and decode to the same', (numbers) => {
    const table = new EventTable(0);
    table.columns.at = numbers;
    const [bits, base64] = table.encoded().at;
    const { buffer } = Uint8Array.from(Buffer.from(base64, 'base64'));
    const Type = { 8: Int8Array, 16: Int16Array, 32: Int32Array, 64: Float64Array }[bits as 8];
    expect([...new Type(buffer)]).toEqual(numbers.map((number) => number + 0));
    if (numbers.every((number) => number >= -128 && number < 128)) expect(bits).toBe(8);
  });

  test('keep the latest payloads while there is room', async () => {
    const { table } = await gather(source(GOLDEN_RUN), { limits: { bytes: 5000 } });
    const { from, lines } = table.payloads();
    expect(from).toBeGreaterThan(200);
    expect(lines.length).toBeGreaterThan(5);
    expect(from + lines.length).toBe(268);
    expect(lines.join('').length).toBeLessThanOrEqual(5000);
    const kept: unknown[] = [];
    for await (const { payload } of readRunEvents(GOLDEN_RUN, { from })) kept.push(payload);
    expect(lines.map((line: string) => JSON.parse(line)[0])).toEqual(kept);
  });

  test('make a bar of each assignment, with its end', async () => {
    const run = pageRun(await gather(source(GOLDEN_RUN)));
    const bars = taskBars(run);
    const count = (kind: string) => run.columns.kind.filter((each: number) => KINDS[each] === kind).length;
    expect(bars).toHaveLength(count('TaskAssigned'));
    expect(bars.filter(({ end }: any) => end === 'rejected')).toHaveLength(count('TaskRejected'));
    expect(bars.filter(({ end }: any) => end === 'failed').length).toBeGreaterThan(0);
    expect(bars.every(({ from, start, to }: any) => from <= to && (start === -1 || (from < start && start <= to)))).toBe(true);
  });
});
