/** Memory at its peak, and files larger than any history. */
import { rmSync } from 'node:fs'
import { lastPage, peak, peakOver } from '../memory.mjs'
import { largeFile } from '../workloads.mjs'

export async function* memory({ scale, large }) {
  // The payload itself and its text are held either way.
  const other = ['JSON.stringify of the envelope alone', () => peak('stringify')]
  yield { what: 'an event with an image of 20 MiB', unit: 'MiB', ours: () => peak('image'), other }
  if (!large) return
  const target = '≤ 64 MiB'
  const [page, whole] = [1e9, 10e9].map((bytes) => largeFile(Math.round(bytes * scale)))
  try {
    yield { what: 'the last page of 1 GB', ours: () => lastPage(page) }
    yield { what: 'the last page of 1 GB, peak memory', unit: 'MiB', ours: () => peak('page', page), target }
    yield {
      what: 'replay of 10 GB, peak memory above the result',
      unit: 'MiB',
      ours: () => peakOver('replay', whole),
      rounds: 1,
      target,
    }
  } finally {
    for (const path of [page, whole]) rmSync(path)
  }
}
