/** Sessions of other programs: replays and imports, compared with loops that parse them and build the same items. */
import { deepStrictEqual } from 'node:assert/strict'
import { createReadStream, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { convertSession, importSession, replaySession } from '../index.mjs'
import { FOREIGN_WORKLOADS, foreignSession } from './foreign-sessions.mjs'
import { inTurn, median, ratios, timed } from './measure.mjs'
import { DATA, PROJECT_HASH } from './workloads.mjs'

export async function benchAgents({ rounds, scale, say }) {
  const results = []
  for (const workload of FOREIGN_WORKLOADS) {
    say(`agents: ${workload.title}`)
    const path = await foreignSession(workload, scale)
    const directory = mkdtempSync(join(DATA, 'imported-'))
    try {
      await checkSame(path, PLAIN[workload.name])
      const measured = await inTurn(sidesOf(path, PLAIN[workload.name], directory), rounds)
      results.push(figuresOf(workload, statSync(path).size, measured))
    } finally {
      rmSync(directory, { recursive: true, force: true })
    }
  }
  return results
}

function sidesOf(path, plain, directory) {
  let count = 0
  const options = () => ({ chatsDir: join(directory, String(count++)), projectHash: PROJECT_HASH })
  const afterwards = async (measuring) => {
    const measured = await measuring
    rmSync(directory, { recursive: true, force: true })
    return measured
  }
  return {
    plain: () => timed(() => plain(path)),
    replay: () => timed(() => replaySession(path)),
    plainImport: () => timed(async () => writeFileSync(join(DATA, 'imported.jsonl'), linesOf(await plain(path)))),
    import: () => afterwards(timed(() => importSession(path, options()))),
    receipt: () => timed(() => entriesOf(path)),
  }
}

function figuresOf({ name, title }, bytes, measured) {
  const of = (side, figure) => measured[side].map((one) => one[figure])
  const medians = (figure) => Object.fromEntries(Object.keys(measured).map((side) => [side, median(of(side, figure))]))
  return {
    name,
    title,
    bytes,
    ratio: ratios(of('plain', 'ms'), of('replay', 'ms')),
    cpuRatio: ratios(of('plain', 'cpuMs'), of('replay', 'cpuMs')),
    importRatio: ratios(of('plainImport', 'ms'), of('import', 'ms')),
    ms: medians('ms'),
    stops: medians('longestStopMs'),
  }
}

async function entriesOf(path) {
  let entries = 0
  for await (const { entry } of convertSession(path)) entries += entry.seqs === undefined ? 0 : 1
  return entries
}

const linesOf = (items) =>
  items
    .map(
      (content, i) =>
        `${JSON.stringify({ v: 1, seq: i + 2, ts: '2026-02-11T16:00:00.000Z', type: 'content', payload: { content } })}\n`,
    )
    .join('')

/** Both sides must have the same speakers and blocks. */
async function checkSame(path, plain) {
  const { history } = await replaySession(path, undefined, { strict: true })
  const bare = ({ speaker, blocks }) => ({ speaker, blocks })
  deepStrictEqual((await plain(path)).map(bare), history.map(bare))
}

async function* recordsOf(path) {
  for await (const line of createInterface({ input: createReadStream(path), crlfDelay: Infinity }))
    yield JSON.parse(line)
}

/** Collects items. Blocks of one response are one item; `names` has the names of tools by the ids of their calls. */
class Items {
  items = []
  names = new Map()
  response = null

  human(text) {
    this.items.push({ speaker: 'human', blocks: [{ type: 'text', text }] })
    this.response = null
  }

  ai(id, block) {
    if (this.response?.id !== id) {
      this.response = { id, blocks: [] }
      this.items.push({ speaker: 'ai', blocks: this.response.blocks })
    }
    if (block.type === 'tool_call') this.names.set(block.id, block.name)
    this.response.blocks.push(block)
  }

  tool(callId, result) {
    this.items.push({
      speaker: 'tool',
      blocks: [{ type: 'tool_response', callId, toolName: this.names.get(callId), result }],
    })
  }
}

const PLAIN = {
  async claude(path) {
    const out = new Items()
    for await (const { type, message } of recordsOf(path)) {
      if (typeof message.content === 'string') out.human(message.content)
      else
        for (const block of message.content) {
          if (type === 'user') out.tool(block.tool_use_id, block.content)
          else out.ai(message.id, ofClaude(block))
        }
    }
    return out.items
  },

  async codex(path) {
    const out = new Items()
    let response = 0
    for await (const { type, payload } of recordsOf(path)) {
      if (type !== 'response_item') continue
      if (payload.role === 'user') out.human(payload.content[0].text)
      else if (payload.type === 'function_call_output') out.tool(payload.call_id, payload.output)
      else out.ai(response, ofCodex(payload))
      if (payload.type === 'function_call_output') response++
    }
    return out.items
  },

  async gemini(path) {
    const out = new Items()
    for (const message of JSON.parse(readFileSync(path, 'utf8')).messages) {
      if (message.type === 'user') out.human(message.content)
      else {
        for (const { subject, description } of message.thoughts)
          out.ai(message.id, { type: 'thinking', thought: description, subject })
        out.ai(message.id, { type: 'text', text: message.content })
        for (const { id, name, args } of message.toolCalls)
          out.ai(message.id, { type: 'tool_call', id, name, parameters: args })
        for (const { id, result } of message.toolCalls) out.tool(id, result[0].functionResponse.response.output)
      }
    }
    return out.items
  },
}

function ofClaude(block) {
  if (block.type === 'text') return { type: 'text', text: block.text }
  if (block.type === 'thinking') return { type: 'thinking', thought: block.thinking, signature: block.signature }
  return { type: 'tool_call', id: block.id, name: block.name, parameters: block.input }
}

function ofCodex(payload) {
  if (payload.type === 'message') return { type: 'text', text: payload.content[0].text }
  if (payload.type === 'reasoning')
    return { type: 'thinking', thought: payload.summary[0].text, encrypted: payload.encrypted_content }
  return { type: 'tool_call', id: payload.call_id, name: payload.name, parameters: JSON.parse(payload.arguments) }
}
