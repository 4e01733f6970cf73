// Repairs sessions, and checks what holds for every repair.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { repairSession, replaySession } from '../../index.js'
import type { RepairOptions, RepairReceipt } from '../../index.js'
import { directoryOf } from './file-directory'
import { type Event, envelope } from './session-file'

/** The name of the damaged file. */
export const NAME = 'session-2026-02-11T16-00-abcdefgh.jsonl'
export const linesOf = (...events: Event[]): string[] => events.map((event, at) => envelope(at + 1, event))
export const text = (lines: readonly string[]): string => lines.map((line) => `${line}\n`).join('')

export interface Repaired {
  directory: string
  destination: string
  receipt: RepairReceipt
  /** The lines of the result, without the note about the repair. */
  lines: string[]
}

/** Repairs, and expects of the result what holds for every one. */
export async function repaired(bytes: string | Uint8Array, options: RepairOptions = {}): Promise<Repaired> {
  const directory = directoryOf({ [NAME]: bytes })
  const destination = join(directory, `session-2026-02-11T16-01-abcdefgh.jsonl`)
  const receipt = await repairSession(join(directory, NAME), destination, options)
  expect(
    await repairSession(destination, join(directory, 'again'), { projectHash: options.projectHash }),
  ).toMatchObject({ changed: false, recovered: 0, lostBytes: 0, fragments: [], versioned: 0, others: [] })
  expect(readFileSync(join(directory, 'again'))).toEqual(readFileSync(destination))
  expect(await replaySession(destination, undefined, { strict: true })).toMatchObject({
    ok: true,
    warnings: [],
    sequenceCorrupt: false,
  })
  const lines = readFileSync(destination, 'utf8').trimEnd().split('\n')
  if (receipt.changed)
    expect(JSON.parse(lines.pop()!)).toMatchObject({
      type: 'session_event',
      payload: { severity: 'info', message: expect.stringMatching(/^Repaired: /) },
    })
  return { directory, destination, receipt, lines }
}
