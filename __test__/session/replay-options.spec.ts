// signal and onProgress of a replay.

import { getEventListeners } from 'node:events'
import { statSync } from 'node:fs'
import { beforeAll, describe, expect } from 'vitest'
import { fc, test } from '../support/property'
import { replaySession } from '../../index.js'
import type { Progress } from '../../index.js'
import { content, envelope, replayOf, session, writeSession } from '../support/session-file.js'
import { runs } from '../support/session-arbitraries.js'

describe('signal', () => {
  const rejection = (promise: Promise<unknown>): Promise<unknown> =>
    promise.then(
      () => expect.fail('expected the promise to reject, it resolved'),
      (reason: unknown) => reason,
    )
  const listenersOf = (signal: AbortSignal) => getEventListeners(signal, 'abort').length
  let big: string

  beforeAll(() => {
    const line = envelope(2, content('x'.repeat(2_000)))
    big = writeSession(session(...Array.from({ length: 16_000 }, () => line)))
  })

  test('already aborted: rejects with its reason, an AbortError when none was given, also for a file that does not exist', async () => {
    const signal = AbortSignal.abort()
    for (const path of [writeSession(session()), 'no-such-session.jsonl'])
      expect(await rejection(replaySession(path, undefined, { signal }))).toBe(signal.reason)
    expect(signal.reason).toMatchObject({ name: 'AbortError' })
    expect(listenersOf(signal)).toBe(0)
  })

  test('aborted in the middle: rejects, and there is no more progress', async () => {
    const controller = new AbortController()
    const seen: Progress[] = []
    const onProgress = (progress: Progress) => {
      seen.push(progress)
      controller.abort('in the middle')
    }
    expect(await rejection(replaySession(big, undefined, { signal: controller.signal, onProgress }))).toBe(
      'in the middle',
    )
    expect(seen).toHaveLength(1)
    expect(listenersOf(controller.signal)).toBe(0)
  })

  test('aborted after the replay: nothing happens, and no listener is left', async () => {
    const controller = new AbortController()
    const { signal } = controller
    for (const [path, ok] of [
      [writeSession(session()), true],
      [writeSession(''), false],
      ['none.jsonl', false],
    ] as const) {
      expect((await replaySession(path, undefined, { signal })).ok).toBe(ok)
      expect(listenersOf(signal)).toBe(0)
    }
    controller.abort()
  })

  test("the caller's own onabort and listeners stay and are called", async () => {
    const controller = new AbortController()
    const called: string[] = []
    controller.signal.onabort = () => called.push('onabort')
    controller.signal.addEventListener('abort', () => called.push('listener'))
    const promise = replaySession(big, undefined, { signal: controller.signal })
    controller.abort('why')
    expect(await rejection(promise)).toBe('why')
    expect(called).toStrictEqual(['onabort', 'listener'])
  })

  test('one signal ends several replays, and spares the one without it', async () => {
    const controller = new AbortController()
    const { signal } = controller
    const promises = [replaySession(big, undefined, { signal }), replaySession(big, undefined, { signal })].map(
      rejection,
    )
    const spared = replaySession(big)
    controller.abort('all of you')
    expect(await Promise.all(promises)).toStrictEqual(['all of you', 'all of you'])
    expect((await spared).ok).toBe(true)
  })

  test.prop([fc.anything({ withBigInt: true, withDate: true }), fc.boolean()], runs(40))(
    'the reason is the very same value',
    async (reason, early) => {
      const controller = new AbortController()
      if (early) controller.abort(reason)
      const promise = replayOf(session(), undefined, { signal: controller.signal })
      controller.abort(reason)
      expect(Object.is(await rejection(promise), controller.signal.reason)).toBe(true)
      expect(listenersOf(controller.signal)).toBe(0)
    },
  )
})

describe('onProgress', () => {
  test('increases up to the size of the file, which it reports once at the end', async () => {
    const filePath = writeSession(session(...Array.from({ length: 12_000 }, () => content('y'.repeat(2_000)))))
    const total = statSync(filePath).size
    const seen: Progress[] = []
    await replaySession(filePath, undefined, { onProgress: (progress) => seen.push(progress) })
    const bytes = seen.map((progress) => progress.bytes)
    expect(seen.every((progress) => progress.total === total)).toBe(true)
    expect(bytes).toStrictEqual([...new Set(bytes)].sort((a, b) => a - b))
    expect(bytes.at(-1)).toBe(total)
  })

  test('reports a small file in one step, before the promise resolves', async () => {
    const text = session(content('a'))
    const seen: Progress[] = []
    await replayOf(text, undefined, { onProgress: (progress) => seen.push(progress) })
    expect(seen).toStrictEqual([{ bytes: Buffer.byteLength(text), total: Buffer.byteLength(text) }])
  })
})
