// What the built-in rules must leave alone: code, prose, logs and data with the words by which secrets are found.

import { readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fc, test } from '../support/property'
import { describe, expect } from 'vitest'
import { exportBundle, filesIn, freshDirectory } from '../support/bundles.js'
import { sessionOfText } from '../support/redaction/carriers.mjs'
import { INNOCENT } from '../support/redaction/innocent.mjs'
import { runs } from '../support/session-arbitraries.js'

/** Expects that an export with default options leaves a session with this text as it is. */
async function expectUnchanged(text: string): Promise<void> {
  const directory = freshDirectory()
  writeFileSync(join(directory, 's.jsonl'), text)
  const { redactions } = await exportBundle(join(directory, 's.jsonl'), join(directory, 'b'))
  const written = filesIn(join(directory, 'b'))['session.jsonl']!.toString()
  const changed = written.split('\n').filter((line, at) => line !== text.split('\n')[at])
  expect({ redactions, changed }).toEqual({ redactions: 0, changed: [] })
}

for (const [kind, list] of Object.entries(INNOCENT)) {
  describe(kind, () => {
    test.each(list)('%s is left as it is', (_, written) => expectUnchanged(sessionOfText(written)))
  })
}

const names = fc.constantFrom('password', 'token', 'apiKey', 'client_secret', 'DB_PASSWORD', 'auth-token', 'sessionId')
const harmless = fc.oneof(
  fc.stringMatching(/^[A-Z][A-Z_]{2,12}$/).map((variable) => `$${variable}`),
  fc.stringMatching(/^[A-Z][A-Z_]{2,12}$/).map((variable) => `\${${variable}}`),
  fc.stringMatching(/^[A-Z][A-Z_]{2,12}$/).map((variable) => `process.env.${variable}`),
  fc.stringMatching(/^[a-z][A-Za-z]{2,10}$/).map((called) => `${called}(input)`),
  fc.stringMatching(/^[a-z]{3,8}$/).map((field) => `this.${field}.value`),
  fc.stringMatching(/^[a-z]{3,8}$/).map((what) => `<your-${what}>`),
  fc.constantFrom(
    'null',
    'true',
    'false',
    'undefined',
    'None',
    '""',
    "''",
    '***',
    '********',
    'xxxxxx',
    '...',
    '{{ token }}',
    '%TOKEN%',
  ),
  fc.integer({ min: 0, max: 99_999 }).map(String),
)

// Four digits and more that are given to a password are one.
const isPin = (name: string, value: string) => /password/i.test(name) && /^[0-9]{4,}$/.test(value)
const given = fc.tuple(names, harmless).filter(([name, value]) => !isPin(name, value))

test.prop([given, fc.constantFrom('=', ': ', ' = ')], { ...runs(200), seed: 1 })(
  'a variable, a call, a placeholder or a count is left as it is behind any name',
  async ([name, value], between) => {
    await expectUnchanged(sessionOfText(`${name}${between}${value}`))
  },
)

// The recordings are no part of the project: `SESSION_TAPE_DATA` names the folder with them.
const DATA = join(process.env['SESSION_TAPE_DATA'] ?? join(__dirname, '../../../shared/data'), 'sessions')
const recordings = (() => {
  try {
    return readdirSync(DATA).filter((file) => file.endsWith('.jsonl'))
  } catch {
    return []
  }
})()

test.skipIf(recordings.length === 0)(
  `real recordings have at most one hit a megabyte (they are read from SESSION_TAPE_DATA, here ${DATA})`,
  async () => {
    let [hits, bytes] = [0, 0]
    for (const file of recordings) {
      const to = join(freshDirectory(), 'b')
      await exportBundle(join(DATA, file), to)
      bytes += readFileSync(join(DATA, file)).length
      hits += filesIn(to)['session.jsonl']!.toString().split('[redacted:').length - 1
    }
    expect(hits).toBeLessThanOrEqual(Math.ceil(bytes / 1_000_000))
  },
)
