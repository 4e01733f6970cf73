// Prints how well the built-in rules of the built addon find secrets: `node measure.mjs [FOLDER OF SESSIONS]`. docs/redaction.md has the figures.

import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sessionOfForm, sessionOfText } from './carriers.mjs'
import { HELD_OUT } from './forms-held-out.mjs'
import { FORMS } from './forms.mjs'
import { INNOCENT_HELD_OUT } from './innocent-held-out.mjs'
import { INNOCENT } from './innocent.mjs'
import { leaksOf } from './reader.mjs'
import { SEED } from './values.mjs'

const { exportBundle } = createRequire(import.meta.url)('../../../index.js')

/** The files of the bundle of a session, or nothing if the export is refused. */
async function filesOfExport(text) {
  const directory = mkdtempSync(join(tmpdir(), 'session-tape-measure-'))
  try {
    writeFileSync(join(directory, 's.jsonl'), text)
    await exportBundle(join(directory, 's.jsonl'), join(directory, 'b'))
    return Object.fromEntries(
      ['session.jsonl', 'manifest.json', 'metadata.json'].map((name) => [
        name,
        readFileSync(join(directory, 'b', name)),
      ]),
    )
  } catch {
    return undefined
  } finally {
    rmSync(directory, { recursive: true })
  }
}

async function isRemoved(form) {
  const { secrets, text } = sessionOfForm(form)
  const files = await filesOfExport(text)
  return files !== undefined && Object.values(secrets).every((secret) => leaksOf(files, secret).length === 0)
}

async function isUnchanged(written) {
  const text = sessionOfText(written)
  return (await filesOfExport(text))?.['session.jsonl'].toString() === text
}

async function count(name, list, holds) {
  const failed = []
  for (const one of list) if (!(await holds(one))) failed.push(one)
  console.log(`${name}: ${list.length - failed.length} of ${list.length}`)
  for (const one of failed)
    console.log(`  not: ${typeof one === 'string' ? one : Array.isArray(one) ? one[0] : JSON.stringify(one)}`)
}

console.log(`SESSION_TAPE_SECRET_SEED=${SEED}`)
for (const [kind, forms] of Object.entries(FORMS)) await count(`removed, ${kind}`, forms, isRemoved)
await count('removed, held out', HELD_OUT, isRemoved)
await count(
  'unchanged, the list',
  Object.values(INNOCENT)
    .flat()
    .map(([, written]) => written),
  isUnchanged,
)
await count('unchanged, held out', INNOCENT_HELD_OUT, isUnchanged)

const [folder] = process.argv.slice(2)
if (folder !== undefined) {
  let [hits, bytes] = [0, 0]
  for (const file of readdirSync(folder).filter((name) => name.endsWith('.jsonl'))) {
    const text = readFileSync(join(folder, file), 'utf8')
    const placeholders = (of) => of.split('[redacted:').length - 1
    hits += placeholders((await filesOfExport(text))['session.jsonl'].toString()) - placeholders(text)
    bytes += Buffer.byteLength(text)
  }
  console.log(`hits in ${(bytes / 1e6).toFixed(2)} MB of recordings: ${hits}`)
}
