/** The calls that `child-polluted.mjs` makes about names: all functions that give, take, remove and list names in a project. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';

/** Members that are passed between the parts of an operation on names, or read from options. */
export const NAMES_OF_NAMING = [
  ...'overwrite filePath chatsDir sessionId projectHash checkpointId needsHistory give identity report isOwn'.split(' '),
  ...'record type payload sequence deleted historyLength lastSeq sequenceCorrupt metadata error name'.split(' '),
];

/** The jobs that record: like a recorder, they call any `toJSON`. */
export const NAMING_THAT_RECORDS = ['names in a closed session', 'names in an open session'];

const HASH = 'h';
const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/g;
const { stringify } = JSON;
let directories = 0;

function sessionText(id, name, checkpoint) {
  const payloads = [
    ['session_start', { sessionId: id, projectHash: HASH, workspaceDirs: [], provider: 'p', model: 'm', startTime: 't' }],
    ['content', { content: { speaker: 'human', blocks: [{ type: 'text', text: 'é' }] } }],
    ['session_named', { name }],
    ['checkpoint_created', { checkpointId: `cp-${id}`, name: checkpoint }],
  ];
  return payloads.map(([type, payload], at) => stringify({ v: 1, seq: at + 1, ts: 't', type, payload })).join('\n') + '\n';
}

// Made before anything is polluted.
const TEXTS = { a: sessionText('a', 'eins', 'Anfang'), b: sessionText('b', 'zwei', 'Mitte') };
const IDS = ['a', 'b'];

/** The operations on names, for a library and a directory in which each makes one of its own. */
export function namingJobs(tape, root) {
  const outcome = async (work) => {
    try {
      return { __proto__: null, value: await work() };
    } catch (error) {
      return { __proto__: null, error: `${error.name}: ${error.message}` };
    }
  };

  /** `mkdirSync` would take an inherited `errno` for its own. */
  async function project() {
    const chats = `${root}/names-${++directories}`;
    await mkdir(chats, { __proto__: null });
    for (let at = 0; at < IDS.length; at++) writeFileSync(`${chats}/session-${IDS[at]}.jsonl`, TEXTS[IDS[at]]);
    return chats;
  }

  const closed = (chats, id) => ({ __proto__: null, filePath: `${chats}/session-${id}.jsonl`, chatsDir: chats, sessionId: id });
  const OVERWRITE = { __proto__: null, overwrite: true, snapshot: undefined, snapshotDir: undefined };
  const PLAIN = { __proto__: null };

  async function opened(chats, id) {
    const recorder = await tape.SessionRecordingService.createLocked({
      __proto__: null, sessionId: id, projectHash: HASH, chatsDir: chats, workspaceDirs: [], provider: 'p', model: 'm',
    });
    recorder.initializeForResume(`${chats}/session-${id}.jsonl`, 4);
    return recorder;
  }

  /** The records that were added, and the other files in the directory, without the parts that differ each time. */
  function left(chats) {
    let text = '';
    for (let at = 0; at < IDS.length; at++) text += readFileSync(`${chats}/session-${IDS[at]}.jsonl`, { __proto__: null, encoding: 'utf8' }).slice(TEXTS[IDS[at]].length);
    const names = readdirSync(chats).filter((name) => !name.endsWith('.jsonl')).sort().join();
    return `${text} ${names}`.replace(UUID, 'ID').replace(/"ts":"[^"]*"/g, '');
  }

  const settled = async (chats, ...works) => {
    let text = '';
    for (let at = 0; at < works.length; at++) {
      const { value, error } = await outcome(works[at]);
      text += ` ${error ?? (value === undefined ? 'done' : Array.isArray(value) ? value.length : value.name)}`;
    }
    return `${text} ${left(chats)}`.replaceAll(chats, '');
  };

  // Few operations: each syncs its locks to the disk.
  return {
    'names in a closed session': async () => {
      const chats = await project();
      const a = closed(chats, 'a');
      return settled(chats,
        () => tape.createCheckpoint(a, HASH, 'zwei', PLAIN),
        () => tape.createCheckpoint(a, HASH, ' zwei ', OVERWRITE),
        () => tape.deleteCheckpoint(a, HASH, 'cp-b'),
        () => tape.nameSession(closed(chats, 'none'), HASH, 'neu', PLAIN),
        () => tape.listCheckpoints(a.filePath, HASH, PLAIN));
    },
    'names in an open session': async () => {
      const chats = await project();
      const a = await opened(chats, 'a');
      const text = await settled(chats, () => tape.nameSession(a, HASH, 'Mitte', OVERWRITE), () => tape.deleteCheckpoint(closed(chats, 'a'), HASH, 'cp-a'));
      a.setSessionName = async () => {
        throw new Error('none');
      };
      const undone = await settled(chats, () => tape.renameCheckpoint(a, HASH, 'cp-a', 'Mitte', OVERWRITE));
      await a.dispose();
      return text + undone;
    },
  };
}
