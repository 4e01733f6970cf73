/**
 * The session files to measure: the same bytes on every machine, created by a random generator with a fixed seed in `bench/data/` (not in git) and
 * kept there for the next run.
 */
import {
  closeSync,
  createWriteStream,
  existsSync,
  mkdirSync,
  openSync,
  renameSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { once } from 'node:events'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const DATA = fileURLToPath(new URL('data/', import.meta.url))

/** Part of each file's name: a change of the generator creates new files. */
const VERSION = 'v2'

/** Text lengths in characters, which give records of about 1 400 and about 270 bytes. */
const LONG = { human: 670, ai: 1010, tool: 1300 }
const SHORT = { human: 72, ai: 44, tool: 32 }

/** Texts are ASCII, or have an occasional word beyond Latin-1, which makes most of them two bytes per character. */
const ALPHABETS = ['ascii', 'wide']

const SHAPES = [
  {
    shape: 'compacted',
    title: '60 000 records, a compression every 400',
    records: 60_000,
    texts: LONG,
    compressEvery: 400,
  },
  { shape: 'plain', title: '40 000 records, nothing compressed', records: 40_000, texts: LONG },
  { shape: 'small', title: '150 000 records of 270 bytes', records: 150_000, texts: SHORT },
  // The plain engine applies each edit to the whole history, which takes it seconds: one alphabet is enough.
  {
    shape: 'edited',
    title: '40 000 items, edited 2 450 times',
    records: 42_450,
    texts: LONG,
    isEdited: true,
    alphabets: ['wide'],
  },
  { shape: 'tiny', title: '20 records', records: 20, texts: LONG },
]

export const REPLAY_WORKLOADS = SHAPES.flatMap((one) =>
  (one.alphabets ?? ALPHABETS).map((alphabet) => ({
    ...one,
    name: `${one.shape}-${alphabet}`,
    title: `${one.title}, ${alphabet}`,
    alphabet,
  })),
)
export const [COMPACTED, PLAIN, TINY] = ['compacted-wide', 'plain-wide', 'tiny-wide'].map((wanted) =>
  REPLAY_WORKLOADS.find(({ name }) => name === wanted),
)

/**
 * @param {(typeof REPLAY_WORKLOADS)[number]} workload
 * @param {number} scale 1 for a full measurement; less for a quick one
 * @returns {Promise<{ filePath: string, records: number }>}
 */
export async function replayFile(workload, scale) {
  const records = Math.max(20, Math.round(workload.records * scale))
  const filePath = join(DATA, `${workload.name}-${records}.${VERSION}.jsonl`)
  if (!existsSync(filePath)) await writeLines(filePath, sessionLines({ ...workload, records }))
  return { filePath, records }
}

/** A session of another program, of the parts that `partsOf` yields. */
export async function foreignFile(name, extension, partsOf) {
  const filePath = join(DATA, `foreign-${name}.${VERSION}.${extension}`)
  if (!existsSync(filePath)) await writeLines(filePath, partsOf())
  return filePath
}

/** A directory of small sessions, like a CLI's list of past sessions. */
export function headerFiles(howMany) {
  const directory = join(DATA, `headers-${howMany}.${VERSION}`)
  const paths = Array.from({ length: howMany }, (_, i) =>
    join(directory, `session-${String(i).padStart(5, '0')}.jsonl`),
  )
  if (existsSync(paths.at(-1))) return paths
  mkdirSync(directory, { recursive: true })
  paths.forEach((path, i) => writeFileSync(path, [...sessionLines({ records: 9, texts: SHORT, seed: i + 1 })].join('')))
  return paths
}

/** A project with sessions of about 2 MB, as recorders leave them: each has a checkpoint near its end, and every fourth has a name. */
export function projectFiles(howMany) {
  const directory = join(DATA, `project-${howMany}.${VERSION}`)
  const paths = Array.from({ length: howMany }, (_, i) =>
    join(directory, `session-2026-02-11T16-00-00-bench-${String(i + 1).padStart(6, '0')}.jsonl`),
  )
  if (existsSync(paths.at(-1))) return { directory, paths }
  mkdirSync(directory, { recursive: true })
  paths.forEach((path, i) =>
    writeFileSync(path, [...sessionLines({ records: 1450, texts: LONG, seed: i + 1 }), ...namingLines(i + 1)].join('')),
  )
  return { directory, paths }
}

/** In one of a hundred of the sessions that are searched. */
export const RARE_WORD = 'zymurgy'

/** A directory of sessions of about 266 KiB. */
export function searchedFiles(howMany) {
  const directory = join(DATA, `searched-${howMany}.${VERSION}`)
  const paths = Array.from({ length: howMany }, (_, i) =>
    join(directory, `session-${String(i).padStart(5, '0')}.jsonl`),
  )
  if (existsSync(paths.at(-1))) return { directory, paths }
  mkdirSync(directory, { recursive: true })
  paths.forEach((path, i) => {
    const lines = [...sessionLines({ records: 195, texts: LONG, seed: i + 1 })]
    if (i % 100 === 50) lines[90] = lines[90].replace(' the ', ` ${RARE_WORD} `)
    writeFileSync(path, lines.join(''))
  })
  return { directory, paths }
}

function namingLines(seed) {
  const envelope = (seq, type, payload) =>
    `${JSON.stringify({ v: 1, seq, ts: '2026-02-11T18:00:00.000Z', type, payload })}\n`
  const lines = [envelope(1451, 'checkpoint_created', { checkpointId: `point-${seed}`, name: `before change ${seed}` })]
  if (seed % 4 === 0) lines.push(envelope(1452, 'session_named', { name: `work ${seed}` }))
  return lines
}

/** Payloads of `content` events whose lines in a session file are about 500 bytes. */
export function contentPayloads(howMany, alphabet = 'wide') {
  const random = randomFrom(500)
  return Array.from({ length: howMany }, (_, i) => ({
    content: item(random, i, { human: 300, ai: 262, tool: 246 }, alphabet),
  }))
}

/** An item of about 1 400 bytes, which depends only on `seq`. */
const contentItem = (seq) => item(randomFrom(seq), seq, LONG, 'wide')

/** The first line of a session file. */
const startLine = (seq) =>
  `${JSON.stringify({ v: 1, seq, ts: '2026-02-11T16:00:00.000Z', type: 'session_start', payload: startPayload(seq) })}\n`

function* sessionLines({ seed = 7, ...workload }) {
  const random = randomFrom(seed)
  const startTime = Date.parse('2026-02-11T16:00:00.000Z')
  for (let seq = 1; seq <= workload.records; seq++) {
    const [type, payload] = event(random, seq, seed, workload)
    const ts = new Date(startTime + seq * 1000).toISOString()
    yield `${JSON.stringify({ v: 1, seq, ts, type, payload })}\n`
  }
}

function event(random, seq, seed, { texts, alphabet = 'wide', compressEvery = Infinity, isEdited = false }) {
  if (seq === 1) return ['session_start', startPayload(seed)]
  if (isEdited)
    return editOf(random, seq, texts, alphabet) ?? ['content', { content: keyedItem(random, seq, texts, alphabet) }]
  if (seq % compressEvery === 0) {
    const summary = { speaker: 'ai', blocks: [{ type: 'text', text: prose(random, 1200, alphabet) }] }
    return ['compressed', { summary, itemsCompressed: compressEvery - 1 }]
  }
  return ['content', { content: item(random, seq, texts, alphabet) }]
}

/**
 * The edit in line `seq`, or null if it has an item, whose key is `seq`. Of 42 450 lines some 2 000 replace and remove ten items anywhere in the history
 * together, 200 insert an item, 200 give one another key, and 50 rewind to a key.
 */
function editOf(random, seq, texts, alphabet) {
  const lastItem = isEdit(seq - 1) ? seq - 2 : seq - 1
  if (seq % 849 === 60) return ['rewind', { itemsRemoved: 2, cutSeq: lastItem - 1 }]
  if (seq % 212 === 5)
    return ['chronology_bind', { rowIndex: random() % Math.floor(seq / 4), chronology: markerOf(1_000_000 + seq) }]
  if (seq % 212 === 110)
    return [
      'synthetic_insert',
      {
        content: keyedItem(random, 2_000_000 + seq, texts, alphabet),
        chronologySeq: 2_000_000 + seq,
        afterSeq: lastItem,
      },
    ]
  if (seq % 21 !== 0) return null
  const keys = Array.from({ length: 10 }, () => 2 + (random() % (seq - 2)))
  const replacements = keys
    .slice(5)
    .map((key) => ({ replacedSeq: key, replacement: keyedItem(random, key, SHORT, alphabet) }))
  return ['density_mutation', { removedSeqs: keys.slice(0, 5), replacements }]
}

const isEdit = (seq) => seq % 849 === 60 || seq % 212 === 5 || seq % 212 === 110 || seq % 21 === 0
const markerOf = (seq) => ({
  seq,
  userTurn: 1 + Math.floor(seq / 9),
  step: seq % 9,
  recordedAt: 1_770_000_000_000 + seq,
})
const keyedItem = (random, seq, texts, alphabet) => ({
  ...item(random, seq, texts, alphabet),
  metadata: { chronology: markerOf(seq) },
})

/** The project that all sessions belong to. */
export const PROJECT_HASH = '9b74c9897bac770ffc029102a200c5de21d7b4a8c6f0f3e4d2b1a09c8e7f6a5b'

const startPayload = (seed) => ({
  sessionId: `bench-${String(seed).padStart(6, '0')}`,
  projectHash: PROJECT_HASH,
  workspaceDirs: ['/home/ada/project', '/home/ada/library'],
  provider: 'anthropic',
  model: 'claude-sonnet-4-5',
  startTime: '2026-02-11T16:00:00.000Z',
})

/** An item: sometimes a question, otherwise an answer that calls a tool, or the tool's response. */
function item(random, seq, texts, alphabet) {
  if (seq % 9 === 2) return { speaker: 'human', blocks: [{ type: 'text', text: prose(random, texts.human, alphabet) }] }
  const id = `call_${seq >> 1}`
  if (seq % 2 === 1) {
    const call = {
      type: 'tool_call',
      id,
      name: 'read_file',
      parameters: { path: `src/${word(random, 'ascii')}.ts`, line: seq % 500 },
    }
    return { speaker: 'ai', blocks: [{ type: 'text', text: prose(random, texts.ai, alphabet) }, call] }
  }
  const result = { exitCode: 0, stdout: output(random, texts.tool, alphabet) }
  return { speaker: 'tool', blocks: [{ type: 'tool_response', callId: id, toolName: 'read_file', result }] }
}

const WORDS = (
  'the of a to in is that it for on with as this be are by from or an at not which have but they ' +
  'function return value error file line test module import const string number array object promise stream buffer ' +
  'session record replay history message result option change request response server client parse'
).split(' ')
const WIDE_WORDS = ['—', '→', '“quoted”', 'it’s', '…', '✓', '•', '├──', '└──', '日本語', '한국어', '🌊', '✅', '≤']

/** A word. In wide texts, one in fifty is beyond Latin-1, as in texts that models write. */
function word(random, alphabet) {
  if (alphabet === 'wide' && random() % 50 === 0) return WIDE_WORDS[random() % WIDE_WORDS.length]
  return WORDS[random() % WORDS.length]
}

export function prose(random, length, alphabet) {
  let text = ''
  while (text.length < length) text += word(random, alphabet) + (random() % 14 === 0 ? '.\n' : ' ')
  return text.slice(0, length).toWellFormed().trimEnd()
}

/** Text like the output of a program: numbered lines, quotation marks, indentation, tabs. */
export function output(random, length, alphabet) {
  const one = () => word(random, alphabet)
  let text = ''
  for (let line = 1; text.length < length; line++) {
    text += `${String(line).padStart(6)}\t${'  '.repeat(random() % 4)}${one()} = "${one()} ${one()}" // ${one()}\n`
  }
  return text.slice(0, length).toWellFormed()
}

/** mulberry32: small, fast, and the same on every machine. */
export function randomFrom(seed) {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = Math.imul(state ^ (state >>> 15), state | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return (t ^ (t >>> 14)) >>> 0
  }
}

/** Writes to a temporary name first, so that a file under its own name is always complete, even if a run is interrupted. */
async function writeLines(filePath, lines) {
  mkdirSync(DATA, { recursive: true })
  const unfinished = `${filePath}.${process.pid}.unfinished`
  const stream = createWriteStream(unfinished)
  let batch = ''
  for (const line of lines) {
    batch += line
    if (batch.length < 1 << 20) continue
    if (!stream.write(batch)) await once(stream, 'drain')
    batch = ''
  }
  stream.end(batch)
  await once(stream, 'finish')
  renameSync(unfinished, filePath)
}

// ---- Large files -------------------------------------------------------------------------------

/** Records in a block of the generated files. Each block begins with a compression. */
const BLOCK = 4000

/** All numbers have the same length, so that a block is created once and only its numbers are overwritten. */
const FIRST_SEQ = 1_000_000_000

const envelope = (seq, type, payload) =>
  `${JSON.stringify({ v: 1, seq, ts: '2026-02-11T16:00:00.000Z', type, payload })}\n`

/** A session of at least `bytes` bytes with a compression every 4 000 records of about 1 400 bytes, the last one near its end. */
export function largeFile(bytes) {
  const filePath = join(DATA, `large-${bytes}.v1.jsonl`)
  if (existsSync(filePath)) return filePath
  mkdirSync(DATA, { recursive: true })
  const { block, places } = numberedBlock()
  const file = openSync(`${filePath}.part`, 'w')
  let written = writeSync(file, startLine(FIRST_SEQ - 1))
  for (let seq = FIRST_SEQ; written < bytes; seq += BLOCK) {
    places.forEach((place, index) => block.write(String(seq + index), place, 'latin1'))
    written += writeSync(file, block)
  }
  closeSync(file)
  renameSync(`${filePath}.part`, filePath)
  return filePath
}

function numberedBlock() {
  const summary = { speaker: 'ai', blocks: [{ type: 'text', text: 'What happened so far.' }] }
  const lines = Array.from({ length: BLOCK }, (_, index) =>
    index === 0
      ? envelope(FIRST_SEQ, 'compressed', { summary, itemsCompressed: BLOCK })
      : envelope(FIRST_SEQ, 'content', { content: contentItem(index) }),
  ).map((line) => Buffer.from(line))
  const inLine = lines[0].indexOf(String(FIRST_SEQ))
  let at = 0
  const places = lines.map((line) => (at += line.length) - line.length + inLine)
  return { block: Buffer.concat(lines), places }
}

/** Works on a list, on so many of it at a time. */
export async function pool(list, together, work) {
  const results = new Array(list.length)
  let next = 0
  const worker = async () => {
    for (let at = next++; at < list.length; at = next++) results[at] = await work(list[at])
  }
  await Promise.all(Array.from({ length: together }, worker))
  return results
}
