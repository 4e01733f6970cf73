/**
 * A file that is no longer the one that was recorded to, or has lost a part of it: recording stops with `FileReplaced`, and nothing is appended behind
 * another beginning. A copy of the same content is the same file.
 */
import { appendFileSync, copyFileSync, readFileSync, renameSync, truncateSync, writeFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { logOf } from '../support/run-directory'
import { noted, payloadsOf, startedRecorder as startedRun } from '../support/run-recording'
import {
  type Recorder,
  type Warning,
  eventually,
  newRecorder,
  recordedSession,
  recordsOf,
  replaySession,
  said,
  startedRecorder,
  theWarning,
  watchedRecorder,
} from '../support/recording'

/** Puts a copy of the file in its place, as editors and `sed -i` do. */
function copyInPlace(path: string): void {
  copyFileSync(path, `${path}.copy`)
  renameSync(`${path}.copy`, path)
}

/** Each way to lose what was written, given the file as it was a record earlier. */
const losses: [what: string, lose: (path: string, earlier: Buffer) => void][] = [
  ['truncated by one byte', (path) => truncateSync(path, readFileSync(path).length - 1)],
  ['truncated to nothing', (path) => truncateSync(path, 0)],
  ['cut back to its first line', (path) => writeFileSync(path, readFileSync(path, 'utf8').split('\n')[0] + '\n')],
  [
    'rotated: moved away, and an empty file created',
    (path) => (renameSync(path, `${path}.1`), writeFileSync(path, '')),
  ],
  ['rotated: copied, and truncated', (path) => (copyFileSync(path, `${path}.1`), truncateSync(path, 0))],
  ['restored from an older copy in place', (path, earlier) => writeFileSync(path, earlier)],
  [
    'restored from an older copy by a rename',
    (path, earlier) => (writeFileSync(`${path}.old`, earlier), renameSync(`${path}.old`, path)),
  ],
]

/** Each way to change a file that keeps what was written. */
const harmless: [what: string, change: (path: string) => void][] = [
  ['replaced by an identical copy', copyInPlace],
  [
    'replaced by a longer copy',
    (path) => (copyInPlace(path), appendFileSync(path, '{"v":1,"seq":9,"ts":"","type":"note","payload":0}\n')),
  ],
  [
    'appended to by another program',
    (path) => appendFileSync(path, '{"v":1,"seq":9,"ts":"","type":"note","payload":0}\n'),
  ],
]

/** A session of another recorder, longer than any that these tests record. */
async function anotherSession(): Promise<string> {
  const other = newRecorder({ sessionId: '11111111-d9cb-469f-a165-70867728950e' })
  for (let i = 0; i < 20; i++) other.recordContent(said(`of the other session ${i}`))
  await other.dispose()
  return other.getFilePath()!
}

async function expectReplaced(recorder: Recorder, warnings: Warning[], path: string): Promise<void> {
  const before = readFileSync(path)
  recorder.recordContent(said('lost'))
  await expect(recorder.flush()).rejects.toMatchObject({ code: 'FileReplaced', path })
  expect(await theWarning(warnings)).toEqual({
    code: 'FileReplaced',
    message: expect.stringContaining(path),
    filePath: path,
    eventsDropped: 1,
  })
  expect(recorder.isActive()).toBe(false)
  expect(readFileSync(path)).toEqual(before)
  await recorder.dispose()
}

describe('a session file', () => {
  for (const resumed of [false, true]) {
    const start = async (): Promise<{ recorder: Recorder; warnings: Warning[]; path: string; earlier: Buffer }> => {
      const { recorder, warnings, path } = resumed
        ? { ...watchedRecorder(), path: await recordedSession() }
        : await startedRecorder()
      if (resumed) recorder.initializeForResume(path, 2)
      const earlier = readFileSync(path)
      recorder.recordContent(said('second'))
      await recorder.flush()
      return { recorder, warnings, path, earlier }
    }
    const whose = resumed ? 'that was resumed' : 'of this recorder'

    test.each(losses)(`${whose}, %s, is not appended to`, async (_, lose) => {
      const { recorder, warnings, path, earlier } = await start()
      lose(path, earlier)
      await expectReplaced(recorder, warnings, path)
    })

    test(`${whose} is not another session that was put in its place`, async () => {
      const { recorder, warnings, path } = await start()
      copyFileSync(await anotherSession(), path)
      await expectReplaced(recorder, warnings, path)
    })

    test.each(harmless)(`${whose}, %s, is recorded to as before`, async (_, change) => {
      const { recorder, warnings, path } = await start()
      for (let round = 0; round < 3; round++) {
        change(path)
        recorder.recordContent(said(`round ${round}`))
        await recorder.flush()
      }
      const texts = recordsOf(path)
        .filter(({ type }) => type === 'content')
        .map(({ payload }) => payload.content.blocks[0].text)
      expect(texts.slice(-3)).toEqual(['round 0', 'round 1', 'round 2'])
      expect([recorder.isActive(), warnings]).toEqual([true, []])
      await recorder.dispose()
    })
  }

  test('that is another session gets no checkpoint of this one', async () => {
    const { recorder, path } = await startedRecorder()
    const other = await anotherSession()
    copyFileSync(other, path)
    await expect(recorder.createCheckpoint('mine')).rejects.toThrow(
      'Cannot create checkpoint: recording failed during flush',
    )
    expect(readFileSync(path)).toEqual(readFileSync(other))
    expect(await replaySession(path)).toMatchObject({ ok: true, checkpoints: [] })
  })
})

describe('the log of a run', () => {
  test.each(losses)('%s, is not appended to', async (_, lose) => {
    const { recorder, warnings, directory } = startedRun()
    const path = logOf(directory)
    await recorder.flush()
    const earlier = readFileSync(path)
    recorder.append(noted('second'))
    await recorder.flush()
    lose(path, earlier)
    const before = readFileSync(path)
    recorder.append(noted('lost'))
    await expect(recorder.flush()).rejects.toMatchObject({ code: 'FileReplaced', path })
    await eventually('the warning', () => warnings.length > 0)
    expect(warnings).toEqual([
      { code: 'FileReplaced', message: expect.stringContaining(path), filePath: path, eventsDropped: 1 },
    ])
    expect(recorder.isActive()).toBe(false)
    expect(readFileSync(path)).toEqual(before)
    await recorder.dispose()
  })

  test('that is replaced by an identical copy is recorded to as before', async () => {
    const { recorder, warnings, directory } = startedRun()
    await recorder.flush()
    copyInPlace(logOf(directory))
    recorder.append(noted('after the copy'))
    await recorder.dispose()
    expect(payloadsOf(directory).at(-1)).toMatchObject({ message: 'after the copy' })
    expect(warnings).toEqual([])
  })
})
