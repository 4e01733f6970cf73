/**
 * Rule 6 for system calls that cannot be made to fail with a real disk here: the process of the recorder preloads a small library, in which the n-th
 * call of a kind fails or is done in part. `FAULT_ROUNDS` is the number of pairs of faults that are tried.
 */
import { readdirSync } from 'node:fs'
import { constants } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { freshDirectory, newRecorder, recorderConfig, replaySession } from '../support/recording'
import { canFail, faultsAt, runWithFaults, twoAtATime } from '../support/system-faults'

interface Report {
  acknowledged: string[]
  warnings: string[]
  flushed: string[]
  isActive: boolean
  unhandled: string[]
}

/** The texts in the session's file; `null` if no file replays. */
async function textsIn(chats: string): Promise<{ path: string; texts: string[]; lastSeq: number } | null> {
  let names: string[] = []
  try {
    names = readdirSync(chats).filter((name) => name.endsWith('.jsonl'))
  } catch {
    // The directory could not be created.
  }
  for (const name of names) {
    const path = join(chats, name)
    const result = await replaySession(path)
    if (!result.ok) continue
    expect(result.warnings).toEqual([])
    const texts = result.history.map((item) => (item.blocks[0] as unknown as { text: string }).text)
    return { path, texts, lastSeq: result.lastSeq }
  }
  return null
}

async function expectKept(faults: string): Promise<Report> {
  const directory = freshDirectory()
  const report = await runWithFaults<Report>('child-system-faults.mjs', directory, join(directory, 'chats'), faults)
  const found = await textsIn(join(directory, 'chats'))
  expect(found?.texts.slice(0, report.acknowledged.length) ?? [], faults).toEqual(report.acknowledged)
  expect(report.unhandled, faults).toEqual([])
  // A recorder that stops warns once.
  expect(report.warnings.length, faults).toBe(report.isActive ? 0 : 1)
  const next = newRecorder({
    ...recorderConfig(),
    chatsDir: join(directory, 'chats'),
    durability: 'fsync',
    exclusive: true,
  })
  if (found !== null) next.initializeForResume(found.path, found.lastSeq)
  next.recordContent({ speaker: 'human', blocks: [{ type: 'text', text: 'next' }] })
  await next.flush()
  expect(next.isActive(), faults).toBe(true)
  await next.dispose()
  const after = await textsIn(join(directory, 'chats'))
  expect(after?.texts.at(-1), faults).toBe('next')
  return report
}

const { EIO, EINTR } = constants.errno

describe.skipIf(!canFail)('a call that fails (needs Linux and a C compiler)', () => {
  const all = faultsAt([1, 2, 4])

  test('each call, each error, one at a time', () =>
    twoAtATime(process.env.FAULT_ROUNDS === undefined ? all.filter((_, at) => at % 7 === 1) : all, expectKept))

  test('pairs', async () => {
    for (let round = 0; round < Number(process.env.FAULT_ROUNDS ?? 1); round++) {
      const pair = [all[(round * 29 + 3) % all.length], all[(round * 47 + 20) % all.length]]
      await expectKept(pair.join(' '))
    }
  })

  test('a sync that fails ends the recording, with a warning', async () => {
    const report = await expectKept(`fdatasync:2:${EIO}`)
    expect(report).toMatchObject({
      isActive: false,
      warnings: ['EIO'],
      flushed: ['resolved', 'EIO', 'resolved', 'resolved'],
    })
    expect(report.acknowledged).toHaveLength(1)
  })

  test('an interrupted call and a short write are continued', async () => {
    const report = await expectKept(`write:2:${EINTR} write:3:0`)
    expect(report).toMatchObject({ isActive: true, warnings: [], flushed: Array.from({ length: 4 }, () => 'resolved') })
  })
})
