// replayRun of a run with a large graph: the state comes in pieces, each in a turn of the event loop, and is the same as from one text.

import { createRequire } from 'node:module'
import { isDeepStrictEqual } from 'node:util'
import { describe, expect, vi } from 'vitest'
import { fc, test } from '../support/property'
import { replayRun } from '../../index.js'
import type { Workflow } from '../../index.js'
import { failed, replayed, withRun } from '../support/run-directory.js'
import { PlainRun } from '../support/plain-run-engine.mjs'

const { native } = createRequire(import.meta.url)('../../dist/addon.js') as {
  native: { NativeJob: { prototype: { take(): string | null } } }
}

/** As in `src/pieces.rs`, with room for the path and one more element. */
const PIECE_BYTES = (64 << 10) + 4096

/** A started run, whose nodes depend on the one before. */
function runOf(ids: string[]): PlainRun {
  const nodes = ids.map((id, index) => ({
    id,
    kind: 'task' as const,
    tool: 'make',
    dependsOn: ids.slice(Math.max(0, index - 1), index),
  }))
  const run = new PlainRun({ runId: 'large', workflow: { name: 'large', version: '1', nodes } satisfies Workflow })
  run.append('RunStarted', { workers: [{ id: 'w1', capabilities: ['net'] }] })
  run.append('NodeScheduled', { task: `${ids[0]}#1`, dependsOn: [] })
  return run
}

const numbered = (count: number): string[] =>
  Array.from({ length: count }, (_, n) => `step-${String(n).padStart(5, '0')}`)

/** Keys are sorted in the text of a state, from which `JSON.parse` moves those that are indices to the front. */
const keysOfParsed = (ids: string[]): string[] => Object.keys(Object.fromEntries([...ids].sort().map((id) => [id, id])))

async function expectSameState(run: PlainRun): Promise<void> {
  await withRun(run, async (directory) => {
    const { state } = replayed(await replayRun(directory))
    // Not `toStrictEqual`: the difference between two large states takes minutes to print.
    expect(isDeepStrictEqual(state, run.states.at(-1))).toBe(true)
    const { nodeStates } = state.coordinator
    expect(isDeepStrictEqual(Object.keys(nodeStates), keysOfParsed(run.workflow.nodes.map(({ id }) => id)))).toBe(true)
    expect(Object.keys(state)).toEqual(['coordinator', 'stateHash', 'workers'])
  })
}

describe('a large state', () => {
  test('is taken in pieces of limited size', () =>
    withRun(runOf(numbered(5000)), async (directory) => {
      const take = vi.spyOn(native.NativeJob.prototype, 'take')
      try {
        replayed(await replayRun(directory))
        const lengths = take.mock.results.map(({ value }) => (value as string | null)?.length ?? 0)
        expect(lengths.reduce((sum, length) => sum + length)).toBeGreaterThan(10 * PIECE_BYTES)
        expect(Math.max(...lengths)).toBeLessThan(PIECE_BYTES)
      } finally {
        take.mockRestore()
      }
    }))

  test('has ids of nodes that objects inherit, that look like indices, and that are not ASCII', () =>
    expectSameState(
      runOf([...numbered(3000), '__proto__', 'constructor', 'toString', '10', '9', 'ü', '—', '🌊', '"quoted"\\n']),
    ))

  test('comes with the error of a run that is broken at its end', () => {
    const run = runOf(numbered(3000))
    return withRun(
      run,
      async (directory) => {
        const { error, state } = failed(await replayRun(directory))
        expect(error.code).toBe('MissingField')
        expect(isDeepStrictEqual(state, run.states.at(-1))).toBe(true)
      },
      `${run.log}{}\n`,
    )
  })

  test.prop(
    [
      fc.uniqueArray(fc.string({ minLength: 1, maxLength: 6, unit: 'grapheme-ascii' }), {
        minLength: 300,
        maxLength: 400,
      }),
    ],
    { numRuns: 10 },
  )('is the same for any ids of nodes', (suffixes) =>
    expectSameState(runOf(suffixes.map((suffix) => `${'n'.repeat(300)}${suffix}`))),
  )
})
