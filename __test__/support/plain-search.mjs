// The search in plain JavaScript: every line is parsed, every string is looked at. It knows nothing of the addon, and shows what a search means.

import { finalPlacesOfBytes, recordsOfBytes, replayBytes } from './plain-engine.mjs'

const SPEAKERS = ['human', 'ai', 'tool']

/** The hits in a file of these bytes, without `filePath` and `archived`. `query` is a literal; a regular expression is `options.expression`. */
export function searchBytes(bytes, query, options = {}) {
  const { fields, speaker, tool, projectHash, since, until, history = 'all', context = 60, expression } = options
  const replayed = replayBytes(bytes)
  const start = sessionOf(bytes, replayed)
  if (projectHash !== undefined && start?.projectHash !== projectHash) return []
  const find = finderOf(query, options, expression)
  const remaining = new Set(finalPlacesOfBytes(bytes).map(({ line, pointer }) => `${line} ${pointer}`))
  const hits = []
  for (const { line, record, status } of recordsOfBytes(bytes)) {
    if (status !== 'ok' || !isBetween(record.ts, since, until)) continue
    for (const string of stringsOf(record)) {
      const matches = find(string.text)
      const hit = {
        sessionId: start?.sessionId ?? null,
        line,
        seq: typeof record.seq === 'number' ? record.seq : null,
        ts: typeof record.ts === 'string' ? record.ts : null,
        type: record.type,
        speaker: string.speaker,
        field: string.field,
        tool: string.tool,
        pointer: string.pointer,
        ...snippetOf(string.text, matches, context),
        matches: matches.length,
        inHistory: string.item === null ? null : remaining.has(`${line} ${string.item}`),
      }
      const isWanted =
        (fields === undefined || fields.includes(hit.field)) &&
        (speaker === undefined || hit.speaker === speaker) &&
        (tool === undefined || hit.tool === tool) &&
        (history === 'all' || hit.inHistory !== false)
      if (matches.length > 0 && isWanted) hits.push(hit)
    }
  }
  return hits
}

/** The payload of a valid start in the first line. */
function sessionOf(bytes) {
  const [first] = recordsOfBytes(bytes)
  return first?.status === 'ok' && first.record.type === 'session_start' ? first.record.payload : undefined
}

function isBetween(ts, since, until) {
  if (since === undefined && until === undefined) return true
  const time = typeof ts === 'string' ? Date.parse(ts) : NaN
  const bound = (value, otherwise) => (value === undefined ? otherwise : new Date(value).getTime())
  return time >= bound(since, -Infinity) && time <= bound(until, Infinity)
}

/** A function that returns the matches in a text, as pairs of start and end. */
function finderOf(query, { case: letters = 'smart' }, expression) {
  // Letters in the escapes of an expression do not count.
  const named = expression === undefined ? query : expression.replace(/\\(?:p\{[^}]*\}|.)/g, '')
  const isInsensitive = letters === 'insensitive' || (letters === 'smart' && !/\p{Lu}/u.test(named))
  if (expression === undefined && !isInsensitive) return (text) => indicesOf(text, query)
  const source = expression ?? query.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')
  const pattern = new RegExp(source, isInsensitive ? 'giu' : 'gu')
  return (text) => [...text.matchAll(pattern)].map((found) => [found.index, found.index + found[0].length])
}

function indicesOf(text, query) {
  const found = []
  for (let at = text.indexOf(query); at !== -1; at = text.indexOf(query, at + query.length))
    found.push([at, at + query.length])
  return found
}

function snippetOf(text, matches, context) {
  if (matches.length === 0) return {}
  const [first, last] = matches[0]
  let start = Math.max(0, first - context)
  if (splitsPair(text, start)) start += start < first ? 1 : -1
  let end = Math.min(text.length, last + context)
  if (splitsPair(text, end)) end += end > last ? -1 : 1
  const within = matches.filter(([from, to]) => from >= start && to <= end)
  return { snippet: text.slice(start, end), ranges: within.map(([from, to]) => [from - start, to - start]) }
}

function splitsPair(text, at) {
  return at > 0 && /[\ud800-\udbff]/.test(text[at - 1]) && /[\udc00-\udfff]/.test(text[at] ?? '')
}

/** The strings of an event that are searched, in order. */
function stringsOf({ type, payload }) {
  const single = (field, key) => [
    { field, item: null, speaker: null, tool: null, pointer: `/${key}`, text: payload[key] },
  ]
  switch (type) {
    case 'content':
    case 'synthetic_insert':
      return itemStrings(payload.content, '/content')
    case 'chronology_bind':
      return payload.content === undefined ? [] : itemStrings(payload.content, '/content')
    case 'density_mutation':
      return payload.replacements.flatMap(({ replacement }, index) =>
        itemStrings(replacement, `/replacements/${index}/replacement`),
      )
    case 'semantic_media_purge':
      return payload.history.flatMap((item, index) => itemStrings(item, `/history/${index}`))
    case 'compressed':
      return itemStrings(payload.summary, '/summary')
    case 'session_event':
      return single('session_event', 'message')
    case 'session_metadata':
      return typeof payload.title === 'string' ? single('name', 'title') : []
    case 'session_named':
      return typeof payload.name === 'string' ? single('name', 'name') : []
    case 'checkpoint_created':
    case 'checkpoint_renamed':
      return single('name', 'name')
    default:
      return []
  }
}

function itemStrings(item, pointer) {
  const speaker = SPEAKERS.includes(item.speaker) ? item.speaker : null
  if (!Array.isArray(item.blocks)) return []
  return item.blocks.flatMap((block, index) =>
    blockStrings(block, `${pointer}/blocks/${index}`).map((found) => ({ item: pointer, speaker, ...found })),
  )
}

const SEARCHED = {
  text: { field: 'text', shallow: ['text'], deep: [] },
  code: { field: 'code', shallow: ['code'], deep: [] },
  thinking: { field: 'thinking', shallow: ['thought'], deep: [] },
  tool_call: { field: 'tool_call', shallow: ['name'], deep: ['parameters'], tool: 'name' },
  tool_response: { field: 'tool_response', shallow: ['toolName', 'error'], deep: ['result'], tool: 'toolName' },
}

function blockStrings(block, pointer) {
  if (
    typeof block !== 'object' ||
    block === null ||
    typeof block.type !== 'string' ||
    !Object.hasOwn(SEARCHED, block.type)
  )
    return []
  const { field, shallow, deep, tool } = SEARCHED[block.type]
  const name = tool !== undefined && typeof block[tool] === 'string' ? block[tool] : null
  const found = (at) => ({ field, tool: name, ...at })
  return Object.keys(block).flatMap((key) => {
    if (deep.includes(key)) return leaves(block[key], `${pointer}/${key}`).map(found)
    return shallow.includes(key) && typeof block[key] === 'string'
      ? [found({ pointer: `${pointer}/${key}`, text: block[key] })]
      : []
  })
}

function leaves(value, pointer) {
  if (typeof value === 'string') return [{ pointer, text: value }]
  if (typeof value !== 'object' || value === null) return []
  return Object.keys(value).flatMap((key) =>
    leaves(value[key], `${pointer}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`),
  )
}
