/**
 * `npm run demo` records a sample session anew and shows what its replay tells;
 * `npm run demo -- FILE` shows that of any session file.
 *
 * Exit codes: 0 it was shown, 1 there is no session to show, 2 wrong usage.
 */
import { stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { coloursFor, printable } from './format.mjs';
import { lineBatches } from './lines.mjs';
import { progressOn } from './progress.mjs';
import { recordAnew } from './record.mjs';
import { summary } from './summary.mjs';
import { addLine, countTurn, newTally } from './tally.mjs';

const SAMPLE = join(dirname(fileURLToPath(import.meta.url)), 'sample.jsonl');
const USAGE = `Usage: npm run demo              record a sample session anew and replay it
       npm run demo -- FILE      replay a session file
`;

/** What is told to the person who asked, without a stack. */
class Complaint extends Error {
  constructor(message, exitCode = 1) {
    super(message);
    this.exitCode = exitCode;
  }
}

async function main(args) {
  if (args.includes('--help') || args.includes('-h')) return void process.stdout.write(USAGE);
  if (args.length > 1) throw new Complaint(`one file at a time, please\n\n${USAGE}`, 2);
  if (args[0]?.startsWith('-')) throw new Complaint(`there is no option ${printable(args[0])}\n\n${USAGE}`, 2);

  const { openSession, SessionRecordingService } = await addon();
  const [file] = args;
  const filePath =
    file === undefined ? await recordAnew(SessionRecordingService, SAMPLE) : resolve(callersDirectory(), file);
  const size = await sizeOfSession(filePath);

  const shown = await show(filePath, size, openSession);
  const title = file === undefined ? 'The sample session, recorded a moment ago' : 'A session';
  process.stdout.write(
    `\n${summary({ title, ...shown }, coloursFor(process.stdout), process.stdout.columns ?? 120)}`,
  );
}

/**
 * Opens the session instead of asking for its whole history: a page of items at a time is enough to count them, so a
 * session of any size fits into memory.
 */
async function show(filePath, size, openSession) {
  const progress = progressOn(process.stderr, size);
  const started = performance.now();
  const { session, survivors } = await replayed(filePath, openSession, progress);
  const replayMs = performance.now() - started;
  return {
    filePath,
    size,
    session,
    survivors,
    replayMs,
    tally: await tallyOf(filePath, size, progress('counting')),
  };
}

async function replayed(filePath, openSession, progress) {
  const replaying = progress('replaying');
  const onProgress = ({ bytes, total }) => replaying.at(bytes / total);
  const opened = await openSession(filePath, undefined, { auditTrail: true, onProgress }).finally(replaying.done);
  if (!opened.ok) throw new Complaint(refusal(filePath, opened));
  const { session } = opened;
  const reading = progress('reading');
  try {
    return { session, survivors: await countItems(session, reading) };
  } catch (error) {
    if (error.code !== 'ESESSIONREAD') throw error;
    throw new Complaint(`${printable(filePath, 1000)} can't be read to its end: ${printable(error.message)}`);
  } finally {
    reading.done();
    session.close();
  }
}

/** How many of the surviving items are of each speaker. */
async function countItems(session, progress) {
  const bySpeaker = new Map();
  let items = 0;
  for await (const item of session) {
    countTurn(bySpeaker, item);
    if (++items % 1000 === 0) progress.at(items / session.historyLength);
  }
  return bySpeaker;
}

async function tallyOf(filePath, size, progress) {
  const tally = newTally();
  try {
    for await (const { lines, tooLong, bytes } of lineBatches(filePath)) {
      for (const line of lines) addLine(tally, line);
      tally.tooLong += tooLong;
      progress.at(bytes / size);
    }
  } finally {
    progress.done();
  }
  return tally;
}

/** Says what is there instead, if it can't be a session. */
async function sizeOfSession(filePath) {
  const shown = printable(filePath, 1000);
  const found = await stat(filePath).catch((error) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') throw new Complaint(`there is no file ${shown}`);
    throw new Complaint(`can't look at ${shown}: ${error.message}`);
  });
  if (found.isDirectory()) throw new Complaint(`${shown} is a directory; name a session file in it`);
  if (!found.isFile()) throw new Complaint(`${shown} is not a regular file`);
  if (found.size === 0) throw new Complaint(`${shown} is empty: there is no session in it`);
  return found.size;
}

function refusal(filePath, { error, warnings }) {
  const shown = printable(filePath, 1000);
  if (error.startsWith('Failed to read file')) return printable(error, 1000);
  const details = warnings.slice(0, 3).map((warning) => `\n  ${printable(warning)}`);
  if (warnings.length > 3) details.push(`\n  … and ${warnings.length - 3} more`);
  return `${shown} is not a session: ${printable(error)}${details.join('')}`;
}

async function addon() {
  try {
    return await import('../index.mjs');
  } catch (error) {
    throw new Complaint(`the addon can't be loaded; "npm run demo" builds it first.\n${error.message}`);
  }
}

/** npm changes to the project's directory; a relative path means the one where the person is. */
function callersDirectory() {
  const { npm_lifecycle_event: script, INIT_CWD: directory } = process.env;
  return script === 'demo' && directory ? directory : process.cwd();
}

// A reader that has seen enough (`npm run demo | head -3`) is no error.
process.stdout.on('error', (error) => {
  if (error.code === 'EPIPE') process.exit(0);
  throw error;
});

try {
  await main(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof Complaint)) throw error;
  process.stderr.write(`${coloursFor(process.stderr).red('demo:')} ${error.message}\n`);
  process.exitCode = error.exitCode;
}
