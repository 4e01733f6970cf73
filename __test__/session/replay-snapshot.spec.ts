// `snapshot: true`: the result is that of a full replay whatever happens to the file or to its snapshot in between, and only new lines
// are read.

import { appendFileSync, chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, realpathSync, renameSync, rmSync, statSync, symlinkSync, truncateSync, utimesSync, writeFileSync } from 'node:fs';
import { createHash } from 'node:crypto';
import { tmpdir } from 'node:os';
import { basename, dirname, join, relative } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, describe, expect, it } from 'vitest';
import { fc, test } from '../support/property';
import { SessionRecordingService, openSession, replaySession } from '../../index.js';
import { PROJECT_HASH, compressed, content, envelope, item, rewind, session, sessionDirectory, sessionOf, textsOf, writeSession } from '../support/session-file.js';
import type { Event } from '../support/session-file.js';
import type { ReplayOptions } from '../../index.js';
import { anyEvent, runs } from '../support/session-arbitraries.js';
import { runChild, unprivileged } from '../support/processes';
import { expectSame } from '../support/same-replay.js';
import { replayBytes } from '../support/plain-engine.mjs';

const snapshotOf = (path: string) => `${path}.snap`;

/** Replays with a snapshot and without, which must be the same. */
async function bothWays(path: string, hash?: string, options: ReplayOptions = {}) {
  const withSnapshot = await replaySession(path, hash, { ...options, snapshot: true });
  expectSame(withSnapshot, await replaySession(path, hash, { strict: options.strict }));
  return withSnapshot;
}

async function historyOf(path: string) {
  const replay = await bothWays(path);
  if (!replay.ok) throw new Error(replay.error);
  return textsOf(replay.history);
}

const lines = (events: readonly Event[], firstSeq: number) =>
  events.map((event, index) => `${envelope(firstSeq + index, event)}\n`).join('');

/** Contents with numbered texts. */
const contents = (count: number, from = 0) => Array.from({ length: count }, (_, index) => content(`item ${from + index}`));

describe('the snapshot', () => {
  it('is written next to the file, and is not a session', async () => {
    const path = writeSession(session(...contents(3)));
    await bothWays(path);
    expect(existsSync(snapshotOf(path))).toBe(true);
    expect(await replaySession(snapshotOf(path))).toMatchObject({ ok: false });
  });

  it('contains nothing of the conversation', async () => {
    const path = writeSession(session(content('a secret of mine'), ['session_event', { severity: 'info', message: 'another secret' }]));
    await bothWays(path);
    expect(readFileSync(snapshotOf(path), 'latin1')).not.toContain('secret');
  });

  it('is not written unless it is requested', async () => {
    const path = writeSession(session(...contents(3)));
    await replaySession(path);
    await replaySession(path, undefined, { snapshot: false });
    await replaySession(path, undefined, { snapshot: true, throughSeq: 2 });
    expect(existsSync(snapshotOf(path))).toBe(false);
  });

  it('is not written for a session that does not replay', async () => {
    const path = writeSession('not a session\n');
    await bothWays(path);
    await replaySession(writeSession(session(...contents(1))), 'another project', { snapshot: true });
    expect(existsSync(snapshotOf(path))).toBe(false);
  });

  it('leaves no temporary files', async () => {
    const path = writeSession(session(...contents(3)));
    for (let round = 0; round < 3; round++) {
      appendFileSync(path, lines(contents(1), 10 + round));
      await bothWays(path);
    }
    const names = readdirSync(dirname(path)).filter((name) => name.includes('session-tape-'));
    expect(names).toEqual([]);
  });

  it('has the titles and names that a user gave', async () => {
    const path = writeSession(session(['session_metadata', { title: 'a title' }], ['checkpoint_created', { checkpointId: 'c', name: 'a checkpoint' }]));
    await bothWays(path);
    expect(readFileSync(snapshotOf(path), 'latin1')).toContain('a checkpoint');
  });

  it.skipIf(process.platform === 'win32')('can be read only by the user', async () => {
    const path = writeSession(session(...contents(3)));
    await bothWays(path);
    expect(statSync(snapshotOf(path)).mode & 0o077).toBe(0);
  });
});

describe('appended data', () => {
  it('is added to what was read before', async () => {
    const path = writeSession(session(...contents(3)));
    await bothWays(path);
    appendFileSync(path, lines([content('item 3'), rewind(2), content('last')], 5));
    expect(await historyOf(path)).toEqual(['item 0', 'item 1', 'last']);
    appendFileSync(path, lines([compressed('summary'), content('after')], 8));
    expect(await historyOf(path)).toEqual(['summary', 'after']);
  });

  it('completes a line that was being written', async () => {
    const path = writeSession(session(...contents(2)));
    const line = lines([content('in two parts')], 4);
    appendFileSync(path, line.slice(0, 40));
    expect(await historyOf(path)).toEqual(['item 0', 'item 1']);
    appendFileSync(path, line.slice(40, -1));
    expect(await historyOf(path)).toEqual(['item 0', 'item 1', 'in two parts']);
    appendFileSync(path, `\n${lines([content('next')], 5)}`);
    expect(await historyOf(path)).toEqual(['item 0', 'item 1', 'in two parts', 'next']);
  });

  it('keeps the line numbers of warnings', async () => {
    const path = writeSession(`${session(...contents(2))}broken\n`);
    await bothWays(path);
    appendFileSync(path, `${lines(contents(1), 4)}broken too\n${lines([['newer', {}]], 5)}`);
    const replay = await bothWays(path);
    expect(replay.warnings.slice(0, 3)).toEqual([
      'Line 4: failed to parse JSON',
      'Line 6: failed to parse JSON',
      "Line 7: unknown event type 'newer', skipping",
    ]);
  });

  it('by a recorder that resumes is read', async () => {
    const path = writeSession(session(...contents(2)));
    const replay = await bothWays(path);
    if (!replay.ok) throw new Error(replay.error);
    const recorder = new SessionRecordingService({
      sessionId: 'resumed', projectHash: PROJECT_HASH, chatsDir: sessionDirectory(), workspaceDirs: [], provider: 'p', model: 'm',
    });
    recorder.initializeForResume(path, replay.lastSeq);
    recorder.recordContent(item('ai', 'resumed'));
    await recorder.dispose();
    expect(await historyOf(path)).toEqual(['item 0', 'item 1', 'resumed']);
  });

  it('to a file of many megabytes is read, with progress up to the size of the file', async () => {
    const path = writeSession(sessionOf(contents(60_000)));
    expect(statSync(path).size).toBeGreaterThan(8 << 20);
    await bothWays(path);
    appendFileSync(path, lines([content('last')], 60_002));
    const reported: number[] = [];
    const options = { snapshot: true, onProgress: ({ bytes }: { bytes: number }) => void reported.push(bytes) };
    const replay = await replaySession(path, undefined, options);
    expect(replay.ok && replay.history.length).toBe(60_001);
    expectSame(replay, await replaySession(path));
    expect(reported.at(-1)).toBe(statSync(path).size);
  });
});

describe('the replay stays correct if in between', () => {
  const path = () => writeSession(session(...contents(20)));

  it.each<[string, (path: string) => void]>([
    ['the file is cut', (file) => truncateSync(file, 1000)],
    ['the file is cut inside of a line and grows again', (file) => { truncateSync(file, 1000); appendFileSync(file, lines(contents(30, 50), 90)); }],
    ['the file is emptied', (file) => truncateSync(file, 0)],
    ['the file is replaced by a longer one', (file) => { writeFileSync(`${file}.new`, session(...contents(40, 100))); renameSync(`${file}.new`, file); }],
    ['one byte is changed, time and size staying', (file) => {
      const { atime, mtime } = statSync(file);
      writeFileSync(file, readFileSync(file, 'utf8').replace('item 3', 'item 8'));
      utimesSync(file, atime, mtime);
    }],
    ['the snapshot is deleted', (file) => rmSync(snapshotOf(file))],
    ['the snapshot is emptied', (file) => truncateSync(snapshotOf(file), 0)],
    ['the snapshot is cut', (file) => truncateSync(snapshotOf(file), statSync(snapshotOf(file)).size - 1)],
    ['the snapshot is something else', (file) => writeFileSync(snapshotOf(file), 'x'.repeat(1_000_000))],
    ['the snapshot is a directory', (file) => { rmSync(snapshotOf(file)); mkdirSync(snapshotOf(file)); }],
    ['the snapshot is a link to nothing', (file) => { rmSync(snapshotOf(file)); symlinkSync('/no/such', snapshotOf(file)); }],
  ])('%s', async (_, change) => {
    const file = path();
    await bothWays(file);
    change(file);
    await bothWays(file);
    await bothWays(file);
  });

  it('the snapshot of another session is put in its place', async () => {
    const [file, other] = [path(), writeSession(session(...contents(21, 500)))];
    await bothWays(file);
    await bothWays(other);
    renameSync(snapshotOf(other), snapshotOf(file));
    await bothWays(file);
  });

  it('another project is requested', async () => {
    const file = path();
    await bothWays(file);
    expect(await bothWays(file, 'other')).toMatchObject({ error: `Project hash mismatch: expected other got ${PROJECT_HASH}` });
    expect(await bothWays(file, PROJECT_HASH)).toMatchObject({ ok: true });
  });

  it('a byte of a file at rest is changed and its time set back', async () => {
    const file = path();
    await sleep(3500);
    await bothWays(file);
    const { atime, mtime } = statSync(file);
    writeFileSync(file, readFileSync(file, 'utf8').replace('item 3', 'item 8'));
    utimesSync(file, atime, mtime);
    expect(await historyOf(file)).toContain('item 8');
  });

  it.runIf(unprivileged)('the directory becomes read-only', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'session-tape-read-only-'));
    try {
      const file = join(directory, 'session.jsonl');
      writeFileSync(file, session(...contents(2)));
      chmodSync(directory, 0o555);
      const { stdout } = await runChild('child-snapshot.mjs', [file], { ...unprivileged });
      expect(JSON.parse(stdout)).toEqual(JSON.parse(JSON.stringify(await replaySession(file))));
      expect(readdirSync(directory)).toEqual(['session.jsonl']);
    } finally {
      chmodSync(directory, 0o700);
      rmSync(directory, { recursive: true });
    }
  });
});

describe('the mode', () => {
  it('of a snapshot is that of the replay that wrote it: a replay in the other mode ignores it', async () => {
    const path = writeSession(`${session(...contents(3))}{"seq":1.5,"type":"content","payload":{"content":{"speaker":"ai","blocks":[]}}}\n`);
    const bytes = readFileSync(path);
    for (const strict of [false, true, true, false, true]) {
      expectSame(await bothWays(path, undefined, { strict }), replayBytes(bytes, undefined, { strict }));
    }
  });

  it('determines the content of a snapshot that is written anew', async () => {
    const path = writeSession(session(...contents(3)));
    const snapshots = [];
    for (const strict of [true, false, true]) {
      await bothWays(path, undefined, { strict });
      snapshots.push(readFileSync(snapshotOf(path), 'latin1'));
    }
    expect(snapshots[0]).toBe(snapshots[2]);
    expect(snapshots[0]).not.toBe(snapshots[1]);
  });
});

describe('snapshotDir', () => {
  const placeOf = (path: string, directory: string) =>
    join(directory, `${basename(path)}-${createHash('sha256').update(join(realpathSync(dirname(path)), basename(path))).digest('hex').slice(0, 16)}.snap`);
  const roots: string[] = [];
  const freshRoot = () => {
    const root = mkdtempSync(join(tmpdir(), 'session-tape-snapshots-'));
    roots.push(root);
    return root;
  };
  afterAll(() => roots.forEach((root) => rmSync(root, { recursive: true })));

  it('is created when a snapshot is written to it, and nothing is written next to the file', async () => {
    const [path, snapshotDir] = [writeSession(session(...contents(3))), join(freshRoot(), 'a', 'b')];
    await replaySession(path, undefined, { snapshotDir });
    await replaySession(path, undefined, { snapshotDir, snapshot: true, throughSeq: 2 });
    expect(existsSync(dirname(snapshotDir))).toBe(false);
    await bothWays(path, undefined, { snapshotDir });
    expect(readdirSync(snapshotDir)).toEqual([basename(placeOf(path, snapshotDir))]);
    expect(existsSync(snapshotOf(path))).toBe(false);
    appendFileSync(path, lines([content('more')], 5));
    const opened = await openSession(path, undefined, { snapshot: true, snapshotDir });
    expect(opened.ok && opened.session.historyLength).toBe(4);
    if (opened.ok) opened.session.close();
    expect(readdirSync(snapshotDir)).toHaveLength(1);
  });

  it('may be shared by files with the same name, by relative paths and by paths with links', async () => {
    const root = freshRoot();
    const snapshotDir = join(root, 'snapshots');
    const paths = ['one', 'two'].map((name) => join(root, name, 'session.jsonl'));
    for (const [index, path] of paths.entries()) {
      mkdirSync(dirname(path));
      writeFileSync(path, session(...contents(3, 10 * index)));
      await bothWays(path, undefined, { snapshotDir });
      expect(existsSync(placeOf(path, snapshotDir))).toBe(true);
    }
    symlinkSync(join(root, 'one'), join(root, 'link'));
    await bothWays(join(root, 'link', 'session.jsonl'), undefined, { snapshotDir });
    await bothWays(relative(process.cwd(), paths[1] as string), undefined, { snapshotDir });
    expect(readdirSync(snapshotDir)).toHaveLength(2);
    // A link to the file itself has a name of its own.
    symlinkSync(paths[0] as string, join(root, 'other.jsonl'));
    await bothWays(join(root, 'other.jsonl'), undefined, { snapshotDir });
    expect(readdirSync(snapshotDir)).toHaveLength(3);
  });

  it('that cannot be created changes nothing', async () => {
    const path = writeSession(session(...contents(3)));
    for (const snapshotDir of [join(path, 'below'), 'a\0b']) await bothWays(path, undefined, { snapshotDir });
    expect(existsSync(snapshotOf(path))).toBe(false);
  });

  it('is not created for files that cannot be read', async () => {
    const snapshotDir = join(freshRoot(), 'none');
    for (const path of [join(snapshotDir, 'none.jsonl'), sessionDirectory(), '/', '']) {
      expect(await replaySession(path, undefined, { snapshot: true, snapshotDir })).toEqual(await replaySession(path));
    }
    expect(existsSync(snapshotDir)).toBe(false);
  });
});

describe('openSession', () => {
  it('returns items that were read before and new ones', async () => {
    const path = writeSession(session(...contents(30)));
    await bothWays(path);
    appendFileSync(path, lines([content('new')], 32));
    const opened = await openSession(path, PROJECT_HASH, { snapshot: true });
    if (!opened.ok) throw new Error(opened.error);
    expect(opened.session.historyLength).toBe(31);
    expect(textsOf(await opened.session.items(-2))).toEqual(['item 29', 'new']);
    expect(textsOf(await opened.session.items(0, 1))).toEqual(['item 0']);
    opened.session.close();
  });
});

const change = fc.oneof(
  fc.record({ kind: fc.constant('append' as const), events: fc.array(anyEvent, { maxLength: 6 }), whole: fc.boolean() }),
  fc.record({ kind: fc.constant('cut' as const), at: fc.nat(4000) }),
  fc.record({ kind: fc.constant('edit' as const), at: fc.nat(4000), byte: fc.nat(255) }),
  fc.record({ kind: fc.constant('damage' as const), at: fc.nat(2000), byte: fc.integer({ min: 1, max: 255 }) }),
);

function edited(path: string, at: number, edit: (byte: number) => number) {
  if (!existsSync(path)) return;
  const bytes = readFileSync(path);
  if (bytes.length === 0) return;
  const place = at % bytes.length;
  bytes[place] = edit(bytes[place] ?? 0);
  writeFileSync(path, bytes);
}

describe('any history of a file', () => {
  test.prop([fc.array(fc.tuple(change, fc.boolean()), { minLength: 1, maxLength: 8 })], runs(120))(
    'appended to, cut, edited, its snapshot damaged, in either mode: always the result of a full replay',
    async (changes) => {
      const path = writeSession(session(...contents(5)));
      await bothWays(path);
      let seq = 7;
      for (const [step, strict] of changes) {
        if (step.kind === 'append') {
          const text = lines(step.events, seq);
          seq += step.events.length;
          appendFileSync(path, step.whole ? text : text.slice(0, -5));
        } else if (step.kind === 'cut') truncateSync(path, Math.min(step.at, statSync(path).size));
        else if (step.kind === 'edit') edited(path, step.at, () => step.byte);
        else edited(snapshotOf(path), step.at, (byte) => byte ^ step.byte);
        const found = await bothWays(path, undefined, { strict });
        expectSame(found, replayBytes(readFileSync(path), undefined, { strict }), { keyOrder: false });
      }
    },
  );

  test.prop([fc.array(fc.array(anyEvent, { minLength: 1, maxLength: 5 }), { minLength: 1, maxLength: 5 })], runs(60))(
    'read in any steps: the same result as that of one replay',
    async (steps) => {
      const whole = session(...steps.flat());
      const path = writeSession('');
      let written = 0;
      let lineCount = 1;
      for (const step of steps) {
        lineCount += step.length;
        const end = whole.split('\n').slice(0, lineCount).join('\n').length + 1;
        appendFileSync(path, whole.slice(written, end));
        written = end;
        await bothWays(path);
      }
      const once = await replaySession(writeSession(whole));
      expectSame(await replaySession(path, undefined, { snapshot: true }), once);
    },
  );
});
