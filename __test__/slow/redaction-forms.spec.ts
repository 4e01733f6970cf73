// How well the built-in rules find secrets: every form of the list, with a value made afresh, in every place of a session and of a run.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fc, test } from '../support/property'
import { describe, expect } from 'vitest'
import { exportBundle, filesIn, freshDirectory } from '../support/bundles.js'
import { sessionOfForm, sessionWith, filled, carriersOf } from '../support/redaction/carriers.mjs'
import type { Form } from '../support/redaction/carriers.mjs'
import { FORMS, isFound } from '../support/redaction/forms.mjs'
import { leaksOf } from '../support/redaction/reader.mjs'
import { SEED } from '../support/redaction/values.mjs'
import { freshPath, startedRun } from '../support/run-directory.js'
import { runs } from '../support/session-arbitraries.js'

/** The files of a bundle, exported with default options, of a session with this text. */
async function filesOfExport(text: string): Promise<Record<string, Buffer>> {
  const directory = freshDirectory()
  writeFileSync(join(directory, 's.jsonl'), text)
  await exportBundle(join(directory, 's.jsonl'), join(directory, 'b'))
  return filesIn(join(directory, 'b'))
}

/** A session with a form in each of its places, and its bundle, which two tests look at. */
function exportedOnce(form: Form): () => Promise<ReturnType<typeof sessionOfForm> & { files: Record<string, Buffer> }> {
  let exported: ReturnType<ReturnType<typeof exportedOnce>> | undefined
  const make = async () => {
    const session = sessionOfForm(form)
    return { ...session, files: await filesOfExport(session.text) }
  }
  return () => (exported ??= make())
}

/** A run with a form in the message of an event, in a blob of text, and in a blob of JSON, each with another secret. */
function runOfForm(form: Form) {
  const run = startedRun()
  const put = (place: string, add: (text: string) => void): [string, string] => {
    const { secret, written } = filled(form, place)
    add(typeof written === 'string' ? written : JSON.stringify(written))
    return [place, secret]
  }
  const secrets = Object.fromEntries([
    put('the message of an event', (message) => run.append('Error', { code: 'E', message, recoverable: true })),
    put('a blob', (text) => run.append('BlobStored', { blob: run.putBlob(text), size: Buffer.byteLength(text) })),
    put('a blob of JSON', (text) =>
      run.append('BlobStored', { blob: run.putBlob(JSON.stringify({ stdout: text })), size: 1 }),
    ),
  ])
  return { secrets, source: run.write(freshPath()) }
}

/** What of the text around the secrets is gone: what the user said before and after them, and the structure of JSON in a string. */
function damageIn(before: string, after: string): string[] {
  const lines = after.split('\n')
  return before.split('\n').flatMap((line, at) => {
    const said = ['This is what I have so far:', 'Tell me what you make of it.'].filter(
      (around) => line.includes(around) && !lines[at]!.includes(around),
    )
    const shapes = [line, lines[at]!].map((one) => (one === '' ? '' : shapeOf(JSON.parse(one))))
    return [...said, ...(shapes[0] === shapes[1] ? [] : [`${shapes[0]} is now ${shapes[1]}`])]
  })
}

/** The number of members of a value at each level, also of JSON in strings. Keys may be redacted, too. */
function shapeOf(value: unknown): string {
  if (typeof value === 'string' && /^[[{]/.test(value)) {
    try {
      return `"${shapeOf(JSON.parse(value))}"`
    } catch {
      return 'string'
    }
  }
  return typeof value === 'object' && value !== null ? `{${Object.values(value).map(shapeOf).join(',')}}` : typeof value
}

const leaksByPlace = (files: Record<string, Buffer>, secrets: Record<string, string>) =>
  Object.entries(secrets).flatMap(([place, secret]) =>
    leaksOf(files, secret).map((leak) => `${place}: ${secret} is left in ${leak}`),
  )

describe(`made with SESSION_TAPE_SECRET_SEED=${SEED}`, () => {
  for (const [kind, forms] of Object.entries(FORMS)) {
    describe(kind, () => {
      for (const form of forms) {
        if (!isFound(form)) {
          test(`${form[0]} is left in a session, as NOT_FOUND and docs/redaction.md say`, async () => {
            const { secrets, text } = sessionOfForm(form)
            expect(leaksByPlace(await filesOfExport(text), secrets)).not.toEqual([])
          })
          continue
        }

        const session = exportedOnce(form)

        test(`${form[0]} is removed from a session`, async () => {
          const { secrets, text, files } = await session()
          // What is not seen in the source would not be seen in the bundle either.
          for (const secret of Object.values(secrets))
            expect(leaksOf({ source: Buffer.from(text) }, secret)).not.toEqual([])
          expect(leaksByPlace(files, secrets)).toEqual([])
        })

        test(`${form[0]} is removed without what stands around it`, async () => {
          const { text, files } = await session()
          expect(damageIn(text, files['session.jsonl']!.toString())).toEqual([])
        })

        test(`${form[0]} is removed from a run`, async () => {
          const { secrets, source } = runOfForm(form)
          const to = join(freshDirectory(), 'b')
          await exportBundle(source, to)
          expect(leaksByPlace(filesIn(to), secrets)).toEqual([])
        })
      }
    })
  }
})

const WORDS = [
  'password',
  'passwd',
  'passphrase',
  'secret',
  'token',
  'api key',
  'access key',
  'private key',
  'credential',
  'auth token',
  'session id',
]
const joined: Record<string, (words: string[]) => string> = {
  snake: (words) => words.join('_'),
  upper: (words) => words.join('_').toUpperCase(),
  kebab: (words) => words.join('-'),
  camel: (words) => words.map((word, at) => (at === 0 ? word : word[0]!.toUpperCase() + word.slice(1))).join(''),
}
const name = fc
  .tuple(
    fc.constantFrom('', 'db', 'my app', 'stripe', 'old'),
    fc.constantFrom(...WORDS),
    fc.constantFrom('', '2', 'v1', 'prod'),
    fc.constantFrom(...Object.keys(joined)),
  )
  .map(([before, word, after, style]) => joined[style]!([before, word, after].filter(Boolean).join(' ').split(' ')))
const value = fc.stringMatching(/^[A-Za-z]{4}[0-9][A-Za-z0-9_]{7,24}$/)
/** Where only settings stand: there a value that looks like an identifier is a secret, too. */
const inSettings: ((name: string, value: string) => string)[] = [
  (key, secret) => `${key}=${secret}`,
  (key, secret) => `${key}="${secret}"`,
  (key, secret) => `export ${key}=${secret}`,
  (key, secret) => `${key}: ${secret}`,
  (key, secret) => `--${key}=${secret}`,
  (key, secret) => `--${key} ${secret} --verbose`,
  (key, secret) => `https://x.example.com/a?b=1&${key}=${secret}&c=2`,
  (key, secret) => `\u001b[33m${key}\u001b[0m=\u001b[32m${secret}\u001b[0m`,
]
/** Where code stands, too. */
const inCode: ((name: string, value: string) => string)[] = [
  (key, secret) => `${key} = '${secret}'`,
  (key, secret) => `  "${key}" : "${secret}",`,
  (key, secret) => `'${key}' => '${secret}'`,
]
// As a program makes it: of both cases, and with digits among the letters, which no words and numbers have. In code, `token` is also given words.
const isMade = (text: string) =>
  (text.match(/[A-Za-z](?=[0-9])|[0-9](?=[A-Za-z])/g) ?? []).length >= Math.max(3, text.length / 5) &&
  /[a-z]/.test(text) &&
  /[A-Z]/.test(text)
const isOfParsers = (key: string) => /token|credential|session/i.test(key)

test.prop([name, value, fc.constantFrom(...inSettings, ...inCode), fc.string({ maxLength: 20 })], {
  ...runs(300),
  seed: 1,
})(
  'a value given to the name of a secret is removed however both are written and whatever stands before it',
  async (key, secret, write, before) => {
    fc.pre(inSettings.includes(write) || !isOfParsers(key) || isMade(secret))
    const written = `${before}\n${write(key, secret)}\nend`
    const files = await filesOfExport(sessionWith(Object.values(carriersOf(written)).map((carry) => carry(written))))
    expect(leaksOf(files, secret)).toEqual([])
  },
)
