// A recorder without a lock commits in another process while its session is archived: what was acknowledged is in the session or in its archive.
// `ARCHIVE_TRIALS` sets the number of trials.

import '../support/on-disk.js'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import { expect } from 'vitest'
import { test } from '../support/property'
import { acquireSessionLock, archiveSession, cleanUpLocks, replaySession, restoreSession } from '../../index.js'
import { content } from '../support/session-file.js'
import { projectOf, sessionWith } from '../support/project-files.js'

const TRIALS = Number(process.env.ARCHIVE_TRIALS ?? 15)
const CHILD = fileURLToPath(new URL('../support/child-commits-steadily.mjs', import.meta.url))

/** Archives a session that is being recorded, after as many attempts as that takes. */
async function archived(filePath: string): Promise<number> {
  for (let attempt = 1; ; attempt++) {
    const changed = await archiveSession(filePath).then(
      () => false,
      (error) => error.code === 'Changed' || Promise.reject(error),
    )
    if (!changed) return attempt
  }
}

test('what a recorder without a lock has committed is not lost when its session is archived', async () => {
  const directory = projectOf({})
  const child = fork(CHILD, [directory])
  const lost: string[] = []
  for (let trial = 0; trial < TRIALS; trial++) {
    const [{ filePath }] = await once(child, 'message')
    await archived(filePath)
    child.send('next')
    const [{ acknowledged }] = await once(child, 'message')
    const replayed = await replaySession(filePath, 'h')
    const texts = replayed.ok ? replayed.history.map(({ blocks }) => (blocks[0] as { text: string }).text) : []
    lost.push(
      ...acknowledged.filter((text: string) => !texts.includes(text)).map((text: string) => `${trial}: ${text}`),
    )
    rmSync(`${filePath}.zst`, { force: true })
  }
  child.kill()
  expect(lost).toStrictEqual([])
}, 600_000)

/** A session that is as old as those that are archived, of 13 MB. */
function oldSession(directory: string): string {
  const filePath = join(directory, 'session-old.jsonl')
  writeFileSync(
    filePath,
    sessionWith('old', ...Array.from({ length: 13_000 }, (_, at) => content(`${at} ${'x'.repeat(1000)}`))),
  )
  utimesSync(filePath, 1, 1)
  return filePath
}

test('the temporary files of archiving and restoring are not swept, although what they stand for is old', async () => {
  const directory = projectOf({})
  const filePath = oldSession(directory)
  const { mtimeMs } = statSync(filePath)
  let isOver = false
  const sweeping = (async () => {
    let sweeps = 0
    for (; !isOver; sweeps++) await cleanUpLocks(directory)
    return sweeps
  })()
  for (let trial = 0; trial < 6; trial++) {
    for (const convert of [archiveSession, restoreSession]) {
      const converted = await convert(filePath)
      expect(statSync(converted.filePath).mtimeMs).toBe(mtimeMs)
    }
  }
  isOver = true
  expect(await sweeping).toBeGreaterThan(0)
})

test('a temporary file that is being written is not swept, whatever its time of modification', async () => {
  const directory = projectOf({})
  const child = fork(fileURLToPath(new URL('../support/child-archives.mjs', import.meta.url)), [oldSession(directory)])
  const temporary = () => readdirSync(directory).filter((name) => name.startsWith('.session-tape-'))
  while (temporary().length === 0) await wait(1)
  child.kill('SIGSTOP')
  const [name] = temporary()
  utimesSync(join(directory, name!), 1, 1)
  await cleanUpLocks(directory)
  expect(temporary()).toStrictEqual([name])
  child.kill('SIGKILL')
  await once(child, 'exit')
  await cleanUpLocks(directory)
  expect(temporary()).toStrictEqual([])
})

test('a worker that is terminated while it archives leaves the session to others', async () => {
  const directory = projectOf({})
  const filePath = oldSession(directory)
  const index = fileURLToPath(new URL('../../index.js', import.meta.url))
  const worker = new Worker(`require(${JSON.stringify(index)}).archiveSession(${JSON.stringify(filePath)})`, {
    eval: true,
  })
  while (!readdirSync(directory).some((name) => name.startsWith('.session-tape-'))) await wait(1)
  await worker.terminate()
  const lock = await acquireSessionLock(directory, 'old')
  await lock.release()
  expect((await archiveSession(filePath)).filePath).toBe(`${filePath}.zst`)
  expect(readdirSync(directory)).toStrictEqual(['session-old.jsonl.zst'])
})
