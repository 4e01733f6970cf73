/** The calls that `child-polluted.mjs` makes about forks: of closed and open sources, and with each failure. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';

/** Members that are passed between the parts of a fork, or read from options. */
export const NAMES_OF_FORKS = [
  ...'target options checkpointId checkpointName source sessionId config snapshots directory filePath lock failed message'.split(' '),
  ...'recorder recording lockHandle cwd fileName onWarning durability exclusive lastSeq metadata history chatsDir now'.split(' '),
];

/** The jobs that record: like a recorder, they call any `toJSON`. */
export const FORKS_THAT_RECORD = ['forkSession', 'forkSession, open, and failures'];

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/g;
const PREFIX = /(T\d\d-\d\d(?:-\d\d)?-)[0-9a-f-]{8,12}(?=\.jsonl)/g;
const { stringify } = JSON;
let directories = 0;

// Made before anything is polluted.
const SOURCE = [
  ['session_start', { sessionId: 'source', projectHash: 'h', workspaceDirs: [], cwd: '/w', provider: 'p', model: 'm', startTime: 't' }],
  ['checkpoint_created', { checkpointId: 'empty', name: 'too early' }],
  ['content', { content: { speaker: 'human', blocks: [{ type: 'text', text: 'é' }] } }],
  ['session_metadata', { title: 'a title' }],
  ['checkpoint_created', { checkpointId: 'live', name: 'hér' }],
  ['checkpoint_created', { checkpointId: 'gone', name: 'deleted' }],
  ['checkpoint_deleted', { checkpointId: 'gone' }],
].map(([type, payload], at) => `${stringify({ v: 1, seq: at + 1, ts: 't', type, payload })}\n`).join('');

/** The forks, for a library and a directory in which each has a source of its own. */
export function forkJobs(tape, root) {
  /** `mkdirSync` would take an inherited `errno` for its own. */
  async function sourceIn(name) {
    const chatsDir = `${root}/forks-${++directories}`;
    await mkdir(chatsDir, { __proto__: null });
    if (name !== null) writeFileSync(`${chatsDir}/${name}`, SOURCE);
    return chatsDir;
  }

  const configOf = (chatsDir, sessionId) => ({
    __proto__: null, sessionId, projectHash: 'h', chatsDir, workspaceDirs: ['/w'], provider: 'q', model: 'n',
    cwd: undefined, fileName: undefined, onWarning: undefined, durability: undefined, exclusive: undefined,
  });

  const optionsOf = (chatsDir, more) => ({
    __proto__: null, chatsDir, projectHash: 'h', provider: 'q', model: 'n', workspaceDirs: ['/w'], source: undefined, snapshot: undefined,
    snapshotDir: undefined, recorder: undefined, ...more,
  });

  const targetOf = (chatsDir, checkpointId) => ({
    __proto__: null, checkpointId, checkpointName: 'as listed', source: { __proto__: null, sessionId: 'source', filePath: `${chatsDir}/session-1.jsonl` },
  });

  /** The result of a fork, the names in its directory and its file, without the parts that differ each time. */
  async function shownOf(chatsDir, result) {
    if (!result.ok) return { error: result.error.replace(chatsDir, 'CHATS'), code: result.code };
    const { history, metadata, recording, lockHandle } = result;
    const owns = await lockHandle.ownsLock();
    await recording.dispose();
    const text = readFileSync(recording.getFilePath(), { __proto__: null, encoding: 'utf8' });
    return {
      history, owns, metadata: stringify(metadata).replace(UUID, 'ID'), text: text.replace(UUID, 'ID'),
      names: stringify(readdirSync(chatsDir)).replace(UUID, 'ID').replace(PREFIX, '$1ID'),
    };
  }

  return {
    __proto__: null,
    forkSession: async () => {
      const chatsDir = await sourceIn('session-1.jsonl');
      const recorder = { __proto__: null, ...configOf(chatsDir, 'unused'), cwd: '/c', fileName: 'seconds' };
      return shownOf(chatsDir, await tape.forkSession(targetOf(chatsDir, 'live'), optionsOf(chatsDir, { __proto__: null, snapshot: true, recorder })));
    },
    'forkSession, open, and failures': async () => {
      const chatsDir = await sourceIn('session-1.jsonl');
      const source = await tape.SessionRecordingService.createLocked(configOf(chatsDir, 'source'));
      source.initializeForResume(`${chatsDir}/session-1.jsonl`, 7);
      const fork = async (checkpointId, more) => shownOf(chatsDir, await tape.forkSession(targetOf(chatsDir, checkpointId), optionsOf(chatsDir, more)));
      const busy = await fork('live');
      const more = { __proto__: null, source };
      const empty = await fork('empty', more);
      const gone = await fork('gone', more);
      const found = await fork('live', more);
      await source.dispose();
      return { found, busy, empty, gone };
    },
    'forkSession, no source': async () => {
      const chatsDir = await sourceIn(null);
      return shownOf(chatsDir, await tape.forkSession(targetOf(chatsDir, 'live'), optionsOf(chatsDir)));
    },
    'forkSession, an argument': () => tape.forkSession(1, {}),
  };
}
