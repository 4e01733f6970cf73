/** Sessions of other programs, as their programs write them: prompts, answers that call a tool, results of about 2 KB, and what only their user interfaces need. */
import { foreignFile, output, prose, randomFrom } from '../workloads.mjs'

/** Text lengths in characters. */
const TEXTS = { human: 300, thinking: 500, ai: 700, tool: 2000 }

/** Three records of the conversation for each call. */
function* turns(turnCount) {
  const random = randomFrom(11)
  const start = Date.parse('2026-02-11T16:00:00.000Z')
  for (let turn = 0; turn < turnCount; turn++) {
    const at = (step) => new Date(start + turn * 10_000 + step * 1000).toISOString()
    yield {
      turn,
      at,
      prompt: turn % 5 === 0 ? prose(random, TEXTS.human, 'wide') : null,
      thinking: prose(random, TEXTS.thinking, 'wide'),
      text: prose(random, TEXTS.ai, 'wide'),
      call: {
        id: `call_${String(turn).padStart(24, '0')}`,
        name: 'read_file',
        input: { path: `src/file-${turn % 500}.ts`, limit: 200 },
      },
      result: output(random, TEXTS.tool, 'wide'),
      usage: { input: 1000 + (turn % 50_000), cached: turn % 50_000, output: 300 + (turn % 100) },
    }
  }
}

/** Claude Code: a linear tree, one block a record, and every result a second time for the user interface. */
function* claude(turnCount) {
  let last = null
  let count = 0
  const record = (type, timestamp, fields) => {
    const uuid = `${String(count++).padStart(8, '0')}-1111-4222-8333-444455556666`
    const common = {
      parentUuid: last,
      isSidechain: false,
      userType: 'external',
      cwd: '/home/ada/project',
      sessionId: 'bench',
      version: '2.1.30',
      gitBranch: 'main',
      type,
    }
    last = uuid
    return `${JSON.stringify({ ...common, ...fields, uuid, timestamp })}\n`
  }
  for (const { turn, at, prompt, thinking, text, call, result, usage } of turns(turnCount)) {
    if (prompt !== null) yield record('user', at(0), { message: { role: 'user', content: prompt } })
    const blocks = [
      { type: 'thinking', thinking, signature: 'c2lnbmF0dXJl'.repeat(20) },
      { type: 'text', text },
      { type: 'tool_use', id: call.id, name: call.name, input: call.input },
    ]
    const tokens = {
      input_tokens: usage.input - usage.cached,
      cache_read_input_tokens: usage.cached,
      output_tokens: usage.output,
      service_tier: 'standard',
    }
    const message = {
      id: `msg_${turn}`,
      type: 'message',
      role: 'assistant',
      model: 'claude-opus-4-6',
      stop_reason: null,
      stop_sequence: null,
      usage: tokens,
    }
    for (const block of blocks)
      yield record('assistant', at(1), { message: { ...message, content: [block] }, requestId: `req_${turn}` })
    const content = [{ tool_use_id: call.id, type: 'tool_result', content: result }]
    yield record('user', at(2), {
      message: { role: 'user', content },
      toolUseResult: { type: 'text', file: { filePath: call.input.path, content: result, numLines: 60 } },
    })
  }
}

/** Codex: response items, the events that repeat them, and counts of tokens. */
function* codex(turnCount) {
  const line = (timestamp, type, payload) => `${JSON.stringify({ timestamp, type, payload })}\n`
  const event = (timestamp, payload) => line(timestamp, 'event_msg', payload)
  const start = '2026-02-11T16:00:00.000Z'
  yield line(start, 'session_meta', {
    id: 'bench',
    timestamp: start,
    cwd: '/home/ada/project',
    originator: 'codex_cli',
    cli_version: '0.150.0',
    model_provider: 'openai',
    base_instructions: { text: 'be brief. '.repeat(2000) },
  })
  const total = { input_tokens: 0, cached_input_tokens: 0, output_tokens: 0 }
  for (const { at, prompt, thinking, text, call, result, usage } of turns(turnCount)) {
    if (prompt !== null) {
      yield line(at(0), 'turn_context', {
        cwd: '/home/ada/project',
        approval_policy: 'on-request',
        sandbox_policy: { mode: 'workspace-write' },
        model: 'gpt-5.2',
        effort: 'high',
        summary: 'auto',
      })
      yield line(at(0), 'response_item', {
        type: 'message',
        role: 'user',
        content: [{ type: 'input_text', text: prompt }],
      })
      yield event(at(0), { type: 'user_message', message: prompt })
    }
    yield event(at(1), { type: 'agent_reasoning', text: thinking })
    yield line(at(1), 'response_item', {
      type: 'reasoning',
      summary: [{ type: 'summary_text', text: thinking }],
      content: null,
      encrypted_content: 'ZW5jcnlwdGVk'.repeat(80),
    })
    yield event(at(1), { type: 'agent_message', message: text })
    yield line(at(1), 'response_item', { type: 'message', role: 'assistant', content: [{ type: 'output_text', text }] })
    yield line(at(1), 'response_item', {
      type: 'function_call',
      name: call.name,
      arguments: JSON.stringify(call.input),
      call_id: call.id,
    })
    const tokens = { input_tokens: usage.input, cached_input_tokens: usage.cached, output_tokens: usage.output }
    for (const key of Object.keys(total)) total[key] += tokens[key]
    yield event(at(2), {
      type: 'token_count',
      info: { total_token_usage: { ...total }, last_token_usage: tokens, model_context_window: 272_000 },
      rate_limits: null,
    })
    yield line(at(2), 'response_item', {
      type: 'function_call_output',
      call_id: call.id,
      output: `Exit code: 0\nWall time: 0.1 seconds\nOutput:\n${result}`,
    })
  }
}

/** Gemini CLI: one document, written with an indentation of two. */
function* gemini(turnCount) {
  const indented = (value) => JSON.stringify(value, null, 2).replaceAll('\n', '\n    ')
  yield '{\n  "sessionId": "bench",\n  "projectHash": "9b74c989",\n  "startTime": "2026-02-11T16:00:00.000Z",\n  "lastUpdated": "2026-02-11T18:00:00.000Z",\n  "messages": ['
  let separator = '\n    '
  for (const { turn, at, prompt, thinking, text, call, result, usage } of turns(turnCount)) {
    const messages = []
    if (prompt !== null) messages.push({ id: `u-${turn}`, timestamp: at(0), type: 'user', content: prompt })
    const response = { functionResponse: { id: call.id, name: call.name, response: { output: result } } }
    messages.push({
      id: `g-${turn}`,
      timestamp: at(1),
      type: 'gemini',
      model: 'gemini-3-pro',
      content: text,
      thoughts: [{ subject: 'Reading', description: thinking, timestamp: at(1) }],
      tokens: {
        input: usage.input,
        cached: usage.cached,
        output: usage.output,
        thoughts: 100,
        tool: 0,
        total: usage.input + usage.output + 100,
      },
      toolCalls: [
        {
          id: call.id,
          name: call.name,
          args: call.input,
          result: [response],
          status: 'success',
          timestamp: at(2),
          resultDisplay: result,
          displayName: 'ReadFile',
        },
      ],
    })
    for (const message of messages) {
      yield `${separator}${indented(message)}`
      separator = ',\n    '
    }
  }
  yield '\n  ]\n}\n'
}

/** Turns for a file of about 100 MB. */
export const FOREIGN_WORKLOADS = [
  { name: 'claude', title: 'Claude Code', turns: 12_500, parts: claude, extension: 'jsonl' },
  { name: 'codex', title: 'Codex', turns: 14_500, parts: codex, extension: 'jsonl' },
  { name: 'gemini', title: 'Gemini CLI, one document', turns: 17_000, parts: gemini, extension: 'json' },
]

/** The file of a workload. `scale` is 1 for a full measurement, less for a quick one. */
export const foreignSession = ({ name, turns: count, parts, extension }, scale) =>
  foreignFile(`${name}-${Math.max(20, Math.round(count * scale))}`, extension, () =>
    parts(Math.max(20, Math.round(count * scale))),
  )
