/**
 * The demo as a person starts it: a process with arguments, an exit code and what it prints. In a pipe there is
 * neither colour nor progress bar; on a terminal (made by util-linux' `script`, where there is one) there are both.
 */
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { fc, test as property } from '@fast-check/vitest';
import { describe, expect, test } from 'vitest';
import { unprivileged, type Ended } from './support/processes';
import {
  compressed,
  content,
  envelope,
  rewind,
  session,
  sessionDirectory,
  sessionEvent,
  writeSession,
} from './support/session-file';
import type { Event } from './support/session-file';

const PROJECT = fileURLToPath(new URL('..', import.meta.url));
const DEMO = join(PROJECT, 'demo/demo.mjs');
const SAMPLE = join(PROJECT, 'demo/sample.jsonl');
const RECORDINGS = join(PROJECT, '../shared/data/sessions');

interface DemoOptions {
  env?: Record<string, string>;
  cwd?: string;
  uid?: number;
  execArgv?: string[];
}

/** The environment of a plain shell: nothing of the test runner's own colours. */
function environment(extra: Record<string, string> = {}): Record<string, string> {
  const { PATH = '', HOME = '/' } = process.env;
  return { PATH, HOME, TMPDIR: sessionDirectory(), TERM: 'xterm-256color', ...extra };
}

function demo(args: string[], options: DemoOptions = {}): Promise<Ended> {
  return run(process.execPath, [...(options.execArgv ?? []), DEMO, ...args], options);
}

function run(command: string, args: string[], { env, cwd = '/', uid }: DemoOptions = {}): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      cwd,
      uid,
      gid: uid,
      env: environment(env),
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let stdout = '';
    let stderr = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text;
    });
    child.on('error', reject);
    child.on('close', (code, signal) => resolve({ code, signal, stdout, stderr }));
  });
}

/** What was printed, of a run that must end well and quietly. */
async function shown(args: string[], options?: DemoOptions): Promise<string> {
  const ended = await demo(args, options);
  expect(ended).toMatchObject({ code: 0, signal: null, stderr: '' });
  return ended.stdout;
}

/** The text beside a label, and the lines under it that have no label of their own. */
function beside(label: string, text: string): string[] {
  const lines = text.split('\n');
  const from = lines.findIndex((line) => line.startsWith(`  ${label} `));
  if (from === -1) throw new Error(`no row ${label} in:\n${text}`);
  const indent = ' '.repeat(16);
  const more = lines.slice(from + 1).findIndex((line) => !line.startsWith(indent));
  return lines.slice(from, from + 1 + more).map((line) => line.slice(indent.length).trimEnd());
}

const eventsOf = (filePath: string): unknown[] =>
  readFileSync(filePath, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as unknown);

const toolCall = (id: string, name: string): object => ({ type: 'tool_call', id, name, parameters: {} });
const toolResponse = (callId: string, toolName: string, error?: string): object => ({
  type: 'tool_response',
  callId,
  toolName,
  result: 1,
  error,
});
const says = (speaker: string, ...blocks: object[]): Event => ['content', { content: { speaker, blocks } }];

describe('the sample session', () => {
  test('is recorded anew, event for event, and the file stays for whoever wants to look at it', async () => {
    const stdout = await shown([]);
    const filePath = stdout.split('\n').find((line) => line.endsWith('.jsonl'))!;
    expect(filePath.startsWith(join(sessionDirectory(), 'session-tape-demo-'))).toBe(true);
    expect(basename(filePath)).toBe('session-2026-02-11T08-41-3c8e51d7.jsonl');
    expect(eventsOf(filePath)).toEqual(eventsOf(SAMPLE));
  });

  test('shows what a person wants to know of it', async () => {
    const stdout = await shown([]);
    expect(beside('Session', stdout)).toEqual(['3c8e51d7-0b62-4f0e-9a4d-71f2c5be86aa']);
    expect(beside('Directories', stdout)).toEqual(['/home/ada/tide-clock', '/home/ada/calendar-kit']);
    expect(beside('Started', stdout)).toEqual(['2026-02-11 08:41:03 UTC']);
    expect(beside('Duration', stdout)).toEqual(['5 min 59 s (until 2026-02-11 08:47:02 UTC)']);
    expect(beside('Model', stdout)).toEqual(['anthropic / claude-sonnet-4-5']);
    expect(beside('Switched', stdout)).toEqual([
      '1 time, started with openai / gpt-5-mini',
      '→ anthropic / claude-sonnet-4-5 (line 26)',
    ]);
    expect(beside('Turns', stdout)).toEqual(['human 6 · ai 17 · tool 16 in all']);
    expect(beside('Tools', stdout)).toEqual([
      'run_command   6  2 failed  1 without an answer',
      'edit_file     4',
      'read_file     4  1 failed',
      'search_files  3',
    ]);
    expect(beside('Compressions', stdout)).toEqual(['1 (23 items summed up)']);
    expect(beside('Rewinds', stdout)).toEqual(['1 (2 items taken back)']);
    expect(beside('History', stdout)).toEqual(['15 items survive (human 3 · ai 7 · tool 5)']);
    expect(stdout).toContain('Session events 1 error, 1 warning, 2 info');
    expect(stdout).toContain(
      '✗ 08:44:02 #25   openai: 429 rate limited, giving up; switching to the fallback model',
    );
    expect(stdout).toContain("! Line 38: unknown event type 'usage', skipping");
    expect(stdout).toMatch(/ {2}49 events, 15\.\d KiB, replayed in [\d.]+ m?s\n$/);
  });

  test('shows the same when its file is named', async () => {
    const withoutItsPlace = (text: string): string[] => text.split('\n').slice(3, -2);
    const [recorded, named] = await Promise.all([shown([]), shown([SAMPLE])]);
    expect(withoutItsPlace(named)).toEqual(withoutItsPlace(recorded));
  });
});

describe('any session file', () => {
  test('counts what has an effect, and nothing else', async () => {
    const filePath = writeSession(
      session(
        content('hello'),
        says('ai', toolCall('1', 'grep'), toolCall('2', 'grep'), toolCall('3', 'sed')),
        says('tool', toolResponse('1', 'grep', 'exit code 2'), toolResponse('2', 'grep')),
        ['content', { content: { speaker: '', blocks: [toolCall('4', 'never')] } }],
        compressed('the beginning', 3),
        ['compressed', { itemsCompressed: 9 }],
        rewind(-1),
        content('again'),
        content('and again'),
        rewind(1.5),
        ['provider_switch', { provider: 'openai', model: 'gpt-5' }],
        ['provider_switch', { provider: 'google', model: '' }],
        ['provider_switch', { provider: '', model: 'none' }],
        'no JSON at all',
        says('observer'),
      ),
    );
    const stdout = await shown([filePath]);
    expect(beside('Turns', stdout)).toEqual(['human 3 · ai 1 · tool 1 · observer 1 in all']);
    expect(beside('Tools', stdout)).toEqual(['grep  2  1 failed', 'sed   1  1 without an answer']);
    expect(beside('Compressions', stdout)).toEqual(['1 (3 items summed up)']);
    expect(beside('Rewinds', stdout)).toEqual(['1 (2 items taken back)']);
    expect(beside('Switched', stdout)).toEqual([
      '2 times, started with anthropic / claude-sonnet',
      '→ openai / gpt-5 (line 12)',
      '→ google / gpt-5 (line 13)',
    ]);
    expect(beside('Model', stdout)).toEqual(['google / gpt-5']);
    expect(beside('History', stdout)).toEqual(['2 items survive (ai 1 · observer 1)']);
    for (const line of [5, 7, 8, 14])
      expect(stdout).toMatch(new RegExp(`! Line ${line}: malformed \\w+ event, skipping`));
    expect(stdout).toContain('! Line 15: failed to parse JSON');
  });

  test('a byte order mark, CRLF endings and a torn last line are no reason to complain', async () => {
    const text = `\ufeff${session(content('one'), content('two', 'ai')).replaceAll('\n', '\r\n')}{"v":1,"seq":4,"ts":"20`;
    const stdout = await shown([writeSession(text)]);
    expect(beside('Turns', stdout)).toEqual(['human 1 · ai 1']);
    expect(stdout).toContain('Warnings none, the file is sound');
  });

  test('what a session contains never reaches the terminal as a command to it', async () => {
    const hostile = '\u001b[2J\u001b]0;owned\u0007\u009b31m\u202e\r\n';
    const filePath = writeSession(
      session(
        says(`spy${hostile}`, toolCall('1', `tool${hostile}`)),
        ['provider_switch', { provider: `p${hostile}`, model: `m${hostile}` }],
        ['directories_changed', { directories: [`/d${hostile}`] }],
        sessionEvent(`message${hostile}`),
        [`type${hostile}`, {}],
      ),
    );
    const stdout = await shown([filePath]);
    expect(stdout).toContain('message[2J');
    expect(stdout).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/);
  });

  test('a relative path is the one where npm was started', async () => {
    const filePath = writeSession(session(content('here')));
    const env = { npm_lifecycle_event: 'demo', INIT_CWD: dirname(filePath) };
    expect(await shown([basename(filePath)], { env, cwd: PROJECT })).toContain(filePath);
    expect(await shown([relative(PROJECT, filePath)], { cwd: PROJECT })).toContain(filePath);
  });

  test('a reader that stops reading is no error', async () => {
    const piped = await run('bash', ['-c', `"${process.execPath}" "${DEMO}" | true; echo "\${PIPESTATUS[0]}"`], {});
    expect(piped).toMatchObject({ stdout: '0\n', stderr: '' });
  });

  describe('the real recordings', () => {
    const files = existsSync(RECORDINGS) ? readdirSync(RECORDINGS).filter((name) => name.endsWith('.jsonl')) : [];

    test.skipIf(files.length === 0)(
      'are shown with the turns, tools and times that are in them (needs ../shared/data/sessions)',
      async () => {
        for (const name of files) {
          const filePath = join(RECORDINGS, name);
          const stdout = await shown([filePath]);
          const events = eventsOf(filePath) as { type: string; payload: any; ts: string }[];
          const items = events.filter(({ type }) => type === 'content').map(({ payload }) => payload.content);
          const turns = ['human', 'ai', 'tool'].map(
            (speaker) => `${speaker} ${items.filter((item) => item.speaker === speaker).length}`,
          );
          const calls = items.flatMap(({ blocks }) => blocks).filter((block) => block.type === 'tool_call');
          expect(beside('Session', stdout)).toEqual([events[0]!.payload.sessionId]);
          expect(beside('Turns', stdout)).toEqual([turns.join(' · ')]);
          expect(beside('History', stdout)[0]).toContain(`${items.length} items survive`);
          expect(
            beside('Tools', stdout)
              .map((row) => Number(/ (\d+)/.exec(row)![1]))
              .reduce((a, b) => a + b),
          ).toBe(calls.length);
          expect(beside('Duration', stdout)[0]).toContain(events.at(-1)!.ts.slice(11, 19));
        }
      },
    );
  });
});

describe('colours', () => {
  const ESCAPE = '\u001b[';

  test('none in a pipe, unless they are asked for', async () => {
    expect(await shown([SAMPLE])).not.toContain(ESCAPE);
    expect(await shown([SAMPLE], { env: { FORCE_COLOR: '1' } })).toContain(ESCAPE);
    expect(await shown([SAMPLE], { env: { FORCE_COLOR: '0' } })).not.toContain(ESCAPE);
  });

  test('NO_COLOR has the last word', async () => {
    expect(await shown([SAMPLE], { env: { FORCE_COLOR: '1', NO_COLOR: '1' } })).not.toContain(ESCAPE);
  });
});

describe('where there is no session', () => {
  /** Runs the demo on it and expects a message, no summary, exit code 1. */
  async function refused(filePath: string, options?: DemoOptions): Promise<string> {
    const { code, signal, stdout, stderr } = await demo([filePath], options);
    expect({ code, signal, stdout }).toEqual({ code: 1, signal: null, stdout: '' });
    expect(stderr).toMatch(/^demo: .*\n$/s);
    expect(stderr).not.toMatch(/\n\s+at /); // no stack
    return stderr;
  }

  test('no such file', async () => {
    const missing = join(sessionDirectory(), 'missing.jsonl');
    expect(await refused(missing)).toBe(`demo: there is no file ${missing}\n`);
    const beneathAFile = join(writeSession(session()), 'below.jsonl');
    expect(await refused(beneathAFile)).toBe(`demo: there is no file ${beneathAFile}\n`);
  });

  test('a directory', async () => {
    const directory = join(sessionDirectory(), 'chats');
    mkdirSync(directory);
    expect(await refused(directory)).toBe(`demo: ${directory} is a directory; name a session file in it\n`);
  });

  test('an empty file', async () => {
    const filePath = writeSession('');
    expect(await refused(filePath)).toBe(`demo: ${filePath} is empty: there is no session in it\n`);
  });

  test('a file of blank lines, or of a byte order mark', async () => {
    expect(await refused(writeSession('\n \n'))).toContain('is not a session: ');
    expect(await refused(writeSession('\ufeff'))).toContain('is not a session: Empty file');
  });

  test('a file of something else', async () => {
    const text = writeSession('Dear diary,\ntoday nothing happened.\nTomorrow the same.\nAnd so on.\nEnd.\n');
    expect(await refused(text)).toBe(
      `demo: ${text} is not a session: Missing or corrupt session_start event\n` +
        '  Line 1: failed to parse JSON\n  Line 2: failed to parse JSON\n  Line 3: failed to parse JSON\n  … and 1 more\n',
    );
    const headless = writeSession(`${envelope(1, content('who am I?'))}\n`);
    expect(await refused(headless)).toContain('is not a session: Missing or corrupt session_start event');
    const nameless = writeSession(`${envelope(1, ['session_start', {}])}\n`);
    expect(await refused(nameless)).toContain('is not a session: Invalid session_start: missing required fields');
    expect(await refused(process.execPath)).toContain('is not a session: Missing or corrupt session_start event');
  });

  test.skipIf(!existsSync('/dev/null'))('a device', async () => {
    expect(await refused('/dev/null')).toBe('demo: /dev/null is not a regular file\n');
  });

  test.skipIf(unprivileged === null)(
    'a file that may not be read (needs a user to whom permissions apply)',
    async () => {
      const filePath = writeSession(session(content('secret')));
      spawnSync('chmod', ['000', filePath]);
      spawnSync('chmod', ['755', dirname(filePath)]);
      expect(await refused(filePath, unprivileged!)).toContain(
        `Failed to read file: EACCES: permission denied, open '${filePath}'`,
      );
    },
  );

  test('wrong usage is another exit code', async () => {
    for (const args of [[SAMPLE, SAMPLE], ['--fast']]) {
      const { code, stdout, stderr } = await demo(args);
      expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
      expect(stderr).toContain('Usage: npm run demo');
    }
    const help = await demo(['--help']);
    expect(help).toMatchObject({ code: 0, stderr: '' });
    expect(help.stdout).toContain('Usage: npm run demo');
  });
});

describe('big files', () => {
  const ITEMS = 24_000;
  const padding = 'All work and no play makes a long session. '.repeat(32);
  const item = (i: number): Event => content(`${i} ${padding}`, i % 2 === 0 ? 'human' : 'ai');

  /** About 36 MB, written once. */
  function bigSession(name: string, eventAfter: (i: number) => Event[]): string {
    const filePath = join(sessionDirectory(), name);
    if (!existsSync(filePath)) {
      const events = Array.from({ length: ITEMS }, (_, i) => [item(i), ...eventAfter(i)]).flat();
      writeFileSync(filePath, session(...events));
    }
    expect(statSync(filePath).size).toBeGreaterThan(32 << 20);
    return filePath;
  }
  const plain = (): string => bigSession('plain.jsonl', () => []);
  const compacted = (): string =>
    bigSession('compacted.jsonl', (i) => (i % 400 === 399 ? [compressed('so far')] : []));

  test('no progress bar in a pipe', async () => {
    const stdout = await shown([plain()]);
    expect(beside('Turns', stdout)).toEqual(['human 12,000 · ai 12,000']);
  });

  test('memory is bounded by what survives, not by the file', async () => {
    const stdout = await shown([compacted()], { execArgv: ['--max-old-space-size=24'] });
    expect(beside('Compressions', stdout)).toEqual(['60 (60 items summed up)']);
    expect(beside('History', stdout)).toEqual(['1 item survives (ai 1)']);
  });

  test('a history larger than the heap is counted all the same', async () => {
    const stdout = await shown([plain()], { execArgv: ['--max-old-space-size=24'] });
    expect(beside('History', stdout)).toEqual(['24,000 items survive (human 12,000 · ai 12,000)']);
  });

  const hasScript = process.platform === 'linux' && spawnSync('script', ['-qec', 'true', '/dev/null']).status === 0;
  test.skipIf(!hasScript)('a progress bar and colours on a terminal (needs util-linux script)', async () => {
    const onTerminal = (filePath: string, env: Record<string, string> = {}): Promise<Ended> =>
      run('script', ['-qec', `"${process.execPath}" "${DEMO}" "${filePath}"`, '/dev/null'], { env });
    const { code, stdout } = await onTerminal(plain());
    expect(code).toBe(0);
    expect(stdout).toMatch(/replaying .*\d+ %/);
    expect(stdout).toMatch(/counting .*100 %/);
    expect(stdout).toContain('\u001b[1mA session');
    const uncoloured = await onTerminal(plain(), { NO_COLOR: '1' });
    expect(uncoloured.stdout).not.toMatch(/\u001b\[\d*m.*session/i);
    expect((await onTerminal(SAMPLE)).stdout).not.toContain('replaying ');
    expect((await onTerminal('/nowhere')).code).toBe(1);
  });
});

describe('the pass over the lines', async () => {
  const moduleOf = (name: string): Promise<any> => import(/* @vite-ignore */ join(PROJECT, 'demo', name));
  const { lineBatches } = await moduleOf('lines.mjs');
  const { addLine, newTally } = await moduleOf('tally.mjs');

  property.prop([
    fc.array(fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('\n', '\r\n', '\ufeff', '')), {
      maxLength: 40,
    }),
    fc.integer({ min: 1, max: 40 }),
  ])('gives the same lines whatever the size of its buffer', async (parts, chunkSize) => {
    const bytes = Buffer.from(parts.join('\n'));
    const lines: string[] = [];
    for await (const batch of lineBatches(writeSession(bytes), chunkSize)) lines.push(...batch.lines);
    const text = bytes.toString('utf8');
    const expected = (text.startsWith('\ufeff') ? text.slice(1) : text).split('\n');
    if (expected.at(-1) === '') expected.pop();
    // A file of nothing but a byte order mark has a line of no characters.
    expect(lines).toEqual(text === '\ufeff' ? [''] : expected);
  });

  property.prop([fc.array(fc.constantFrom('content', 'compressed', 'rewind', 'other', 'torn'))])(
    'counts each event that has an effect once, in any interleaving',
    (kinds) => {
      const tally = newTally();
      const events: Record<string, string> = {
        content: envelope(1, content('x', 'ai')),
        compressed: envelope(1, compressed('y', 2)),
        rewind: envelope(1, rewind(3)),
        other: envelope(1, ['other', { content: { speaker: 'ai' } }]),
        torn: envelope(1, content('z')).slice(0, -3),
      };
      for (const kind of kinds) addLine(tally, events[kind]);
      const times = (kind: string): number => kinds.filter((other) => other === kind).length;
      expect(tally).toMatchObject({
        lines: kinds.length,
        compressions: times('compressed'),
        itemsCompressed: 2 * times('compressed'),
        rewinds: times('rewind'),
        itemsRewound: 3 * times('rewind'),
      });
      expect(tally.turns.get('ai') ?? 0).toBe(times('content'));
    },
  );

  property.prop([fc.string({ unit: 'binary' }), fc.json(), fc.jsonValue()])(
    'never stumbles over a line',
    (text, json, value) => {
      const tally = newTally();
      const lines = [
        text,
        json,
        JSON.stringify({ type: 'content', payload: value, ts: value }),
        JSON.stringify({ type: 'content', payload: { content: { speaker: 'ai', blocks: value } } }),
      ];
      for (const type of [
        'session_start',
        'compressed',
        'rewind',
        'provider_switch',
        'session_event',
        '__proto__',
        'toString',
      ]) {
        lines.push(JSON.stringify({ type, payload: value }));
      }
      for (const line of lines) addLine(tally, line);
      expect(tally.lines).toBe(lines.length);
      expect(tally.turns.get('ai')).toBeGreaterThanOrEqual(1);
    },
  );
});
