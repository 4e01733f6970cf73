// The replay engine in plain JavaScript: one fold over the lines of a session file, with two front ends.
//
// - `replayBytes` is the oracle of the differential tests: exact on any bytes, whole file in memory.
// - `replayFileWithReadline` reads as CLIs commonly do (createReadStream, readline, JSON.parse a line):
//   the rival in the benchmarks. readline also ends a line at a lone `\r`, from Node 24 on at U+2028 and
//   U+2029 as well, so it is exact only for files without those.
//
// It knows nothing of the addon, and nothing here is clever: it is read to see what replay means.

import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';

const BYTE_ORDER_MARK = '\ufeff';
const NEWLINE = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const WARNINGS_SHOWN = 100;
const TOLERATED_SHARE = 0.05;
const HEADER_BYTES = 1024 * 1024;
const SEVERITIES = ['info', 'warning', 'error'];

export function replayBytes(bytes, expectedProjectHash, options = {}) {
  const fold = startFold(expectedProjectHash, options);
  for (const line of decodedLines(bytes)) {
    if (!foldLine(fold, line)) break;
  }
  return finish(fold);
}

export async function replayFileWithReadline(filePath, expectedProjectHash, options = {}) {
  const fold = startFold(expectedProjectHash, options);
  options.signal?.throwIfAborted();
  try {
    await eachLineOfFile(filePath, (line) => foldLine(fold, line) && !options.signal?.aborted);
  } catch (error) {
    return failed(fold, `Failed to read file: ${error.message}`);
  }
  options.signal?.throwIfAborted();
  return finish(fold);
}

export async function readHeaderWithReadline(filePath) {
  let header = null;
  try {
    await eachLineOfFile(filePath, (line) => {
      header = headerOfLine(line);
      return false;
    });
  } catch {
    // Whatever can't be read has no header.
  }
  return header;
}

/** The header that `readSessionHeader` finds in a file of these bytes. */
export function headerOfBytes(bytes) {
  const start = hasByteOrderMark(bytes) ? 3 : 0;
  const end = bytes.indexOf(NEWLINE, start);
  const lineEnd = end === -1 ? bytes.length : end + 1;
  if (lineEnd > HEADER_BYTES) return null;
  return headerOfLine(decoder().decode(bytes.subarray(start, lineEnd)));
}

function headerOfLine(line) {
  const event = parsed(line);
  if (!isObject(event) || event.type !== 'session_start') return null;
  return isObject(event.payload) && !Array.isArray(event.payload) ? event.payload : null;
}

// ---- Lines ------------------------------------------------------------------------------------

// A BOM is dropped from the file, not from each line: the decoder must leave it alone.
const decoder = () => new TextDecoder('utf-8', { ignoreBOM: true });

function* decodedLines(bytes) {
  const utf8 = decoder();
  let from = hasByteOrderMark(bytes) ? 3 : 0;
  while (from < bytes.length) {
    const newline = bytes.indexOf(NEWLINE, from);
    const next = newline === -1 ? bytes.length : newline + 1;
    let end = newline === -1 ? bytes.length : newline;
    if (newline > from && bytes[newline - 1] === CARRIAGE_RETURN) end -= 1;
    yield utf8.decode(bytes.subarray(from, end));
    from = next;
  }
}

function hasByteOrderMark(bytes) {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
}

function withoutByteOrderMark(line) {
  return line.startsWith(BYTE_ORDER_MARK) ? line.slice(1) : line;
}

/** Gives `take` the lines of a file until it returns false. */
async function eachLineOfFile(filePath, take) {
  const input = createReadStream(filePath);
  const lines = createInterface({ input, crlfDelay: Infinity });
  // readline does not pass on what goes wrong with its input: without this the loop would never end.
  let failure = null;
  input.on('error', (error) => {
    failure = error;
    lines.close();
  });
  let first = true;
  for await (const line of lines) {
    if (!take(first ? withoutByteOrderMark(line) : line)) break;
    first = false;
  }
  input.destroy();
  if (failure) throw failure;
}

// ---- The fold ---------------------------------------------------------------------------------

function startFold(expectedProjectHash, { throughSeq = Infinity, auditTrail = false }) {
  return {
    expectedProjectHash,
    throughSeq,
    auditTrail,
    lineNumber: 0,
    history: [],
    metadata: null,
    sessionEvents: [],
    lastSeq: 0,
    eventCount: 0,
    unknown: 0,
    malformed: 0,
    unparseable: 0,
    // An unparseable line is held back until another line follows: as the last one it is only torn.
    unparseableLine: null,
    warnings: [],
    warningsHidden: 0,
    error: null,
  };
}

/** Takes one line in; false when the replay ends here. */
function foldLine(fold, line) {
  fold.lineNumber += 1;
  admitUnparseableLine(fold);
  const event = parsed(line);
  if (event === undefined) {
    if (line.trim() !== '') fold.unparseableLine = fold.lineNumber;
    return true;
  }
  if (event === null) return true;
  if (typeof event.seq === 'number' && event.seq > fold.throughSeq) return false;
  takeSeq(fold, event.seq);
  fold.eventCount += 1;
  applyEvent(fold, event);
  return fold.error === null;
}

/** What JSON.parse returns; undefined, which no JSON text can mean, for what it refuses. */
function parsed(line) {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

function admitUnparseableLine(fold) {
  if (fold.unparseableLine === null) return;
  fold.unparseable += 1;
  warn(fold, `Line ${fold.unparseableLine}: failed to parse JSON`);
  fold.unparseableLine = null;
}

function takeSeq(fold, seq) {
  if (typeof seq !== 'number') return;
  if (fold.eventCount > 0 && seq <= fold.lastSeq) {
    warn(fold, `Line ${fold.lineNumber}: non-monotonic seq ${seq} (expected > ${fold.lastSeq})`);
  }
  fold.lastSeq = seq;
}

function applyEvent(fold, event) {
  if (event.type === 'session_start') return applySessionStart(fold, event.payload);
  const effect = typeof event.type === 'string' ? EFFECTS.get(event.type) : undefined;
  if (effect === undefined) return applyUnknown(fold, event.type);
  if (isObject(event.payload) && effect(fold, event.payload, event)) return;
  fold.malformed += 1;
  warn(fold, `Line ${fold.lineNumber}: malformed ${malformedName(event.type)}, skipping`);
}

// "malformed session_event", not "malformed session_event event".
const malformedName = (type) => (type === 'session_event' ? type : `${type} event`);

function applyUnknown(fold, type) {
  fold.unknown += 1;
  const shown = typeof type === 'string' ? type : JSON.stringify(type);
  warn(fold, `Line ${fold.lineNumber}: unknown event type '${shown}', skipping`);
}

function applySessionStart(fold, payload) {
  if (fold.lineNumber !== 1) {
    warn(fold, `session_start at line ${fold.lineNumber} (expected line 1)`);
    return;
  }
  if (!isObject(payload) || !isFilledString(payload.sessionId) || !isFilledString(payload.projectHash)) {
    fold.error = 'Invalid session_start: missing required fields';
    return;
  }
  const expected = fold.expectedProjectHash;
  if (expected !== undefined && expected !== payload.projectHash) {
    fold.error = `Project hash mismatch: expected ${expected} got ${payload.projectHash}`;
    return;
  }
  fold.metadata = {
    sessionId: payload.sessionId,
    projectHash: payload.projectHash,
    provider: stringOrEmpty(payload.provider),
    model: stringOrEmpty(payload.model),
    workspaceDirs: isStringArray(payload.workspaceDirs) ? payload.workspaceDirs : [],
    startTime: stringOrEmpty(payload.startTime),
  };
}

/** By event type: takes the payload's effect if the payload fits, and tells whether it did. */
const EFFECTS = new Map([
  [
    'content',
    (fold, { content }) => {
      if (!isItem(content)) return false;
      fold.history.push(content);
      return true;
    },
  ],
  [
    'compressed',
    (fold, { summary, itemsCompressed }) => {
      if (!isItem(summary) || typeof itemsCompressed !== 'number') return false;
      fold.history = [summary];
      return true;
    },
  ],
  [
    'rewind',
    (fold, { itemsRemoved }) => {
      if (typeof itemsRemoved !== 'number' || !(itemsRemoved >= 0)) return false;
      fold.history.length = Math.max(0, fold.history.length - Math.ceil(itemsRemoved));
      return true;
    },
  ],
  [
    'provider_switch',
    (fold, { provider, model }) => {
      if (!isFilledString(provider)) return false;
      if (fold.metadata === null) return true;
      fold.metadata.provider = provider;
      if (isFilledString(model)) fold.metadata.model = model;
      return true;
    },
  ],
  [
    'session_event',
    (fold, { severity, message }, event) => {
      if (!SEVERITIES.includes(severity) || typeof message !== 'string') return false;
      fold.sessionEvents.push({ severity, message, ...(fold.auditTrail ? auditOf(event) : {}) });
      return true;
    },
  ],
  [
    'directories_changed',
    (fold, { directories }) => {
      if (!isStringArray(directories)) return false;
      if (fold.metadata !== null) fold.metadata.workspaceDirs = directories;
      return true;
    },
  ],
]);

function auditOf(event) {
  const audit = {};
  if (Object.hasOwn(event, 'ts')) audit.timestamp = event.ts;
  if (typeof event.seq === 'number') audit.seq = event.seq;
  return audit;
}

const isObject = (value) => typeof value === 'object' && value !== null;
const isFilledString = (value) => typeof value === 'string' && value !== '';
const stringOrEmpty = (value) => (typeof value === 'string' ? value : '');
const isStringArray = (value) => Array.isArray(value) && value.every((entry) => typeof entry === 'string');
const isItem = (value) => isObject(value) && isFilledString(value.speaker);

// ---- The end ----------------------------------------------------------------------------------

function warn(fold, text) {
  if (fold.warnings.length < WARNINGS_SHOWN) fold.warnings.push(text);
  else fold.warningsHidden += 1;
}

function finish(fold) {
  if (fold.error !== null) return failed(fold, fold.error);
  if (fold.lineNumber === 0) return failed(fold, 'Empty file');
  if (fold.metadata === null) return failed(fold, 'Missing or corrupt session_start event');
  return {
    ok: true,
    history: fold.history,
    metadata: fold.metadata,
    lastSeq: fold.lastSeq,
    eventCount: fold.eventCount,
    warnings: [...shownWarnings(fold), ...summaryLines(fold)],
    sessionEvents: fold.sessionEvents,
  };
}

function failed(fold, error) {
  return { ok: false, error, warnings: shownWarnings(fold) };
}

function shownWarnings({ warnings, warningsHidden }) {
  return warningsHidden > 0 ? [...warnings, `Replay: ${warningsHidden} further warnings not shown`] : warnings;
}

function summaryLines({ malformed, eventCount, unknown, unparseable }) {
  const known = eventCount - unknown;
  const lines = eventCount + unparseable;
  const summary = [];
  if (malformed > 0) summary.push(`Replay: ${malformed} malformed events skipped`);
  if (malformed / known > TOLERATED_SHARE) {
    summary.push(`WARNING: >${percent(malformed, known)}% of known events are malformed (${malformed}/${known})`);
  }
  if (unparseable / lines > TOLERATED_SHARE) {
    summary.push(`WARNING: >${percent(unparseable, lines)}% of lines are unparseable (${unparseable}/${lines})`);
  }
  return summary;
}

const percent = (part, whole) => ((100 * part) / whole).toFixed(1);
