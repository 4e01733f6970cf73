// The replay engine in plain JavaScript: one fold over the lines of a session file, with two front ends.
//
// - `replayBytes` is the oracle of the differential tests: exact on any bytes, whole file in memory.
// - `replayFileWithReadline` reads as CLIs commonly do (createReadStream, readline, JSON.parse a line):
//   the rival in the benchmarks. readline also ends a line at a lone `\r`, from Node 24 on at U+2028 and
//   U+2029 as well, so it is exact only for files without those.
//
// It knows nothing of the addon, and is deliberately simple: it shows what replay means.

import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'

const BYTE_ORDER_MARK = '\ufeff'
const NEWLINE = 0x0a
const CARRIAGE_RETURN = 0x0d
const WARNINGS_SHOWN = 100
const TOLERATED_SHARE = 0.05
const HEADER_BYTES = 1024 * 1024
const SEVERITIES = ['info', 'warning', 'error']

export function replayBytes(bytes, expectedProjectHash, options = {}) {
  const fold = startFold(expectedProjectHash, options)
  for (const line of decodedLines(bytes)) {
    if (!foldLine(fold, line)) break
  }
  return finish(fold)
}

export async function replayFileWithReadline(filePath, expectedProjectHash, options = {}) {
  const fold = startFold(expectedProjectHash, options)
  options.signal?.throwIfAborted()
  try {
    await eachLineOfFile(filePath, (line) => foldLine(fold, line) && !options.signal?.aborted)
  } catch (error) {
    return failed(fold, `Failed to read file: ${error.message}`)
  }
  options.signal?.throwIfAborted()
  return finish(fold)
}

export async function readHeaderWithReadline(filePath) {
  let header = null
  try {
    await eachLineOfFile(filePath, (line) => {
      header = headerOfLine(line)
      return false
    })
  } catch {
    // A file that can't be read has no header.
  }
  return header
}

/** The header that `readSessionHeader` finds in a file of these bytes. */
export function headerOfBytes(bytes) {
  const start = hasByteOrderMark(bytes) ? 3 : 0
  const end = bytes.indexOf(NEWLINE, start)
  const lineEnd = end === -1 ? bytes.length : end + 1
  if (lineEnd > HEADER_BYTES) return null
  return headerOfLine(decoder().decode(bytes.subarray(start, lineEnd)))
}

function headerOfLine(line) {
  const event = parsed(line)
  if (!isObject(event) || event.type !== 'session_start') return null
  return isObject(event.payload) ? event.payload : null
}

/** The preview that `readSessionPreview` finds in a file of these bytes. */
export function previewOfBytes(bytes, length) {
  let hasContent = false
  for (const line of decodedLines(bytes)) {
    const event = parsed(line)
    if (event?.type !== 'content') continue
    hasContent = true
    const text = humanText(event.payload?.content)
    if (text !== '') return { hasContent, firstUserMessage: cut(text, length) }
  }
  return { hasContent, firstUserMessage: null }
}

function humanText(item) {
  if (item?.speaker !== 'human' || !Array.isArray(item.blocks)) return ''
  const isText = (block) => block?.type === 'text' && typeof block.text === 'string'
  return item.blocks
    .filter(isText)
    .map(({ text }) => text)
    .join('')
}

function cut(text, length) {
  const splitsPair = text.slice(0, length + 1).codePointAt(length - 1) > 0xffff
  return text.slice(0, splitsPair ? length - 1 : length)
}

/** The title that `readSessionTitle` finds in a file of these bytes. */
export function titleOfBytes(bytes) {
  let title
  for (const line of decodedLines(bytes)) {
    const event = parsed(line)
    if (event?.type !== 'session_metadata' || !isObject(event.payload) || !Object.hasOwn(event.payload, 'title'))
      continue
    if (event.payload.title === null || typeof event.payload.title === 'string') title = event.payload.title
  }
  return title
}

/** The lines that `readSessionRecords` yields for a file of these bytes, with `history: true`. */
export function recordsOfBytes(bytes, { strict = false } = {}) {
  const fold = startFold(undefined, { strict })
  const records = [...placedLines(bytes)].map(({ offset, length, text }, at, { length: count }) => {
    const record = parsed(text) ?? null
    const status = statusOf(fold, text, at + 1 === count)
    return { line: at + 1, offset, length, record, status }
  })
  const remaining = new Set(fold.history.map((item) => fold.placeOf.get(item).line))
  return records.map((record) =>
    record.status === 'ok' && hasItems(record.record) ? { ...record, inHistory: remaining.has(record.line) } : record,
  )
}

/** After each line of a file of these bytes: the line of each item in the history. */
export function historiesOfBytes(bytes, { strict = false } = {}) {
  const fold = startFold(undefined, { strict })
  return [...decodedLines(bytes)].map((line) => {
    foldLine(fold, line)
    return fold.history.map((item) => fold.placeOf.get(item).line)
  })
}

/** Where the items of the history at the end of a file of these bytes are: their lines, and their JSON pointers in the payloads. */
export function finalPlacesOfBytes(bytes) {
  const fold = startFold(undefined, {})
  for (const line of decodedLines(bytes)) foldLine(fold, line)
  return fold.history.map((item) => fold.placeOf.get(item))
}

/** Whether an event that fits has items. */
function hasItems({ type, payload }) {
  if (type === 'density_mutation') return payload.replacements.length > 0
  if (type === 'chronology_bind') return payload.content !== undefined
  if (type === 'semantic_media_purge') return payload.history.length > 0
  return ['content', 'compressed', 'synthetic_insert'].includes(type)
}

/** Folds a line and returns its status. */
function statusOf(fold, text, isLast) {
  const event = parsed(text)
  const before = { ...fold }
  foldLine(fold, text)
  if (event === undefined) return text.trim() === '' ? null : isLast ? 'torn' : 'unparseable'
  if (event === null) return null
  if (fold.unknown > before.unknown) return 'unknown'
  // Whether an edit fits the history is no matter of its line.
  const isRefused =
    fold.malformed - fold.misfits > before.malformed - before.misfits ||
    fold.unnumbered > before.unnumbered ||
    fold.error !== before.error
  return isRefused ? 'malformed' : 'ok'
}

// ---- Lines ------------------------------------------------------------------------------------

// A BOM is dropped from the file, not from each line: the decoder must leave it alone.
const decoder = () => new TextDecoder('utf-8', { ignoreBOM: true })

function* decodedLines(bytes) {
  for (const { text } of placedLines(bytes)) yield text
}

/** The lines with their places, without their endings. */
function* placedLines(bytes) {
  const utf8 = decoder()
  let from = hasByteOrderMark(bytes) ? 3 : 0
  while (from < bytes.length) {
    const newline = bytes.indexOf(NEWLINE, from)
    const next = newline === -1 ? bytes.length : newline + 1
    let end = newline === -1 ? bytes.length : newline
    if (newline > from && bytes[newline - 1] === CARRIAGE_RETURN) end -= 1
    yield { offset: from, length: end - from, text: utf8.decode(bytes.subarray(from, end)) }
    from = next
  }
}

function hasByteOrderMark(bytes) {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf
}

function withoutByteOrderMark(line) {
  return line.startsWith(BYTE_ORDER_MARK) ? line.slice(1) : line
}

/** Passes the lines of a file to `take` until it returns false. */
async function eachLineOfFile(filePath, take) {
  const input = createReadStream(filePath)
  const lines = createInterface({ input, crlfDelay: Infinity })
  // readline does not forward errors of its input: without this the loop would never end.
  let failure = null
  input.on('error', (error) => {
    failure = error
    lines.close()
  })
  let first = true
  for await (const line of lines) {
    if (!take(first ? withoutByteOrderMark(line) : line)) break
    first = false
  }
  input.destroy()
  if (failure) throw failure
}

// ---- The fold ---------------------------------------------------------------------------------

function startFold(expectedProjectHash, { throughSeq = Infinity, auditTrail = false, strict = false }) {
  return {
    expectedProjectHash,
    throughSeq,
    auditTrail,
    strict,
    lineNumber: 0,
    history: [],
    metadata: null,
    sessionEvents: [],
    // In strict mode the next `seq` is compared with the last one, and the result has the largest.
    lastSeq: 0,
    largestSeq: 0,
    sequenceCorrupt: false,
    // `undefined` until something is recorded; `null` is a value.
    title: undefined,
    sessionName: undefined,
    ancestry: undefined,
    checkpointEvents: [],
    semanticMediaPurgeFrontier: undefined,
    // The line that each item of the history stands in, and its JSON pointer in the payload.
    placeOf: new WeakMap(),
    eventCount: 0,
    unknown: 0,
    unknownEvents: new Map(),
    malformed: 0,
    // Of these, edits that do not fit the history.
    misfits: 0,
    // Strict mode: lines that parsed but have no valid `seq`.
    unnumbered: 0,
    unparseable: 0,
    // An unparseable line is held back until another line follows: as the last one it is only torn.
    unparseableLine: null,
    warnings: [],
    warningsHidden: 0,
    error: null,
  }
}

/** Folds one line. Returns false if the replay ends here. */
function foldLine(fold, line) {
  fold.lineNumber += 1
  admitUnparseableLine(fold)
  const event = parsed(line)
  if (event === undefined) {
    if (line.trim() !== '') fold.unparseableLine = fold.lineNumber
    return true
  }
  if (event === null) return true
  // Whatever else is wrong with a line behind the cut, it is not looked at.
  if (typeof event.seq === 'number' && event.seq > fold.throughSeq && (!fold.strict || isSequence(event.seq)))
    return false
  if (fold.strict && event.v !== 1 && event.v !== 2) {
    fold.error = `Unsupported recording version ${versionText(event.v)} at line ${fold.lineNumber}`
    return false
  }
  if (fold.strict && !isSequence(event.seq)) {
    fold.unnumbered += 1
    warn(fold, `Line ${fold.lineNumber}: malformed sequence number, skipping`)
    return true
  }
  takeSeq(fold, event.seq)
  fold.eventCount += 1
  applyEvent(fold, event)
  return fold.error === null
}

/** `String(version)`, for objects that have a `toString` of their own and for arrays of any depth, too. */
function versionText(version) {
  const texts = []
  const rest = [version]
  while (rest.length > 0) {
    const value = rest.pop()
    if (Array.isArray(value) && value.length > 0) for (const element of value.toReversed()) rest.push(element ?? '')
    else if (Array.isArray(value)) texts.push('')
    else texts.push(isObject(value) ? '[object Object]' : String(value))
  }
  return texts.join(',')
}

/** The result of JSON.parse; undefined, which no JSON text means, if it throws. */
function parsed(line) {
  try {
    return JSON.parse(line)
  } catch {
    return undefined
  }
}

function admitUnparseableLine(fold) {
  if (fold.unparseableLine === null) return
  fold.unparseable += 1
  warn(fold, `Line ${fold.unparseableLine}: failed to parse JSON`)
  fold.unparseableLine = null
}

function takeSeq(fold, seq) {
  if (typeof seq !== 'number') return
  if (fold.eventCount > 0 && seq <= fold.lastSeq) {
    fold.sequenceCorrupt = true
    warn(fold, `Line ${fold.lineNumber}: non-monotonic seq ${seq} (expected > ${fold.lastSeq})`)
  }
  fold.lastSeq = seq
  fold.largestSeq = Math.max(fold.largestSeq, seq)
}

function applyEvent(fold, event) {
  if (event.type === 'session_start') return applySessionStart(fold, event.payload)
  const effect = typeof event.type === 'string' ? EFFECTS.get(event.type) : undefined
  if (effect === undefined) return applyUnknown(fold, event.type)
  const fits = isObject(event.payload) && effect(fold, event.payload, event)
  if (fits === true) return
  fold.malformed += 1
  warn(fold, `Line ${fold.lineNumber}: malformed ${fits || malformedName(event.type)}, skipping`)
}

// "malformed session_event", not "malformed session_event event".
const malformedName = (type) => (type === 'session_event' ? type : `${type} event`)

function applyUnknown(fold, type) {
  fold.unknown += 1
  const shown = typeof type === 'string' ? type : JSON.stringify(type)
  fold.unknownEvents.set(String(shown), (fold.unknownEvents.get(String(shown)) ?? 0) + 1)
  warn(fold, `Line ${fold.lineNumber}: unknown event type '${shown}', skipping`)
}

function applySessionStart(fold, payload) {
  if (fold.lineNumber !== 1) {
    warn(fold, `session_start at line ${fold.lineNumber} (expected line 1)`)
    return
  }
  const required = fold.strict ? ['sessionId', 'projectHash', 'startTime'] : ['sessionId', 'projectHash']
  const isWhole = isObject(payload) && required.every((key) => isFilledString(payload[key]))
  const hasModel = isWhole && typeof payload.provider === 'string' && typeof payload.model === 'string'
  if (!isWhole || (fold.strict && !hasModel)) {
    fold.error = `Invalid session_start: missing ${fold.strict ? 'or malformed ' : ''}required fields`
    return
  }
  const expected = fold.expectedProjectHash
  if (expected !== undefined && expected !== payload.projectHash) {
    fold.error = `Project hash mismatch: expected ${expected} got ${payload.projectHash}`
    return
  }
  fold.metadata = {
    sessionId: payload.sessionId,
    projectHash: payload.projectHash,
    provider: stringOrEmpty(payload.provider),
    model: stringOrEmpty(payload.model),
    workspaceDirs: isStringArray(payload.workspaceDirs) ? payload.workspaceDirs : [],
    startTime: stringOrEmpty(payload.startTime),
  }
  if (typeof payload.cwd === 'string') fold.metadata.cwd = payload.cwd
  if (!fold.strict) return
  fold.metadata.kind = payload.kind === 'subagent' ? 'subagent' : 'main'
  if (typeof payload.parentSessionId === 'string') fold.metadata.parentSessionId = payload.parentSessionId
}

/**
 * By event type: applies the payload and returns true, if the payload fits. Otherwise returns false, or a description of what is malformed
 * if the warning says more than the type.
 */
const EFFECTS = new Map([
  [
    'content',
    (fold, { content }) => {
      if (!isItem(fold, content)) return false
      fold.history.push(placed(fold, content, '/content'))
      return true
    },
  ],
  [
    'compressed',
    (fold, { summary, itemsCompressed }) => {
      if (!isItem(fold, summary) || typeof itemsCompressed !== 'number') return false
      fold.history = [placed(fold, summary, '/summary')]
      return true
    },
  ],
  [
    'rewind',
    (fold, { itemsRemoved, cutSeq }) => {
      if (typeof itemsRemoved !== 'number' || !(itemsRemoved >= 0)) return false
      if (cutSeq !== undefined && !isSequence(cutSeq)) {
        fold.malformed += 1
        warn(fold, `Line ${fold.lineNumber}: malformed rewind cut marker, falling back to item count`)
      }
      const cut = isSequence(cutSeq) ? indexOfKey(fold, cutSeq) : -1
      fold.history.length = cut === -1 ? Math.max(0, fold.history.length - Math.ceil(itemsRemoved)) : cut
      return true
    },
  ],
  [
    'density_mutation',
    (fold, { removedSeqs, replacements }) => {
      if (!Array.isArray(removedSeqs) || !removedSeqs.every(isSequence)) return false
      if (!Array.isArray(replacements) || !replacements.every(isReplacement)) return false
      const removed = new Set(removedSeqs)
      const replaced = new Map(
        replacements.map(({ replacedSeq, replacement }, index) => [replacedSeq, { replacement, index }]),
      )
      fold.history = fold.history.flatMap((item) => {
        const key = keyOf(item)
        if (!replaced.has(key)) return removed.has(key) ? [] : [item]
        const { replacement, index } = replaced.get(key)
        return [placed(fold, withMarker(replacement, item.metadata.chronology), `/replacements/${index}/replacement`)]
      })
      return true
    },
  ],
  [
    'synthetic_insert',
    (fold, { content, chronologySeq, afterSeq }) => {
      if (!isWholeItem(content) || !isSequence(chronologySeq) || !isSequence(afterSeq)) return false
      const at = indexOfKey(fold, afterSeq)
      if (at === -1) return misfit(fold)
      fold.history.splice(at + 1, 0, placed(fold, content, '/content'))
      return true
    },
  ],
  [
    'chronology_bind',
    (fold, { rowIndex, chronology, content }) => {
      if (!isSequence(rowIndex) || !isObject(chronology)) return false
      const { seq, userTurn, step, recordedAt } = chronology
      if (![seq, userTurn, step, recordedAt].every(isSequence)) return false
      if (content !== undefined && !isWholeItem(content)) return false
      const old = fold.history[rowIndex]
      if (old === undefined) return misfit(fold)
      const bound = withMarker(content ?? old, { seq, userTurn, step, recordedAt })
      if (content === undefined) fold.placeOf.set(bound, fold.placeOf.get(old))
      fold.history[rowIndex] = content === undefined ? bound : placed(fold, bound, '/content')
      return true
    },
  ],
  [
    'semantic_media_purge',
    (fold, { history, frontier }) => {
      if (!Array.isArray(history) || !history.every(isWholeItem) || !isObject(frontier)) return false
      const { contentIndex, blockIndex } = frontier
      if (!isSequence(contentIndex) || !isSequence(blockIndex)) return false
      const isWithin =
        history.length === 0
          ? contentIndex === 0 && blockIndex === 0
          : blockIndex < history[contentIndex]?.blocks.length
      if (!isWithin) return false
      fold.history = history.map((item, index) => placed(fold, item, `/history/${index}`))
      fold.semanticMediaPurgeFrontier = { contentIndex, blockIndex }
      return true
    },
  ],
  [
    'compression_detail',
    (_, { fromSeq, toSeq, itemsCompressed }) =>
      [fromSeq, toSeq, itemsCompressed].every((value) => typeof value === 'number'),
  ],
  [
    'provider_switch',
    (fold, { provider, model }) => {
      if (!isFilledString(provider)) return false
      if (fold.metadata === null) return true
      fold.metadata.provider = provider
      if (isFilledString(model)) fold.metadata.model = model
      return true
    },
  ],
  [
    'session_event',
    (fold, { severity, message }, event) => {
      if (!SEVERITIES.includes(severity) || typeof message !== 'string') return false
      fold.sessionEvents.push({ severity, message, ...(fold.auditTrail ? auditOf(event) : {}) })
      return true
    },
  ],
  [
    'directories_changed',
    (fold, { directories }) => {
      if (!isStringArray(directories)) return false
      if (fold.metadata !== null) fold.metadata.workspaceDirs = directories
      return true
    },
  ],
  [
    'session_metadata',
    (fold, payload) => {
      const { title } = payload
      if (title !== undefined && title !== null && typeof title !== 'string') return 'session_metadata title'
      if (title !== undefined) fold.title = title
      return true
    },
  ],
  ['checkpoint_created', (fold, payload, event) => takeCheckpointEvent(fold, payload, event, true)],
  ['checkpoint_renamed', (fold, payload, event) => takeCheckpointEvent(fold, payload, event, true)],
  ['checkpoint_deleted', (fold, payload, event) => takeCheckpointEvent(fold, payload, event, false)],
  [
    'session_forked',
    (fold, payload) => {
      const { parentSessionId, parentSequence, checkpointId, checkpointName } = payload
      if (!isFilledString(checkpointId)) return 'session_forked event (missing checkpointId)'
      if (typeof parentSessionId !== 'string' || typeof checkpointName !== 'string') return false
      if (!isSequence(parentSequence)) return false
      fold.ancestry ??= payload
      return true
    },
  ],
  [
    'session_named',
    (fold, { name }) => {
      if (name !== null && typeof name !== 'string') return false
      fold.sessionName = name
      return true
    },
  ],
])

function takeCheckpointEvent(fold, { checkpointId, name }, { type, seq, ts }, needsName) {
  if (!isSequence(seq)) return false
  if (!isFilledString(checkpointId)) return `${type} event (missing checkpointId)`
  if (needsName && (typeof name !== 'string' || name.trim() === '')) return `${type} event (missing name)`
  fold.checkpointEvents.push({ type, seq, ts, checkpointId, name })
  return true
}

/** Notes that an item stands in the current line, at this pointer. */
function placed(fold, item, pointer) {
  fold.placeOf.set(item, { line: fold.lineNumber, pointer })
  return item
}

function misfit(fold) {
  fold.misfits += 1
  return false
}

/** The key of an item; undefined if it has none. */
function keyOf(item) {
  const key = item.metadata?.chronology?.seq
  return isSequence(key) ? key : undefined
}

const indexOfKey = (fold, key) => fold.history.findIndex((item) => keyOf(item) === key)
const withMarker = (item, chronology) => ({ ...item, metadata: { ...item.metadata, chronology } })
const isReplacement = (entry) => isObject(entry) && isSequence(entry.replacedSeq) && isWholeItem(entry.replacement)
const isWholeItem = (value) => isItem({ strict: true }, value)

function auditOf(event) {
  const audit = {}
  if (Object.hasOwn(event, 'ts')) audit.timestamp = event.ts
  if (typeof event.seq === 'number') audit.seq = event.seq
  return audit
}

// A JSON object, as opposed to an array.
const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value)
const isSequence = (value) => Number.isSafeInteger(value) && value >= 0
const SPEAKERS = ['human', 'ai', 'tool']
const isFilledString = (value) => typeof value === 'string' && value !== ''
const stringOrEmpty = (value) => (typeof value === 'string' ? value : '')
const isStringArray = (value) => Array.isArray(value) && value.every((entry) => typeof entry === 'string')
const isItem = ({ strict }, value) =>
  isObject(value) &&
  isFilledString(value.speaker) &&
  (!strict || (SPEAKERS.includes(value.speaker) && Array.isArray(value.blocks)))

// ---- The end ----------------------------------------------------------------------------------

function warn(fold, text) {
  if (fold.warnings.length < WARNINGS_SHOWN) fold.warnings.push(text)
  else fold.warningsHidden += 1
}

function finish(fold) {
  if (fold.error !== null) return failed(fold, fold.error)
  if (fold.lineNumber === 0) return failed(fold, 'Empty file')
  if (fold.metadata === null) return failed(fold, 'Missing or corrupt session_start event')
  if (fold.title !== undefined) fold.metadata.title = fold.title
  const { checkpoints, oddities } = foldCheckpointEvents(fold.checkpointEvents)
  const result = {
    ok: true,
    history: fold.history,
    metadata: fold.metadata,
    lastSeq: fold.strict ? fold.largestSeq : fold.lastSeq,
    eventCount: fold.eventCount,
    warnings: [...shownWarnings(fold), ...summaryLines(fold), ...shownOddities(oddities)],
    sessionEvents: fold.sessionEvents,
    sequenceCorrupt: fold.sequenceCorrupt,
    checkpoints,
  }
  // Always members of a strict result.
  if (fold.strict || fold.sessionName !== undefined) result.sessionName = fold.sessionName
  if (fold.strict || fold.ancestry !== undefined) result.ancestry = fold.ancestry
  if (fold.semanticMediaPurgeFrontier !== undefined) result.semanticMediaPurgeFrontier = fold.semanticMediaPurgeFrontier
  if (fold.strict && fold.unknownEvents.size > 0) result.unknownEvents = Object.fromEntries(fold.unknownEvents)
  return result
}

/** The checkpoints after these events, which are in file order, and the oddities to warn of. */
function foldCheckpointEvents(events) {
  const created = new Map()
  const deletedBefore = new Set()
  const oddities = []
  for (const { type, seq, ts, checkpointId, name } of events) {
    const checkpoint = created.get(checkpointId)
    if (type === 'checkpoint_created') {
      if (checkpoint !== undefined) {
        oddities.push(`Sequence ${seq}: checkpoint_created duplicates checkpoint ${checkpointId}`)
      } else {
        const createdAt = typeof ts === 'string' ? ts : ''
        created.set(checkpointId, { checkpointId, name, sequence: seq, deleted: false, createdAt })
      }
      continue
    }
    if (deletedBefore.has(checkpointId))
      oddities.push(`Sequence ${seq}: ${type} references deleted checkpoint ${checkpointId}`)
    else if (checkpoint === undefined)
      oddities.push(`Sequence ${seq}: ${type} references unknown checkpoint ${checkpointId}`)
    if (type === 'checkpoint_deleted') deletedBefore.add(checkpointId)
    if (checkpoint === undefined) continue
    if (type === 'checkpoint_renamed') checkpoint.name = name
    else checkpoint.deleted = true
  }
  return { checkpoints: [...created.values()].sort((a, b) => a.sequence - b.sequence), oddities }
}

function shownOddities(oddities) {
  if (oddities.length <= WARNINGS_SHOWN) return oddities
  const hidden = oddities.length - WARNINGS_SHOWN
  return [...oddities.slice(0, WARNINGS_SHOWN), `Replay: ${hidden} further checkpoint warnings not shown`]
}

function failed(fold, error) {
  return { ok: false, error, warnings: shownWarnings(fold) }
}

function shownWarnings({ warnings, warningsHidden }) {
  return warningsHidden > 0 ? [...warnings, `Replay: ${warningsHidden} further warnings not shown`] : warnings
}

function summaryLines({ strict, malformed, eventCount, unknown, unparseable, unnumbered }) {
  if (strict) {
    const unusable = malformed + unnumbered + unparseable
    const all = eventCount + unnumbered + unparseable
    return unusable / all > TOLERATED_SHARE
      ? [`WARNING: >${percent(unusable, all)}% of session events are malformed (${unusable}/${all})`]
      : []
  }
  const known = eventCount - unknown
  const lines = eventCount + unparseable
  const summary = []
  if (malformed > 0) summary.push(`Replay: ${malformed} malformed events skipped`)
  if (malformed / known > TOLERATED_SHARE) {
    summary.push(`WARNING: >${percent(malformed, known)}% of known events are malformed (${malformed}/${known})`)
  }
  if (unparseable / lines > TOLERATED_SHARE) {
    summary.push(`WARNING: >${percent(unparseable, lines)}% of lines are unparseable (${unparseable}/${lines})`)
  }
  return summary
}

const percent = (part, whole) => ((100 * part) / whole).toFixed(1)
