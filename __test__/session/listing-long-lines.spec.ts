// A listing of a session with one long line needs little memory, whatever the line is. Each file is written for one test and deleted after it.

import '../support/on-disk.js'; // 110 MB each.
import { closeSync, mkdirSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import type { SessionOverview } from '../../index.js';
import { childReport } from '../support/processes.js';
import { type Event, content, envelope, item, sessionDirectory, sessionEvent, start } from '../support/session-file.js';

const LENGTH = 110e6;

/** More than the buffers of a scan, and less than the line. */
const MAX_GROWN = 80e6;

const directory = () => join(sessionDirectory(), 'long');

/** Writes a session whose text has `unit` at the place of `PLACE`, as often as makes it `length` bytes long, and describes it in a process of its own. */
async function described(text: string, unit: string, length: number) {
  mkdirSync(directory());
  const file = openSync(join(directory(), 'session-long.jsonl'), 'w');
  const [before = '', after = ''] = text.split(PLACE);
  writeSync(file, before);
  const block = Buffer.from(unit.repeat(Math.ceil(Math.min(length, 1 << 20) / unit.length)));
  for (let written = 0; written < length; written += block.length) writeSync(file, block);
  writeSync(file, after);
  closeSync(file);
  const report = await childReport<{ described: { sessions: SessionOverview[]; unreadable: unknown[] }; grown: number }>(
    'child-described-memory.mjs',
    [directory()],
    { timeoutMs: 60_000 },
  );
  rmSync(directory(), { recursive: true });
  const sessions = report.described.sessions.map((session) => ({ ...session, fileSize: 0, lastModified: 0 }));
  return { ...report, described: { ...report.described, sessions } };
}

const PLACE = 'HERE';
const LIST = `"${PLACE}"`;

/** A session with this event between others. `PLACE` is within a string of it, or the first element of a list. */
const withEvent = (event: Event) => lines(start(), content('a'), event, content('b'));
const lines = (...events: Event[]) => events.map((event, at) => `${envelope(at + 1, event).replace(LIST, PLACE)}\n`).join('');

const purged = (...history: unknown[]): Event => ['semantic_media_purge', { history, frontier: { contentIndex: 0, blockIndex: 0 } }];
const mutated = (removedSeqs: unknown[], replacement: unknown): Event => [
  'density_mutation',
  { removedSeqs, replacements: [{ replacedSeq: 2, replacement }] },
];

afterEach(() => rmSync(directory(), { recursive: true, force: true }));

it.each<[kind: string, text: string, unit?: string]>([
  ['a first line with a member that no listing shows', lines(start({ system: `${PLACE}.` }), content('a'))],
  ['a first line of many values', lines(start({ many: [PLACE, 1] }), content('a')).replace(`${PLACE},`, PLACE), '[],'],
  ['a first line that is not a session', `${PLACE}\n${lines(start(), content('a'))}`, '{"a":"b",'],
  ['a text in a purge', withEvent(purged(item('ai', `${PLACE}.`)))],
  ['a text in a replacement', withEvent(mutated([7], item('ai', `${PLACE}.`)))],
  ['many keys in an edit', withEvent(mutated([PLACE, 2], item('ai', 'c'))).replace(`${PLACE},`, PLACE), '2,'],
  ['a message', withEvent(sessionEvent(`${PLACE}.`))],
  ['a number', withEvent(['rewind', { itemsRemoved: 1 }]).replace('"itemsRemoved":1', `"itemsRemoved":0.1${PLACE}`), '0'],
  ['a payload that is given many times', withEvent(sessionEvent('c')).replaceAll('"payload":{"severity"', `${PLACE}"payload":{"severity"`), '"payload":{},'],
])('a listing needs little memory for %s', { timeout: 120_000 }, async (_, text, unit = 'x') => {
  const expected = await described(text, unit, 1);
  const long = await described(text, unit, LENGTH);
  expect(long.described).toEqual(expected.described);
  expect(long.grown).toBeLessThan(MAX_GROWN);
});
