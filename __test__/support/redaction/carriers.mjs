// The places of a session in which a text or a JSON value can stand.

import { SEED, randomOf, textOf } from './values.mjs'

const BEFORE = 'This is what I have so far:'
const AFTER = 'Tell me what you make of it.'

const item = (speaker, ...blocks) => ({ type: 'content', payload: { content: { speaker, blocks } } })
const said = (text) => item('human', { type: 'text', text: `${BEFORE}\n${text}\n${AFTER}` })
const called = (parameters) => item('ai', { type: 'tool_call', id: 'c1', name: 'run', parameters })
const answered = (result) => item('tool', { type: 'tool_response', callId: 'c1', toolName: 'run', result })

const OF_TEXT = {
  'the text of a user': said,
  'a parameter of a tool': (text) => called({ command: text, timeout: 60 }),
  'the result of a tool': (text) => answered({ output: text, exitCode: 0 }),
  'JSON in a string': (text) =>
    answered(JSON.stringify({ stdout: text, more: JSON.stringify({ lines: text.split('\n').length }) })),
}

const OF_VALUE = {
  'JSON in the text of a user': (value) => said(JSON.stringify(value, null, 2)),
  'the parameters of a tool': called,
  'the result of a tool': (value) => answered({ value, exitCode: 0 }),
  'JSON in a string': (value) => answered(JSON.stringify(value)),
  'JSON in JSON in a string': (value) => answered(JSON.stringify({ body: JSON.stringify(value) })),
}

/** The carriers of what is written, by name. */
export const carriersOf = (written) => (typeof written === 'string' ? OF_TEXT : OF_VALUE)

/** What a form writes, with values made afresh for it and for `place`; `made` are all of them, the secret first. */
export function filled([name, value, write], place) {
  const random = randomOf(`${SEED} ${name} ${place}`)
  const made = []
  const make = (of) => {
    made.push(typeof of === 'string' ? textOf(of, random) : of(random))
    return made.at(-1)
  }
  const secret = make(value)
  return { secret, written: write(secret, make), made }
}

/** The text of a session of these records. */
export function sessionWith(records) {
  const started = {
    type: 'session_start',
    payload: {
      sessionId: 's',
      projectHash: 'p',
      workspaceDirs: ['/repo'],
      provider: 'openai',
      model: 'small',
      startTime: '2026-02-11T16:00:00.000Z',
    },
  }
  const lines = [started, ...records].map(({ type, payload }, at) =>
    JSON.stringify({ v: 1, seq: at + 1, ts: '2026-02-11T16:00:00.000Z', type, payload }),
  )
  return lines.map((line) => `${line}\n`).join('')
}

/** A session with a form in each carrier, each with another secret, and the secrets by carrier. */
export function sessionOfForm(form) {
  const secrets = {}
  const records = Object.keys(carriersOf(filled(form, '').written)).map((place) => {
    const { secret, written } = filled(form, place)
    secrets[place] = secret
    return carriersOf(written)[place](written)
  })
  return { secrets, text: sessionWith(records) }
}

/** A session with `written` in each carrier. */
export function sessionOfText(written) {
  return sessionWith(Object.values(carriersOf(written)).map((carry) => carry(written)))
}
