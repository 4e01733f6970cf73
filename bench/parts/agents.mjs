/** Sessions of other programs: replays and imports, compared with loops that parse them and build the same items. */
import { deepStrictEqual } from 'node:assert/strict'
import { createReadStream, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { convertSession, importSession, replaySession } from '../../index.mjs'
import { DATA, PROJECT_HASH } from '../workloads.mjs'
import { FOREIGN_WORKLOADS, foreignSession } from './foreign-sessions.mjs'

export async function* agents({ scale }) {
  const chatsDir = join(DATA, 'imported')
  for (const workload of FOREIGN_WORKLOADS) {
    const path = await foreignSession(workload, scale)
    const plain = PLAIN[workload.name]
    const bare = ({ speaker, blocks }) => ({ speaker, blocks })
    const { history } = await replaySession(path, undefined, { strict: true })
    deepStrictEqual((await plain(path)).map(bare), history.map(bare))
    const what = `${workload.title}, ${Math.round(statSync(path).size / 1e6)} MB`
    yield { what: `${what}: replay`, ours: () => replaySession(path), other: ['a loop', () => plain(path)] }
    const imported = {
      run: () => importSession(path, { chatsDir, projectHash: PROJECT_HASH }),
      after: () => rmSync(chatsDir, { recursive: true }),
    }
    const written = join(DATA, 'imported.jsonl')
    const plainImport = async () => writeFileSync(written, linesOf(await plain(path)))
    yield { what: `${what}: import`, ours: imported, other: ['a loop that writes', plainImport] }
    yield { what: `${what}: receipt of all records`, ours: () => entriesOf(path) }
  }
}

async function entriesOf(path) {
  let entries = 0
  for await (const { entry } of convertSession(path)) entries += entry.seqs === undefined ? 0 : 1
  return entries
}

function linesOf(items) {
  const ts = '2026-02-11T16:00:00.000Z'
  const line = (content, i) => JSON.stringify({ v: 1, seq: i + 2, ts, type: 'content', payload: { content } })
  return items.map((item, i) => `${line(item, i)}\n`).join('')
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
