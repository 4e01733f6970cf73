/** Forks are independent: changes of the source and of other forks do not affect a fork, and a fork does not change its source. */
import { readFileSync, rmSync } from 'node:fs'
import { expect } from 'vitest'
import { forkSession } from '../../index.js'
import type { ForkResult, IContent } from '../../index.js'
import { replayBytes } from '../support/plain-engine.mjs'
import { fc, test } from '../support/property'
import {
  anyItem,
  checkpointEvent,
  compressedEvent,
  contentEvent,
  noteEvent,
  rewindEvent,
  runs,
  unknownEvent,
} from '../support/session-arbitraries'
import { content, envelope, item, PROJECT_HASH, start, type Event } from '../support/session-file'
import {
  beside,
  change,
  created,
  deleted,
  disposeForks,
  forked,
  renamed,
  sourceOf,
  strictReplay,
  type Source,
} from '../support/session-fork'

const strictItem = fc
  .tuple(anyItem, fc.constantFrom('human', 'ai', 'tool'))
  .map(([one, speaker]) => ({ ...one, speaker }) as IContent)
const event: fc.Arbitrary<Event> = fc.oneof(
  { weight: 6, arbitrary: strictItem.map((one): Event => ['content', { content: one }]) },
  { weight: 2, arbitrary: strictItem.map((one): Event => ['compressed', { summary: one, itemsCompressed: 1 }]) },
  { weight: 3, arbitrary: rewindEvent },
  { weight: 1, arbitrary: fc.oneof(contentEvent, compressedEvent, checkpointEvent, noteEvent, unknownEvent) },
)
const events = fc.array(event, { maxLength: 12 })
/** An event about the checkpoint after its creation, if any. */
const fate = fc.constantFrom<Event | undefined>(
  undefined,
  undefined,
  undefined,
  renamed('fork', 'née'),
  deleted('fork'),
  created('fork', 'again'),
)

const textOf = (all: readonly Event[], first = 1): string =>
  all.map((one, at) => `${envelope(first + at, one)}\n`).join('')

/** The history at a checkpoint by the engine of the tests. */
function historyAt(bytes: Buffer, throughSeq: number): unknown[] {
  const replayed = replayBytes(bytes, PROJECT_HASH, { strict: true, throughSeq })
  if (!replayed.ok) throw new Error(replayed.error)
  return replayed.history
}

async function expectUnchanged({ recording, history, metadata }: ForkResult, bytes: Buffer): Promise<void> {
  expect(readFileSync(recording.getFilePath()!)).toEqual(bytes)
  const replayed = await strictReplay(recording.getFilePath()!)
  expect([replayed.history, replayed.metadata, replayed.warnings]).toEqual([history, metadata, []])
}

test.prop([events, events, fate, fc.nat({ max: 3 })], runs(40))(
  'a fork has the history at its checkpoint, whatever happens to the source and to another fork',
  async (before, after, then, how) => {
    const all = [start(), ...before, created('fork', 'dér'), ...(then === undefined ? [] : [then]), ...after]
    const sequence = before.length + 2
    const source: Source = sourceOf(textOf(all))
    const expected = historyAt(source.bytes, sequence)
    const options = source.options()
    const isGone = all.some(
      ([type, payload]) =>
        type === 'checkpoint_deleted' && (payload as { checkpointId: string }).checkpointId === 'fork',
    )
    if (isGone || expected.length === 0) {
      expect(await forkSession(source.target('fork'), options)).toMatchObject({
        ok: false,
        code: isGone ? 'CheckpointGone' : 'NothingToFork',
      })
      expect(beside(source)).toEqual([])
      expect(readFileSync(source.filePath)).toEqual(source.bytes)
      return
    }
    const [one, other] = [await forked(source.target('fork'), options), await forked(source.target('fork'), options)]
    expect(readFileSync(source.filePath)).toEqual(source.bytes)
    expect(one.history).toEqual(expected)
    expect(JSON.stringify(one.history)).toBe(JSON.stringify(expected))
    const bytes = readFileSync(one.recording.getFilePath()!)
    if (how === 3) rmSync(source.filePath)
    else change(source.filePath, source.bytes, how)
    other.recording.recordRewind(1)
    other.recording.recordContent(item('human', 'only hére'))
    await other.recording.flush()
    await expectUnchanged(one, bytes)
    expect((await strictReplay(other.recording.getFilePath()!)).history).toEqual([
      ...expected.slice(0, -1),
      item('human', 'only hére'),
    ])
    await disposeForks()
  },
)

test.prop([fc.array(events, { minLength: 1, maxLength: 3 })], runs(12))(
  'a fork of a fork has what both have recorded up to their checkpoints',
  async (parts) => {
    const source = sourceOf(textOf([start(), content('first'), created('fork', 'dér')]))
    let target = source.target('fork')
    for (const part of parts) {
      const {
        recording,
        metadata: { sessionId },
      } = await forked(target, source.options())
      // A recorder refuses an empty type.
      for (const [type, payload] of part) recording.enqueue(type || 'other', payload)
      recording.recordContent(item('ai', 'last'))
      const { checkpointId, name, sequence } = await recording.createCheckpoint('dér')
      const filePath = recording.getFilePath()!
      recording.recordContent(item('human', 'not in the next one'))
      await recording.dispose()
      target = { checkpointId, checkpointName: name, source: { sessionId, filePath } }
      const next = await forked(target, source.options())
      expect(next.history).toEqual(historyAt(readFileSync(filePath), sequence))
      await disposeForks()
    }
  },
)
