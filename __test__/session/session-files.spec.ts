// The files that belong to a session are removed with it, and no others.

import { existsSync, mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join, relative } from 'node:path';
import { afterAll, describe, expect } from 'vitest';
import { fc, test } from '../support/property';
import { SessionRecordingService, removeSessionFiles, replaySession } from '../../index.js';

const root = realpathSync(mkdtempSync(join(tmpdir(), 'session-tape-')));
afterAll(() => rmSync(root, { recursive: true, force: true }));

let directories = 0;
function fresh(): string {
  const directory = join(root, String(++directories));
  mkdirSync(directory);
  return directory;
}

/** A recorded session at rest, large enough for a snapshot, with the lock file that an exclusive recorder left. */
async function session(chatsDir: string): Promise<string> {
  const recorder = new SessionRecordingService({ sessionId: 'süß', projectHash: 'h', chatsDir, workspaceDirs: [], provider: 'p', model: 'm' });
  for (let i = 0; i < 300; i++) recorder.recordContent({ speaker: 'ai', blocks: [{ type: 'text', text: 'x'.repeat(1000) }] });
  await recorder.dispose();
  const path = recorder.getFilePath()!;
  utimesSync(path, 1, 1000);
  writeFileSync(`${path}.lock`, '{}');
  return path;
}

describe('removeSessionFiles', () => {
  test('leaves an empty directory, with snapshots in either place', async () => {
    const chatsDir = fresh();
    const snapshotDir = join(fresh(), 'deep', 'snapshots');
    const path = await session(chatsDir);
    expect(await replaySession(path, undefined, { snapshot: true })).toMatchObject({ ok: true });
    expect(await replaySession(path, undefined, { snapshot: true, snapshotDir })).toMatchObject({ ok: true });
    expect(readdirSync(chatsDir).sort()).toEqual([basename(path), `${basename(path)}.lock`, `${basename(path)}.snap`]);
    expect(readdirSync(snapshotDir)).toHaveLength(1);
    await removeSessionFiles(path, { snapshotDir });
    expect(readdirSync(chatsDir)).toEqual([]);
    expect(readdirSync(snapshotDir)).toEqual([]);
  });

  test('finds the snapshot of a session that is reached by a link to its directory, or by a relative path', async () => {
    const chatsDir = fresh();
    const snapshotDir = fresh();
    const linked = join(fresh(), 'link');
    symlinkSync(chatsDir, linked);
    for (const toDirectory of [linked, relative(process.cwd(), chatsDir)]) {
      const path = await session(chatsDir);
      await replaySession(path, undefined, { snapshot: true, snapshotDir });
      expect(readdirSync(snapshotDir)).toHaveLength(1);
      await removeSessionFiles(join(toDirectory, basename(path)), { snapshotDir });
      expect([...readdirSync(chatsDir), ...readdirSync(snapshotDir)]).toEqual([]);
    }
  });

  const OWN = ['a.jsonl', 'a.jsonl.snap', 'a.jsonl.lock', 'a.jsonl.zst', 'a.jsonl.zst.snap', 'a.jsonl.receipt.jsonl', 'a.media.json'];
  const NAMES = [...OWN, 'a.receipt.jsonl', 'a.jsonl.media.json', 'b.media.json', 'a.lock', 'b.jsonl', 'b.jsonl.snap', 'a.jsonl.snap.old', '.session-tape-1.snap', 'a.jsonl.lockX'];
  test.prop([fc.subarray(NAMES)], { numRuns: 60 })('removes the files of the session and no others, whichever exist', async (names) => {
    const directory = fresh();
    for (const name of names) writeFileSync(join(directory, name), name.endsWith('.media.json') ? `{"references":[{"contentId":"sha256:${'a'.repeat(64)}"}]}` : name);
    await removeSessionFiles(join(directory, 'a.jsonl'), { snapshotDir: join(directory, 'nowhere') });
    expect(readdirSync(directory).sort()).toEqual(names.filter((name) => !OWN.includes(name)).sort());
  });

  test.each(['{"references":[{"contentId":"x"}]}', '{"references":[]}', '[]', ''])('leaves a list of media that is of another program: %s', async (text) => {
    const directory = fresh();
    for (const name of ['a.jsonl.zst', 'a.media.json']) writeFileSync(join(directory, name), text);
    await removeSessionFiles(join(directory, 'a.jsonl'));
    expect(readdirSync(directory)).toEqual(['a.media.json']);
  });

  test("rejects with the system's error for what cannot be removed", async () => {
    const directory = fresh();
    mkdirSync(join(directory, 'a.jsonl'));
    await expect(removeSessionFiles(join(directory, 'a.jsonl'))).rejects.toMatchObject({ code: expect.stringMatching(/^(EISDIR|EPERM)$/), syscall: 'unlink' });
    expect(existsSync(join(directory, 'a.jsonl'))).toBe(true);
    await expect(removeSessionFiles(join(dirname(directory), 'nowhere', 'a.jsonl'), { snapshotDir: directory })).resolves.toBeUndefined();
  });

  test('wrong arguments throw synchronously', () => {
    for (const path of [undefined, null, 1, '', {}]) expect(() => removeSessionFiles(path as string)).toThrow(TypeError);
    for (const options of [null, 1, 'x', { snapshotDir: 1 }, { snapshotDir: '' }]) expect(() => removeSessionFiles('x', options as never)).toThrow(TypeError);
  });
});
