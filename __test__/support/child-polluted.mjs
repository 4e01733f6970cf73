/**
 * Calls every function of the library while `Object.prototype` and `Array.prototype` have foreign members, and reports each result that
 * differs from what the function returns otherwise. Arguments: the library's path, the number of runs of the property.
 */
import { generateKeyPairSync } from 'node:crypto';
import { appendFileSync, cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join as joined } from 'node:path';
import fc from 'fast-check';
import { NAMES_OF_NAMING, NAMING_THAT_RECORDS, namingJobs } from './polluted-names.mjs';
import { FORKS_THAT_RECORD, forkJobs, NAMES_OF_FORKS } from './polluted-forks.mjs';

const [library, runs] = process.argv.slice(2);
const tape = createRequire(import.meta.url)(library);
const { stringify } = JSON;
const root = mkdtempSync(join(tmpdir(), 'session-tape-polluted-'));
process.on('exit', () => rmSync(root, { recursive: true, force: true }));
Date.now = () => 1_760_000_000_000;

/** The name of every member that is passed between JavaScript and Rust, and of every option that a caller may leave out. */
const NAMES = [
  ...NAMES_OF_NAMING,
  ...'keep names wide items events results bytes total last lastSeq eventCount historyLength failed panicked done files cancelled'.split(' '),
  ...'error code message time eventId expected found errno syscall path problems owner pid startTime host kept side'.split(' '),
  ...'isEnvironmental severity timestamp seq ok state stateHash fromSnapshot metrics warnings seconds history metadata'.split(' '),
  ...'sessionEvents checked unverifiable firstFailure chain dag schedule stateHashes outputHashes snapshots dagMatch'.split(' '),
  ...'scheduleMatch stateHashesMatch outputHashesMatch bundleId kind redactions partial info dagHash snapshotId logicalTime'.split(' '),
  ...'contentHash snapshot at diff trace truncated label ancestors edits edits_stopped tool node note left right fields'.split(' '),
  ...'payload fileSize lastModified nanoseconds reason session unreadable nothing signal onProgress progress throughSeq'.split(' '),
  ...'projectHash verifiedBundle auditTrail onDemand full heartbeats ignore until verify trustedKeys signature limits lineBytes blobBytes'.split(' '),
  ...'expansion totalBytes signWith level redact builtin rules pattern kinds tools from to color details sessionId provider'.split(' '),
  ...'model workspaceDirs chatsDir idPrefix nameHasSeconds fileName fsync exclusiveOwner startPayload now id runId workflow capabilities resume'.split(' '),
  ...'ownerToken isFile changedNs modified bytes isJson record pidReuse lockPath guard inode'.split(' '),
  ...'strict snapshotDir sequenceCorrupt checkpoints sessionName ancestry isNamed isFork cwd title name deleted sequence'.split(' '),
  ...'hasContent firstUserMessage checkpointId checkpointName createdAt parentSessionId parentSequence ts type seq'.split(' '),
  ...'described report hash listed opened replayed lock lockHandle recording targets target sessions skipped usable overviews'.split(' '),
  ...'exact continueRef currentProvider currentModel directory deletedSessionId historyLength source warnings release ownsLock'.split(' '),
  ...'line lines offset offsets lengths statuses histories types'.split(' '),
  ...NAMES_OF_FORKS,
  ...'queued eventsDropped filePath takeBatch result native recorder cleansUp cause once toJSON clock'.split(' '),
];
const OPTIONS = {
  throughSeq: undefined, auditTrail: undefined, snapshot: undefined, snapshotDir: undefined, signal: undefined, onProgress: undefined,
};
const VALUES = [1, true, 'x', null, [], {}, 0];

function recordingConfig(directory, more = {}) {
  return {
    sessionId: 'polluted-session', projectHash: 'h', chatsDir: directory, workspaceDirs: ['/w'], provider: 'p', model: 'm',
    onWarning: undefined, durability: undefined, exclusive: undefined, cwd: undefined, fileName: undefined, ...more,
  };
}

const WORKFLOW = {
  name: 'w', version: '1',
  nodes: [
    { id: 'a', kind: 'task', tool: 'sh', dependsOn: [], capabilities: [] },
    { id: 'b', kind: 'task', tool: 'sh', dependsOn: ['a'], capabilities: [] },
  ],
};

function runConfig(directory, more = {}) {
  return {
    directory, runId: 'run-1', workflow: WORKFLOW, scheduler: 'external', capabilities: ['net'], resume: undefined,
    durability: undefined, onWarning: undefined, ...more,
  };
}

/** A small run. `code` is in its last event. */
async function smallRun(directory, code) {
  const recorder = new tape.RunRecorder(runConfig(directory));
  const append = (kind, payload, node = null) => recorder.append({ kind, node, parent: null, payload });
  const times = [
    append('RunStarted', { workers: [{ id: 'w', capabilities: ['net'] }] }),
    append('NodeScheduled', { task: 'a#1', dependsOn: [] }, 'a'),
    append('TaskAssigned', { task: 'a#1', worker: 'w' }, 'a'),
  ];
  const blob = recorder.putBlob('blob');
  append('BlobStored', { blob, size: 4 });
  const snapshot = await recorder.snapshot({ signWith: undefined });
  append('Error', { code, message: 'm', recoverable: true });
  const refused = await outcome(() => append('TaskAccepted', { task: 'b#1', worker: 'w' }, 'b'));
  const unknown = await outcome(() => append('Unheard', {}));
  const locked = await outcome(() => new tape.RunRecorder(runConfig(directory)));
  await recorder.flush();
  const state = recorder.state();
  await recorder.dispose();
  const again = await outcome(() => new tape.RunRecorder(runConfig(directory)));
  return { times, blob, snapshot, refused, unknown, locked, state, again };
}

/** The `value` that a function returns or resolves to, or the `error` that it throws. */
async function outcome(work) {
  try {
    return { value: await work() };
  } catch (error) {
    return { error };
  }
}

/** Events about how a session is presented. */
const PRESENTATION = [
  { type: 'session_forked', payload: { parentSessionId: 's0', parentSequence: 4, checkpointId: 'c0', checkpointName: 'n' } },
  { type: 'session_metadata', payload: { title: 'a title' } },
  { type: 'checkpoint_created', payload: { checkpointId: 'c', name: 'one' } },
  { type: 'checkpoint_renamed', payload: { checkpointId: 'c', name: 'two' } },
  { type: 'checkpoint_created', payload: { name: 'without an id' } },
  { type: 'checkpoint_deleted', payload: {} },
  { type: 'session_named', payload: { name: null } },
];
const CHECKPOINTS = PRESENTATION.map((event, at) => ({ v: 1, seq: at + 2, ts: 't', ...event }));

function sessionText(lines) {
  const start = { v: 1, seq: 1, ts: '2026-01-01T00:00:00.000Z', type: 'session_start', payload: { sessionId: 's', projectHash: 'h', workspaceDirs: ['/w'], provider: 'p', model: 'm', startTime: 't' } };
  const text = [start];
  for (let seq = 2; seq < lines; seq++) {
    const ts = '2026-01-01T00:00:00.000Z';
    if (seq % 1000 === 0) text.push({ v: 1, seq, ts, type: 'session_event', payload: { severity: 'info', message: 'é' } });
    else if (seq < 2 + PRESENTATION.length) text.push({ v: 1, seq, ts, ...PRESENTATION[seq - 2] });
    else if (seq % 1999 === 0) text.push({ v: 1, seq, ts, type: 'new', payload: { kind: {} } });
    else text.push({ v: 1, seq, ts, type: 'content', payload: { content: { speaker: seq === 30 ? 'human' : 'ai', kind: seq, 0: 'zero', error: null, blocks: [{ type: 'text', text: `text ${seq}` }, 1, 2, 3] } } });
  }
  return text.map((line, at) => (at % 1500 === 7 ? 'not json' : stringify(line))).join('\n') + '\n';
}

async function prepare() {
  const chats = join(root, 'chats');
  mkdirSync(chats);
  writeFileSync(join(chats, 'session-a.jsonl'), sessionText(6000));
  writeFileSync(join(chats, 'session-b.jsonl'), sessionText(40));
  writeFileSync(join(chats, 'session-c.jsonl'), 'nothing\n');
  writeFileSync(join(chats, 'session-d.jsonl'), '{"v":1,"seq":1,"ts":"","type":"session_start","payload":{}}\n');
  const { value, error } = await outcome(() => smallRun(join(root, 'run'), 'E1'));
  if (error) throw error;
  await smallRun(join(root, 'run-2'), 'E2');
  cpSync(join(root, 'run'), join(root, 'run-broken'), { recursive: true });
  const log = join(root, 'run-broken', 'events.cath-log');
  writeFileSync(log, readFileSync(log, 'utf8').replace('"E1"', '"E3"'));
  await tape.exportBundle(join(root, 'run'), join(root, 'bundle.cath-bundle'));
  await tape.exportBundle(join(root, 'run'), join(root, 'bundle.cath-bundle.tar.zst'));
  cpSync(join(root, 'bundle.cath-bundle'), join(root, 'bad.cath-bundle'), { recursive: true });
  appendFileSync(join(root, 'bad.cath-bundle', 'dag.json'), ' ');
  const { publicKey } = generateKeyPairSync('ed25519', { publicKeyEncoding: { type: 'spki', format: 'pem' }, privateKeyEncoding: { type: 'pkcs8', format: 'pem' } });
  return { chats, life: sessionsToFind(), publicKey, value };
}

/** Appends an element. `push` would call setters of indices. */
function append(all, one) {
  Object.defineProperty(all, all.length, { __proto__: null, value: one, enumerable: true });
}

async function collected(events) {
  const all = [];
  for await (const event of events) append(all, event);
  return all;
}

async function sessionOpened(path) {
  const opened = await tape.openSession(path);
  if (!opened.ok) return opened;
  const { session } = opened;
  const first = await session.items(0, 3);
  const all = await session.items();
  session.close();
  return { session, first, all, closed: await outcome(() => session.items()) };
}

let directories = 0;

/** `path.join` would fill an array by index. */
function join(...parts) {
  return parts.length === 2 ? `${parts[0]}/${parts[1]}` : joined(...parts);
}

async function sessionRecorded() {
  const directory = join(root, `record-${++directories}`);
  const warnings = [];
  const onWarning = (warning) => append(warnings, warning);
  const recorder = new tape.SessionRecordingService(recordingConfig(directory, { onWarning, exclusive: true }));
  recorder.recordContent({ speaker: 'human', blocks: [] });
  recorder.enqueue('other', { a: 1 });
  await recorder.flush();
  const path = recorder.getFilePath();
  const second = new tape.SessionRecordingService(recordingConfig(directory, { onWarning, exclusive: true }));
  second.initializeForResume(path, 3);
  await outcome(() => second.flush());
  await second.dispose();
  await recorder.dispose();
  const nowhere = new tape.SessionRecordingService(recordingConfig(join(path, 'below'), { onWarning }));
  nowhere.recordContent({ speaker: 'human', blocks: [] });
  const flushed = await outcome(() => nowhere.flush());
  await nowhere.dispose();
  return { path, warnings, flushed, get text() { return readFileSync(path, 'utf8'); } };
}

/** The results of the functions about locks and the files they leave, with stale locks and guards to be removed. */
async function sessionLocked() {
  const directory = join(root, `locks-${++directories}`);
  const lock = await tape.acquireSessionLock(directory, 's');
  const second = await outcome(() => tape.acquireSessionLock(directory, 's'));
  const unsafe = await outcome(() => tape.acquireSessionLock(directory, '../s'));
  const states = { owns: await lock.ownsLock(), locked: await tape.isSessionLocked(directory, 's'), stale: await tape.isLockStale(lock.lockPath, { pidReuse: true }) };
  await lock.release();
  const dead = stringify({ __proto__: null, pid: 2 ** 30, timestamp: '2020-01-01T00:00:00.000Z', sessionId: 's' });
  for (const suffix of ['s.lock', 's.lock.tguard', 't.lock', 't.lock.tguard']) writeFileSync(join(directory, suffix), dead);
  const next = await tape.acquireSessionLock(directory, 's');
  const text = readFileSync(next.lockPath, { __proto__: null, encoding: 'utf8' }).replace(/\d+,/, '').replace(/"[0-9a-f-]{36}"/, '');
  await next.release();
  const cleaned = [await tape.cleanUpLocks(directory), await tape.removeStaleLock(directory, 't'), await tape.removeStaleLock(directory, 't')];
  return { second, unsafe, states, text, cleaned, left: readdirSync(directory) };
}

/** Files to be listed: sessions that can be continued, and others. Their texts are made before anything is polluted. */
const LIFE = (() => {
  const line = (seq, type, payload) => `${stringify({ v: 1, seq, ts: 't', type, payload })}\n`;
  const header = (sessionId, provider = 'p') => line(1, 'session_start', { sessionId, projectHash: 'h', workspaceDirs: [], provider, model: 'm', startTime: 't' });
  return [
    { name: 'session-1.jsonl', text: header('corrupt') + line(3, 'x', 1) + line(3, 'x', 1) },
    { name: 'session-2.jsonl', text: header('strict', '') },
    { name: 'session-3.jsonl', text: header('plain') + line(2, 'content', { content: { speaker: 'ai', blocks: [] } }) },
    { name: 'session-4.jsonl', text: header('named') + line(2, 'session_named', { name: 'a name' }) + line(3, 'checkpoint_created', { checkpointId: 'c', name: 'one' }) },
    { name: 'session-5.jsonl', text: header('un/safe') },
    { name: 'session-6.jsonl', text: header('long') + line(2, 'session_metadata', { title: 't'.repeat(300_000) }) },
    { name: 'other.jsonl', text: 'nothing' },
  ];
})();

function sessionsToFind() {
  const directory = join(root, `life-${++directories}`);
  mkdirSync(directory);
  for (let at = 0; at < LIFE.length; at++) {
    const path = join(directory, LIFE[at].name);
    writeFileSync(path, LIFE[at].text);
    utimesSync(path, 1, 1000 - at);
  }
  return directory;
}

const describing = (directory) => tape.describeSessions(directory, { ...OPTIONS, projectHash: undefined });
const targeting = (directory) => tape.listContinueTargets(directory, 'h', OPTIONS);

/** Resolves references to the sessions and targets of a directory. */
async function sessionsReferred(directory) {
  const { targets } = await targeting(directory);
  const sessions = targets.filter(({ kind }) => kind === 'session').map(({ session }) => session);
  const refs = ['c', 'one', 'plain', '1', 'pl', 'latest', 'none', '9', ''];
  return refs.map((ref) => [tape.resolveContinueRef(ref, targets), tape.resolveSessionRef(ref, sessions)]);
}

const resumeRequest = (chatsDir, continueRef, more) => ({
  continueRef, chatsDir, projectHash: 'h', currentProvider: 'p2', currentModel: 'm', workspaceDirs: [], snapshot: undefined, snapshotDir: undefined, recorder: undefined, ...more,
});

/** Resumes by every kind of reference, including some that fail. */
async function sessionsResumed() {
  const directory = sessionsToFind();
  const all = [];
  for (const ref of [tape.CONTINUE_LATEST, 'a name', 'long', 'corrupt', 'strict', 'un/safe', 'none', '']) {
    const result = await tape.resumeSession(resumeRequest(directory, ref, ref === 'long' ? { snapshot: true } : {}));
    const recording = result.ok ? result.recording : null;
    delete result.recording;
    append(all, result);
    if (recording === null) continue;
    if (ref === 'long') append(all, await tape.resumeSession(resumeRequest(directory, 'long')));
    append(all, recording.getSessionMetadataTitle()?.length);
    await recording.dispose();
  }
  const nowhere = await tape.resumeSession(resumeRequest(join(directory, 'none'), 'x'));
  return { all, nowhere, text: readFileSync(join(directory, 'session-4.jsonl'), { __proto__: null, encoding: 'utf8' }), left: readdirSync(directory) };
}

/** Deletes sessions, and tries to delete some that cannot be deleted. */
async function sessionsDeleted() {
  const directory = sessionsToFind();
  const lock = await tape.acquireSessionLock(directory, 'long');
  const all = [];
  for (const ref of ['plain', 'corr', 'named', 'strict', 'un/safe', 'long', 'none']) {
    append(all, await tape.deleteSession(ref, directory, 'h', { exact: ref === 'none', snapshotDir: join(directory, 'none') }));
  }
  await lock.release();
  const nowhere = await tape.deleteSession('x', join(directory, 'none'), 'h');
  return { all, nowhere, left: readdirSync(directory) };
}

async function runFailing() {
  return outcome(() => new tape.RunRecorder(runConfig(`${root}/chats/session-a.jsonl/below`)));
}

/** The calls to be made under pollution, by name. */
function jobs({ chats, life, publicKey }) {
  const [a, b] = [join(chats, 'session-a.jsonl'), join(chats, 'session-b.jsonl')];
  const [run, other, broken] = [join(root, 'run'), join(root, 'run-2'), join(root, 'run-broken')];
  const [bundle, archive, bad] = ['bundle.cath-bundle', 'bundle.cath-bundle.tar.zst', 'bad.cath-bundle'].map((name) => join(root, name));
  let diffed;
  return {
    replaySession: () => tape.replaySession(a),
    'replaySession, strict': () => tape.replaySession(b, 'h', { ...OPTIONS, strict: true }),
    'replaySession, other project': () => tape.replaySession(a, 'other'),
    'replaySession, no file': () => tape.replaySession(join(root, 'none')),
    'replaySession, a path that cannot be': () => tape.replaySession('\0'),
    'replaySession, a bundle of a run': () => tape.replaySession(archive),
    'replaySession, an argument': () => tape.replaySession(1),
    openSession: () => sessionOpened(a),
    readSessionRecords: () => collected(tape.readSessionRecords(a)),
    'readSessionRecords, options': () => collected(tape.readSessionRecords(b, { history: true, strict: undefined, types: undefined, from: { line: 1, offset: 0 }, signal: undefined })),
    'readSessionRecords, none': () => collected(tape.readSessionRecords(join(root, 'none'))),
    foldCheckpoints: () => tape.foldCheckpoints(CHECKPOINTS),
    readSessionHeader: () => tape.readSessionHeader(b),
    'readSessionHeader, no file': () => tape.readSessionHeader(join(root, 'none')),
    readSessionHeaders: () => tape.readSessionHeaders([a, join(root, 'none'), b]),
    'readSessionHeaders, a directory': () => tape.readSessionHeaders(chats),
    listSessions: () => tape.listSessions(chats),
    readSessionPreview: () => tape.readSessionPreview(a, { length: undefined, signal: undefined }),
    'readSessionPreview, no file': () => tape.readSessionPreview(join(root, 'none')),
    readSessionTitle: () => tape.readSessionTitle(b),
    'readSessionTitle, none': () => tape.readSessionTitle(join(chats, 'session-c.jsonl')),
    describeSessions: () => describing(life),
    'describeSessions, no directory': () => describing(join(root, 'none')),
    listContinueTargets: () => targeting(life),
    'listContinueTargets, no directory': () => targeting(join(root, 'none')),
    resolveContinueRef: () => sessionsReferred(life),
    resumeSession: sessionsResumed,
    deleteSession: sessionsDeleted,
    SessionRecordingService: sessionRecorded,
    acquireSessionLock: sessionLocked,
    ...namingJobs(tape, root),
    RunRecorder: () => smallRun(join(root, `recorded-${++directories}`), 'E1'),
    'RunRecorder, no directory': runFailing,
    ...forkJobs(tape, root),
    compileWorkflow: () => tape.compileWorkflow(WORKFLOW),
    'compileWorkflow, a circle': () => tape.compileWorkflow({ ...WORKFLOW, nodes: [{ id: 'a', kind: 'k', tool: 't', dependsOn: ['a'], capabilities: [] }] }),
    replayRun: () => tape.replayRun(run),
    'replayRun, broken': () => tape.replayRun(broken),
    'replayRun, none': () => tape.replayRun(join(root, 'none')),
    verifyRun: () => tape.verifyRun(run),
    'verifyRun, broken': () => tape.verifyRun(broken),
    readRunEvents: () => collected(tape.readRunEvents(run)),
    'readRunEvents, none': () => collected(tape.readRunEvents(join(root, 'none'))),
    diff: async () => (diffed = await tape.diff(run, other)),
    'diff of sessions': () => tape.diff(a, b),
    'diff, none': () => tape.diff(run, join(root, 'none')),
    diffToText: () => tape.diffToText(diffed),
    traceAncestors: () => tape.traceAncestors(run, 'evt_4'),
    'traceAncestors, none': () => tape.traceAncestors(run, 'evt_400'),
    exportBundle: () => tape.exportBundle(run, join(root, `out-${++directories}.cath-bundle`)),
    'exportBundle, there is one': () => tape.exportBundle(run, bundle),
    verifyBundle: () => tape.verifyBundle(archive),
    'verifyBundle, bad': () => tape.verifyBundle(bad),
    'verifyBundle, limits': () => tape.verifyBundle(archive, { trustedKeys: [publicKey], signature: 'ifPresent', limits: { lineBytes: 1 << 20 }, signal: undefined, onProgress: undefined }),
    importBundle: () => tape.importBundle(archive, join(root, `in-${++directories}`)),
    'importBundle, bad': () => tape.importBundle(bad, join(root, `in-${++directories}`)),
  };
}

/** A result as text, without the parts that differ each time. Undefined members and errors are shown, too. */
function shown(result) {
  const text = stringify(result, (key, value) => {
    if (value instanceof Error) return { error: value.name, message: value.message, ...value, cause: value.cause };
    if (value === undefined) return 'undefined';
    if (key === 'seconds' || key === 'snapshotId' || key === 'snapshot') return '';
    return value;
  });
  return text.replace(/[0-9a-f]{64}/g, 'HASH').replace(/snap_\w+/g, 'SNAPSHOT').replace(/(record|recorded|locks|life|out|in)-\d+/g, '$1').replace(/\(?\d*\)?\.jsonl/g, '.jsonl');
}

/**
 * Runs all jobs while `pollute` is in effect, and turns their results into text afterwards. Polluting anew for each job would take longer than
 * the jobs, since V8 discards its optimisations for all objects each time.
 */
async function results(all, pollute) {
  const [names, found] = [Object.keys(all), []];
  const restore = pollute();
  try {
    // Not `for … of` with a pattern: that calls an inherited `return`.
    for (let at = 0; at < names.length; at++) append(found, await outcome(all[names[at]]));
  } finally {
    restore();
  }
  return found.map((settled, at) => [names[at], shown(settled)]);
}

/** Returns a function that adds members to `prototype`, and returns the function that removes them. */
function polluted(prototype, members) {
  return () => {
    for (let at = 0; at < members.length; at++) Object.defineProperty(prototype, members[at][0], { __proto__: null, configurable: true, ...members[at][1] });
    return () => {
      for (let at = 0; at < members.length; at++) delete prototype[members[at][0]];
    };
  };
}

const plain = (value) => ({ value, writable: true });
const fixed = (value) => ({ value, writable: false });
const setter = (value) => ({ get: () => value, set() {} });

const prepared = await prepare();
const all = jobs(prepared);
const expected = await results(all, () => () => {});
const differences = [];

/** The texts around their first difference. */
function difference(found, wanted) {
  let at = 0;
  while (found[at] === wanted[at]) at++;
  return `${found.slice(Math.max(0, at - 80), at + 120)} / ${wanted.slice(at, at + 120)}`;
}

async function compare(title, pollute, counts = () => true) {
  const found = await results(all, pollute);
  const different = found.filter(([name, text], at) => text !== expected[at][1] && counts(name));
  for (const [name, text] of different) differences.push(`${title}: ${name}: ${difference(text, expected[found.findIndex(([one]) => one === name)][1])}`);
  return different.length === 0;
}

const usable = NAMES.filter((name) => !(name in Object.prototype));
await compare('nothing', () => () => {});
for (const value of VALUES) {
  await compare(`${stringify(value)} everywhere`, polluted(Object.prototype, usable.map((name) => [name, plain(value)])));
}
await compare('setters everywhere', polluted(Object.prototype, usable.map((name) => [name, setter([])])));
await compare('return', polluted(Object.prototype, [['return', plain(1)]]));
await compare('fixed everywhere', polluted(Object.prototype, usable.map((name) => [name, fixed(1)])));
// Not read-only ones: with those, Node itself fails.
const indices = Array.from({ length: 8 }, (_, index) => [String(index), setter(7)]);
await compare('setters of indices of Array.prototype', polluted(Array.prototype, indices));
await compare('setters of indices of Object.prototype', polluted(Object.prototype, indices));
// Values of the caller are recorded as `JSON.stringify` prints them, and that calls any `toJSON`.
const passes = new Set([...NAMING_THAT_RECORDS, ...FORKS_THAT_RECORD, 'SessionRecordingService', 'resumeSession', 'RunRecorder', 'RunRecorder, no directory', 'compileWorkflow', 'compileWorkflow, a circle']);
await compare('toJSON of arrays', polluted(Array.prototype, [['toJSON', plain(() => 'array')]]), (name) => !passes.has(name));
await compare('toJSON of objects', polluted(Object.prototype, [['toJSON', plain(() => 'object')]]), (name) => !passes.has(name));

const member = fc.tuple(fc.constantFrom(...usable), fc.constantFrom(...VALUES), fc.constantFrom(plain, fixed, setter));
await fc.assert(
  fc.asyncProperty(fc.array(member, { minLength: 1, maxLength: 12, size: 'max' }), (members) => {
    const made = new Map(members.map(([name, value, make]) => [name, make(value)]));
    return compare(stringify(members), polluted(Object.prototype, [...made]));
  }),
  { numRuns: Number(runs), endOnFailure: true },
).catch((error) => differences.push(String(error)));

console.log(stringify(differences));
