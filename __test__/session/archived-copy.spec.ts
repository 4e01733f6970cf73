// The sessions of the other suites, archived: every reader says the same of them.

import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe } from 'vitest'
import { expectSameArchived } from '../support/archived-copy'
import { editedSession } from '../support/edited-session'
import { anyFile } from '../support/line-arbitraries'
import { fc, test } from '../support/property'
import { anyEvents, editEvent, contentEvent } from '../support/session-arbitraries'
import { content, file, start } from '../support/session-file'
import { checkpoint, checkpointDeleted, named, sessionWith, titled } from '../support/project-files'

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url))
const RECORDED = at('../fixtures/session/v1')

describe('an archived copy reads as the session:', () => {
  test.each(readdirSync(RECORDED))('recorded, %s', (name) =>
    expectSameArchived(readFileSync(join(RECORDED, name, 'session.jsonl')), 'the'),
  )

  test('edited', () => expectSameArchived(editedSession(), 'word'))

  test('with names and checkpoints', () =>
    expectSameArchived(
      sessionWith(
        'abc',
        content('x'),
        titled('A title'),
        checkpoint('c', 'one'),
        content('y'),
        checkpoint('d', 'two'),
        checkpointDeleted('c'),
        named('name'),
      ),
      'one',
    ))

  test('of several frames', async () => {
    const events = Array.from({ length: 245 }, (_, n) =>
      content(`${n} ${'some words '.repeat(1600)}${n === 244 ? 'zymurgy' : ''}`),
    )
    await expectSameArchived(file(start({ sessionId: 'abc' }), ...events), 'zymurgy')
  })
})

// Regression: the payload of a start is no object, so the file has no header.
const HEADLESS = Buffer.from('{"type":"session_start","payload":true,"seq":0}')

test.prop([anyFile], { numRuns: 25, examples: [[HEADLESS]] })(
  'an archived copy of any lines reads as the file',
  (bytes) => expectSameArchived(bytes),
)

test.prop([anyEvents, fc.array(fc.oneof(editEvent, contentEvent), { maxLength: 12 })], { numRuns: 25 })(
  'an archived copy of any events reads as the session',
  (events, edits) => expectSameArchived(file(start({ sessionId: 'abc' }), ...events, ...edits)),
)
