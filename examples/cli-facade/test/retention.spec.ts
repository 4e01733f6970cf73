import { readdir, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'

import { cleanupExpiredSessions, listSessions } from '../src/index.js'
import { PROJECT, newDirectory, openSession } from './chats.js'

const DAY = 86_400

test('old sessions are archived, and deleted only if the user asks for it', async () => {
  const chatsDir = await newDirectory()
  for (const id of ['one', 'two', 'open'])
    await (await openSession(chatsDir, id, 'hello', `from ${id}`))[id === 'open' ? 'flush' : 'dispose']()
  for (const [position, { filePath }] of (await listSessions(chatsDir, PROJECT)).sessions.entries()) {
    const time = Date.now() / 1000 - (10 + position * 50) * DAY
    await utimes(filePath, time, time)
  }
  const report = await cleanupExpiredSessions(chatsDir, {})
  expect([report!.archived.length, report!.deleted, report!.left]).toMatchObject([2, [], [{ reason: 'InUse' }]])
  expect((await listSessions(chatsDir, PROJECT)).sessions).toHaveLength(3)
  const deleted = (await cleanupExpiredSessions(chatsDir, { maxAge: '30d' }))!.deleted.length
  expect((await readdir(chatsDir)).filter((name) => /\.jsonl/.test(name))).toHaveLength(3 - deleted)
  expect(await cleanupExpiredSessions(join(chatsDir, 'none'), { enabled: false })).toBeNull()
})
