// Beyond what one JavaScript string can hold (512 MiB): files, histories and lines. Written for each test and deleted after it.

import { closeSync, mkdirSync, openSync, rmSync, statfsSync, symlinkSync, writeSync } from 'node:fs';
import { freemem } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { listSessions, openSession, replaySession } from '../../index.js';
import { content, envelope, file, session, sessionDirectory, sessionEvent, start } from '../support/session-file.js';

/** V8's longest string, in characters. */
const LONGEST_STRING = 0x1fffffe8;
const TEXT = 'x'.repeat(4 << 20);
const ITEMS = 150;
const NEEDED_BYTES = 3 * 2 ** 30;

const hasRoom = () => {
  const { bavail, bsize } = statfsSync(sessionDirectory());
  return bavail * bsize > NEEDED_BYTES && freemem() > NEEDED_BYTES;
};

const path = () => join(sessionDirectory(), 'huge.jsonl');

function writeParts(parts: Iterable<string>) {
  const file = openSync(path(), 'w');
  for (const part of parts) writeSync(file, part);
  closeSync(file);
}

afterEach(() => rmSync(path(), { force: true }));

describe.runIf(hasRoom())('with a few gigabytes to spare', { timeout: 120_000 }, () => {
  it('a history that is larger in sum than any string is replayed whole', async () => {
    writeParts([session(), ...Array.from({ length: ITEMS }, (_, n) => `${envelope(n + 2, content(`${n} ${TEXT}`))}\n`)]);
    const replay = await replaySession(path());
    if (!replay.ok) throw new Error(replay.error);
    expect(replay.warnings).toEqual([]);
    const texts = replay.history.map(({ blocks }) => (blocks[0] as { text: string }).text);
    expect(texts.length * TEXT.length).toBeGreaterThan(LONGEST_STRING);
    expect(texts.map((text) => text.length)).toEqual(texts.map((_, n) => TEXT.length + `${n} `.length));
    expect(texts.map((text) => parseInt(text, 10))).toEqual(texts.map((_, n) => n));

    const opened = await openSession(path());
    if (!opened.ok) throw new Error(opened.error);
    const [last] = await opened.session.items(-1);
    expect(last).toEqual(replay.history.at(-1));
    opened.session.close();
  });

  it('session events and warnings that are larger in sum than any string are all told', async () => {
    const long = TEXT.repeat(25);
    writeParts([session(), ...Array.from({ length: 6 }, (_, n) => `${envelope(n + 2, sessionEvent(`${n} ${long}`))}\n`)]);
    const replay = await replaySession(path());
    if (!replay.ok) throw new Error(replay.error);
    expect(long.length * 6).toBeGreaterThan(LONGEST_STRING);
    expect(replay.sessionEvents.map(({ message }) => message.slice(0, 3))).toEqual(['0 x', '1 x', '2 x', '3 x', '4 x', '5 x']);
    expect(replay.sessionEvents.every(({ message }) => message.length === long.length + 2)).toBe(true);

    writeParts([session(), ...Array.from({ length: 6 }, (_, n) => `${envelope(n + 2, [`${n}${long}`, {}])}\n`)]);
    const warned = await replaySession(path());
    expect(warned.ok).toBe(true);
    expect(warned.warnings.map((warning) => warning.length > long.length)).toEqual(Array(6).fill(true));
  });

  it('a message that no string can hold is told in part', async () => {
    writeParts([session(), '{"type":"', 'x'.repeat(LONGEST_STRING - 20), '"}\n']);
    const { ok, warnings } = await replaySession(path());
    expect([ok, warnings.length, warnings[0]?.slice(0, 32), warnings[0]?.length]).toEqual([true, 1, "Line 2: unknown event type 'xxxx", expect.any(Number)]);
    expect(warnings[0]?.length).toBeLessThan(1100);
  });

  it('a line that no string can hold is an error that names it', async () => {
    const [before = '', after = ''] = `${envelope(3, content('HERE'))}\n`.split('HERE');
    const long = function* () {
      yield session(content('first'));
      yield before;
      for (let written = 0; written <= LONGEST_STRING; written += TEXT.length) yield TEXT;
      yield after;
      yield `${envelope(4, content('last'))}\n`;
    };
    writeParts(long());
    const replay = await replaySession(path());
    expect(replay).toEqual({
      ok: false,
      error: `Failed to read file: line 3 is longer than ${LONGEST_STRING} bytes, more than a JavaScript string can hold`,
      warnings: [],
    });
  });

  it('a line that no string can hold is forgiven if it is the torn last one', async () => {
    const [before = ''] = envelope(3, content('HERE')).split('HERE');
    const torn = function* () {
      yield session(content('first'));
      yield before;
      for (let written = 0; written <= LONGEST_STRING; written += TEXT.length) yield TEXT;
    };
    writeParts(torn());
    for (const snapshot of [false, true, true]) {
      expect(await replaySession(path(), undefined, { snapshot })).toMatchObject({ ok: true, warnings: [], eventCount: 2, history: [{ speaker: expect.any(String) }] });
    }
    rmSync(`${path()}.snap`);
  });

  it('first lines that are longer in sum than any string are all listed', async () => {
    writeParts([file(start({ model: TEXT.repeat(8) }))]);
    const directory = join(sessionDirectory(), 'long');
    mkdirSync(directory);
    for (let n = 0; n < 17; n++) symlinkSync(path(), join(directory, `${n}.jsonl`));
    const { sessions, unreadable } = await listSessions(directory);
    expect(sessions.map(({ model }) => model.length)).toEqual(Array(17).fill(8 * TEXT.length));
    expect(unreadable).toEqual([]);
    rmSync(directory, { recursive: true });
  });

  it('a gigabyte of zeros at the end, as a crash of the system leaves it, is a line that does not parse', async () => {
    const zeros = '\0'.repeat(4 << 20);
    writeParts([session(content('first')), ...Array.from({ length: 256 }, () => zeros)]);
    expect(await replaySession(path())).toMatchObject({ ok: true, warnings: [], eventCount: 2 });
  });
});
