/** One file of another or a broken program never stops who continues the last session: it is listed with its reason, and passed over. */
import { readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { describe, expect } from 'vitest'
import { CONTINUE_LATEST, describeSessions, listContinueTargets, listSessions, resumeSession } from '../../index.js'
import { projectOf, sessionWith } from '../support/project-files.js'
import { test } from '../support/property'
import { content, envelope, PROJECT_HASH, START_PAYLOAD, textsOf } from '../support/session-file'

const line = (payload: unknown, more: object = {}) =>
  `${JSON.stringify({ v: 1, seq: 1, ts: '2026-02-11T16:00:00.000Z', type: 'session_start', payload, ...more })}\n${envelope(2, content('lost'))}\n`
const without = (name: keyof typeof START_PAYLOAD) => ({ ...START_PAYLOAD, [name]: undefined })

/** Files whose `session_start` is malformed, each the newest of its directory. */
const MALFORMED: Record<string, string | Uint8Array> = {
  'no payload': line(undefined),
  'a payload that is null': line(null),
  'a payload that is an array': line([START_PAYLOAD]),
  'a payload that is a string': line('session'),
  'an empty payload': line({}),
  'no sessionId': line(without('sessionId')),
  'no projectHash': line(without('projectHash')),
  'a sessionId that is a number': line({ ...START_PAYLOAD, sessionId: 7 }),
  'a sessionId that is empty': line({ ...START_PAYLOAD, sessionId: '' }),
  'no provider': line(without('provider')),
  'a model that is null': line({ ...START_PAYLOAD, model: null }),
  'no startTime': line(without('startTime')),
  'workspaceDirs that is a string': line({ ...START_PAYLOAD, startTime: 5, workspaceDirs: '/w' }),
  'a number that is no seq': line({ ...START_PAYLOAD, sessionId: 'numbered' }, { seq: 'one' }),
  'a version of the future': line({ ...START_PAYLOAD, sessionId: 'future' }, { v: 3 }),
  'a first line that is torn': line(START_PAYLOAD).slice(0, 60),
  'a first line of another type': `${envelope(1, content('no start'))}\n`,
  'an empty file': '',
  'a file of zeros': new Uint8Array(500),
}

const request = (chatsDir: string) => ({
  continueRef: CONTINUE_LATEST,
  projectHash: PROJECT_HASH,
  chatsDir,
  currentProvider: START_PAYLOAD.provider,
  currentModel: START_PAYLOAD.model,
  workspaceDirs: [],
})

describe('a malformed session_start', () => {
  test.each(Object.keys(MALFORMED))('does not stop the continuation of the last session: %s', async (name) => {
    const directory = projectOf({
      'session-newest.jsonl': MALFORMED[name]!,
      'session-good.jsonl': sessionWith('good', content('kept')),
    })
    const result = await resumeSession(request(directory))
    if (!result.ok) throw new Error(result.error)
    expect([result.metadata.sessionId, textsOf(result.history)]).toEqual(['good', ['kept']])
    await result.recording.dispose()
    expect(
      (await listContinueTargets(directory, PROJECT_HASH)).targets.map(
        (target) => target.kind === 'session' && target.session.sessionId,
      ),
    ).toEqual(['good'])
    expect(readFileSync(join(directory, 'session-newest.jsonl'))).toEqual(Buffer.from(MALFORMED[name]!))
  })

  test.each(Object.keys(MALFORMED))('is listed with its reason, beside the sessions: %s', async (name) => {
    const directory = projectOf({
      'session-newest.jsonl': MALFORMED[name]!,
      'session-good.jsonl': sessionWith('good', content('kept')),
    })
    for (const list of [listSessions, describeSessions]) {
      const { sessions, unreadable } = await list(directory)
      const reasons = unreadable.map(({ filePath, reason }) => [basename(filePath), reason])
      const ids = sessions.map(({ sessionId }) => sessionId)
      expect(ids).toContain('good')
      if (ids.length === 1) expect(reasons).toEqual([['session-newest.jsonl', expect.stringMatching(/\w/)]])
    }
    expect((await describeSessions(directory)).unreadable).toHaveLength(1)
  })

  test('does not stop it if it only has an id that no lock can have', async () => {
    const directory = projectOf({
      'session-newest.jsonl': line({ ...START_PAYLOAD, sessionId: '../../x' }),
      'session-good.jsonl': sessionWith('good', content('kept')),
    })
    const result = await resumeSession(request(directory))
    expect(result.ok && result.metadata.sessionId).toBe('good')
    if (result.ok) await result.recording.dispose()
  })

  test('does not stop it in a directory in which all others are malformed too', async () => {
    const others = Object.values(MALFORMED).map((text, index): [string, string | Uint8Array] => [
      `session-${index}.jsonl`,
      text,
    ])
    const directory = projectOf(
      Object.fromEntries([...others, ['session-good.jsonl', sessionWith('good', content('kept'))]]),
    )
    const result = await resumeSession(request(directory))
    expect(result.ok && result.metadata.sessionId).toBe('good')
    if (result.ok) await result.recording.dispose()
  })
})
