// Writes a session with every form of a secret that the rules find, for programs in other languages: `node write-recording.mjs FOLDER`. The folder then has
// session.jsonl and secrets.json, an array of the values that were made.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { carriersOf, filled, sessionWith } from './carriers.mjs'
import { FORMS, isFound } from './forms.mjs'
import { SEED } from './values.mjs'

const [folder] = process.argv.slice(2)
const secrets = []
const records = Object.values(FORMS).flatMap((forms) =>
  forms.filter(isFound).flatMap((form) =>
    Object.entries(carriersOf(filled(form, '').written)).map(([place, carry]) => {
      const { written, made } = filled(form, place)
      secrets.push(...made)
      return carry(written)
    }),
  ),
)
writeFileSync(join(folder, 'session.jsonl'), sessionWith(records))
writeFileSync(join(folder, 'secrets.json'), JSON.stringify(secrets))
console.log(`SESSION_TAPE_SECRET_SEED=${SEED}`)
