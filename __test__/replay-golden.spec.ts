// Files of format version 1 as earlier releases wrote them, with the replay that they must give for ever.
// The plain engine is held to the same: it is the yardstick of the other tests.

import { readFileSync, readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readSessionHeader, replaySession } from '../index.js';
import type { ReplayResult } from '../index.js';
import { expectSameReplay } from './support/same-replay.js';
import { replayBytes, replayFileWithReadline } from './plain-engine.mjs';

const FIXTURES = fileURLToPath(new URL('./fixtures/session/v1', import.meta.url));
const CASES = ['new-session', 'resumed', 'with-compression', 'several-resumes', 'resume-compression-resume'];

test('every fixture has its test', () => {
  expect(readdirSync(FIXTURES).sort()).toStrictEqual([...CASES].sort());
});

describe.each(CASES)('%s', (name) => {
  const filePath = join(FIXTURES, name, 'session.jsonl');
  const expected = JSON.parse(readFileSync(join(FIXTURES, name, 'expected.json'), 'utf8')) as ReplayResult;

  test('replays to what was recorded', async () => {
    expectSameReplay(await replaySession(filePath), expected);
  });

  test('replays in the plain engine to the same', async () => {
    expectSameReplay(replayBytes(readFileSync(filePath)), expected);
    expectSameReplay(await replayFileWithReadline(filePath), expected);
  });

  test('has the header of its session', async () => {
    expect(expected.ok).toBe(true);
    if (expected.ok) expect(await readSessionHeader(filePath)).toMatchObject({ sessionId: expected.metadata.sessionId });
  });

  test('has one session_start and, but for what a crash left, seqs without a gap', () => {
    const records = readFileSync(filePath, 'utf8').split('\n').flatMap((line) => {
      try {
        return [JSON.parse(line) as { seq: number; type: string }];
      } catch {
        return [];
      }
    });
    expect(records.map(({ seq }) => seq)).toStrictEqual(records.map((_, at) => at + 1));
    expect(records.filter(({ type }) => type === 'session_start')).toHaveLength(1);
  });
});
