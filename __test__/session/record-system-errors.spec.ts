/**
 * Rule 6 when a call of the system fails that no real disk here can be made to fail: a small library is loaded into the process of the recorder, and
 * the n-th call of a kind ends with an error or in part. `FAULT_ROUNDS` says how many pairs of faults are tried.
 */
import { spawn, spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { freshDirectory, newRecorder, recorderConfig, replaySession } from '../support/recording';

const SUPPORT = fileURLToPath(new URL('../support', import.meta.url));
const library = join(freshDirectory(), 'system-faults.so');
const compiled = process.platform === 'linux' && spawnSync('cc', ['-shared', '-fPIC', '-O1', '-o', library, join(SUPPORT, 'system-faults.c'), '-ldl']).status === 0;

const { EIO, EINTR, ENOSPC, EDQUOT, EMFILE } = constants.errno;

/** Each call with the errors that it may end with; 0 is a write of a part. */
const FAULTS: [call: string, errors: number[]][] = [
  ['write', [EIO, EINTR, ENOSPC, EDQUOT, 0]],
  ['fsync', [EIO, ENOSPC, EDQUOT]],
  ['fdatasync', [EIO, ENOSPC, EDQUOT]],
  ['open', [EIO, EMFILE, ENOSPC, EDQUOT]],
  ['close', [EIO, EDQUOT]],
  ['mkdir', [EIO, ENOSPC, EDQUOT]],
  ['ftruncate', [EIO]],
];

interface Report { acknowledged: string[]; warnings: string[]; flushed: string[]; isActive: boolean; unhandled: string[] }

async function record(directory: string, faults: string): Promise<Report> {
  const env = { ...process.env, LD_PRELOAD: library, FAULT_ROOT: directory, FAULTS: faults };
  const child = spawn(process.execPath, [join(SUPPORT, 'child-system-faults.mjs'), join(directory, 'chats')], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  let said = '';
  child.stdout.on('data', (chunk) => (said += String(chunk)));
  const code = await new Promise((resolve) => child.on('close', resolve));
  expect(code, faults).toBe(0);
  return JSON.parse(said) as Report;
}

/** What is in the session's file, if there is one that replays. */
async function textsIn(chats: string): Promise<{ path: string; texts: string[]; lastSeq: number } | null> {
  let names: string[] = [];
  try {
    names = readdirSync(chats).filter((name) => name.endsWith('.jsonl'));
  } catch {
    // The directory could not be made.
  }
  for (const name of names) {
    const path = join(chats, name);
    const result = await replaySession(path);
    if (!result.ok) continue;
    expect(result.warnings).toEqual([]);
    const texts = result.history.map((item) => (item.blocks[0] as unknown as { text: string }).text);
    return { path, texts, lastSeq: result.lastSeq };
  }
  return null;
}

async function expectKept(faults: string): Promise<Report> {
  const directory = freshDirectory();
  const report = await record(directory, faults);
  const found = await textsIn(join(directory, 'chats'));
  expect(found?.texts.slice(0, report.acknowledged.length) ?? [], faults).toEqual(report.acknowledged);
  expect(report.unhandled, faults).toEqual([]);
  // Whoever stops says so, once.
  expect(report.warnings.length, faults).toBe(report.isActive ? 0 : 1);
  const next = newRecorder({ ...recorderConfig(), chatsDir: join(directory, 'chats'), durability: 'fsync', exclusive: true });
  if (found !== null) next.initializeForResume(found.path, found.lastSeq);
  next.recordContent({ speaker: 'human', blocks: [{ type: 'text', text: 'next' }] });
  await next.flush();
  expect(next.isActive(), faults).toBe(true);
  await next.dispose();
  const after = await textsIn(join(directory, 'chats'));
  expect(after?.texts.at(-1), faults).toBe('next');
  return report;
}

describe.skipIf(!compiled)('a call that fails (needs Linux and a C compiler)', () => {
  const all = FAULTS.flatMap(([call, errors]) => errors.flatMap((error) => [1, 2, 4].map((visit) => `${call}:${visit}:${error}`)));

  test('each call, each error, one at a time', async () => {
    const wanted = process.env.FAULT_ROUNDS === undefined ? all.filter((_, at) => at % 7 === 1) : all;
    const waiting = wanted.values();
    const workers = Array.from({ length: 2 }, async () => {
      for (const faults of waiting) await expectKept(faults);
    });
    await Promise.all(workers);
  });

  test('pairs', async () => {
    for (let round = 0; round < Number(process.env.FAULT_ROUNDS ?? 1); round++) {
      const pair = [all[(round * 29 + 3) % all.length], all[(round * 47 + 20) % all.length]];
      await expectKept(pair.join(' '));
    }
  });

  test('a sync that fails ends the recording, and says so', async () => {
    const report = await expectKept(`fdatasync:2:${EIO}`);
    expect(report).toMatchObject({ isActive: false, warnings: ['EIO'], flushed: ['resolved', 'EIO', 'resolved', 'resolved'] });
    expect(report.acknowledged).toHaveLength(1);
  });

  test('a call that is interrupted, and a write of a part, go on', async () => {
    const report = await expectKept(`write:2:${EINTR} write:3:0`);
    expect(report).toMatchObject({ isActive: true, warnings: [], flushed: Array.from({ length: 4 }, () => 'resolved') });
  });
});
