// listContinueTargets: the sessions and checkpoints that a user can continue, whatever else is in the directory.

import { chmodSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { afterEach, describe, expect, vi } from 'vitest'
import { fc, test } from '../support/property'
import { listContinueTargets, resolveContinueRef } from '../../index.js'
import type { ContinueTarget } from '../../index.js'
import { PROJECT_HASH, content, envelope, file, rewind, start, writeSession } from '../support/session-file.js'
import {
  afterListing,
  checkpoint,
  checkpointDeleted,
  checkpointRenamed,
  named,
  orderByAge,
  projectOf,
  sessionWith,
  summaryWith,
  titled,
} from '../support/project-files.js'
import { runs } from '../support/session-arbitraries.js'
import { directoryOf, root } from '../support/file-directory.js'
import { childReport, unprivileged } from '../support/processes'

type Targets = Awaited<ReturnType<typeof listContinueTargets>>

afterEach(() => {
  vi.restoreAllMocks()
})

const targetsIn = (directory: string) => listContinueTargets(directory, PROJECT_HASH)

/** The targets in short: ids of sessions, then ids and sources of checkpoints. */
const shown = ({ targets }: Targets) =>
  targets.map((target) =>
    target.kind === 'session' ? target.session.sessionId : `${target.checkpointId} of ${target.source.sessionId}`,
  )

const skippedIn = ({ skipped }: Targets): Record<string, string> =>
  Object.fromEntries(skipped.map(({ filePath, reason }) => [basename(filePath), reason]))

describe('the targets', () => {
  test('are the sessions, newest first, then their live checkpoints, session by session, ascending', async () => {
    const directory = projectOf({
      'session-new.jsonl': sessionWith(
        'new',
        content('é'),
        checkpoint('c1', 'première'),
        content('b'),
        checkpoint('c2', 'zweite'),
        checkpoint('c3', 'gone'),
        checkpointDeleted('c3'),
        rewind(9),
      ),
      'session-middle.jsonl': sessionWith('middle', titled(null), named(null)),
      'session-old.jsonl': sessionWith(
        'old',
        titled('Título'),
        named('naïve'),
        checkpoint('c4', 'before'),
        checkpointRenamed('c4', 'nachher'),
        ['session_start', {}],
      ),
    })
    const summary = (id: string, more: object = {}) => ({
      ...summaryWith(id),
      filePath: join(directory, `session-${id}.jsonl`),
      fileSize: expect.any(Number) as number,
      lastModified: expect.any(Date) as Date,
      ...more,
    })
    const [fresh, middle, old] = [
      summary('new'),
      summary('middle', { title: null, name: null }),
      summary('old', { title: 'Título', name: 'naïve' }),
    ]
    expect(await targetsIn(directory)).toStrictEqual({
      targets: [
        { kind: 'session', session: fresh },
        { kind: 'session', session: middle },
        { kind: 'session', session: old },
        { kind: 'checkpoint', source: fresh, checkpointId: 'c1', checkpointName: 'première', sequence: 3 },
        { kind: 'checkpoint', source: fresh, checkpointId: 'c2', checkpointName: 'zweite', sequence: 5 },
        { kind: 'checkpoint', source: old, checkpointId: 'c4', checkpointName: 'nachher', sequence: 4 },
      ],
      skipped: [],
      unreadable: [],
    })
  })

  test('are in files named session-*.jsonl', async () => {
    const names = [
      'a.jsonl',
      'Session-b.jsonl',
      'session.jsonl',
      'session_c.jsonl',
      'xsession-d.jsonl',
      'session-e.json',
      'session-f.jsonl.bak',
      'session-g.jsonl',
      'session-.jsonl',
    ]
    const directory = projectOf(Object.fromEntries(names.map((name) => [name, sessionWith(name)])))
    expect(await targetsIn(directory)).toMatchObject({
      targets: [{ session: { sessionId: 'session-g.jsonl' } }, { session: { sessionId: 'session-.jsonl' } }],
      skipped: [],
    })
  })

  test('are an empty list if no file is a session of the project', async () => {
    for (const directory of [
      directoryOf(),
      directoryOf({ 'session-other.jsonl': file(start({ projectHash: 'other' })) }),
      join(root(), 'none'),
      join(root(), 'none', 'deeper'),
    ]) {
      expect(await targetsIn(directory)).toStrictEqual({ targets: [], skipped: [], unreadable: [] })
    }
  })
})

describe('the skipped files', () => {
  test('do not contain files of another project, whatever else is wrong with them, but those without one', async () => {
    const without = ['', 7, null, undefined, [PROJECT_HASH], { projectHash: PROJECT_HASH }]
    const homeless = projectOf(
      Object.fromEntries(without.map((projectHash, i) => [`session-${i}.jsonl`, file(start({ projectHash }))])),
    )
    expect(Object.values(skippedIn(await targetsIn(homeless)))).toStrictEqual(
      without.map(() => 'Invalid session_start: missing or malformed required fields'),
    )
    const files = ['other', `${PROJECT_HASH} `].flatMap((projectHash, i) => [
      [`session-${i}.jsonl`, file(start({ projectHash }))],
      [
        `session-bad-${i}.jsonl`,
        `${file(start({ projectHash, sessionId: 7, provider: 0 }))}${envelope(1, content('x'))}\n`,
      ],
    ])
    expect(await targetsIn(projectOf(Object.fromEntries(files) as Record<string, string>))).toStrictEqual({
      targets: [],
      skipped: [],
      unreadable: [],
    })
  })

  test('contain a file that is removed after its header was read', async () => {
    const directory = projectOf({ 'session-a.jsonl': sessionWith('a'), 'session-b.jsonl': sessionWith('b') })
    const gone = join(directory, 'session-a.jsonl')
    afterListing(() => rmSync(gone))
    const found = await targetsIn(directory)
    expect(shown(found)).toStrictEqual(['b'])
    expect(found.skipped).toStrictEqual([
      {
        filePath: gone,
        sessionId: 'a',
        reason: `Failed to read file: ENOENT: no such file or directory, open '${gone}'`,
      },
    ])
  })

  test('contain a file that changes to another project after its header was read', async () => {
    const directory = projectOf({ 'session-a.jsonl': sessionWith('a') })
    afterListing(() => writeFileSync(join(directory, 'session-a.jsonl'), file(start({ projectHash: 'øther' }))))
    expect(skippedIn(await targetsIn(directory))).toStrictEqual({
      'session-a.jsonl': `Project hash mismatch: expected ${PROJECT_HASH} got øther`,
    })
  })
})

describe('a directory that cannot be read', () => {
  test("rejects with the system's error", async () => {
    const [inPlace, impossible] = [writeSession(''), 'a\0b']
    await expect(targetsIn(inPlace)).rejects.toMatchObject({ code: 'ENOTDIR', syscall: 'scandir', path: inPlace })
    await expect(targetsIn(join(inPlace, 'below'))).rejects.toMatchObject({ code: 'ENOTDIR' })
    await expect(targetsIn(impossible)).rejects.toMatchObject({ code: 'ERR_INVALID_ARG_VALUE' })
  })

  test.skipIf(unprivileged === null)(
    'rejects if permission is missing, too; a file without read permission is skipped',
    async () => {
      const directory = directoryOf({
        'session-good.jsonl': sessionWith('good'),
        'session-secret.jsonl': sessionWith('secret'),
      })
      chmodSync(join(directory, 'session-secret.jsonl'), 0)
      const found = await childReport<Targets>(
        'child-listing.mjs',
        ['targets', directory, PROJECT_HASH],
        unprivileged ?? {},
      )
      expect(shown(found)).toStrictEqual(['good'])
      expect(skippedIn(found)).toStrictEqual({ 'session-secret.jsonl': expect.stringMatching(/^EACCES: /) as string })
      chmodSync(directory, 0)
      expect(
        await childReport('child-listing.mjs', ['targets', directory, PROJECT_HASH], unprivileged ?? {}),
      ).toMatchObject({ rejected: 'EACCES' })
    },
  )
})

/** A project: its sessions with their checkpoints. All ids differ, and no name is an id. */
interface Plan {
  id: string
  age: number
  name: string | null | undefined
  checkpoints: { id: string; name: string; isDeleted: boolean }[]
}
const anyId = fc.oneof(
  fc.uuid(),
  fc.constantFrom(
    'latest',
    '7',
    '1',
    '2',
    '007',
    'a',
    'ab',
    'abc',
    '__CONTINUE_LATEST__',
    '__proto__',
    'ü',
    ' ',
    "it's",
    '\u{1f39e}',
  ),
  fc.stringMatching(/^[a-z0-9_-]{1,12}$/),
)
const anyPlan: fc.Arbitrary<Plan[]> = fc
  .tuple(
    fc.uniqueArray(anyId, { minLength: 1, maxLength: 24 }),
    fc.infiniteStream(
      fc.record({
        isSession: fc.boolean(),
        age: fc.nat({ max: 2 }),
        isDeleted: fc.boolean(),
        name: fc.constantFrom(undefined, null, 'Näme'),
      }),
    ),
  )
  .map(([ids, stream]) => {
    const plans: Plan[] = []
    for (const [i, id] of ids.entries()) {
      const { isSession, age, isDeleted, name } = stream.next().value
      if (i === 0 || isSession) plans.push({ id, age, name: name && `${name} of ${i}`, checkpoints: [] })
      else plans.at(-1)!.checkpoints.push({ id, name: `checkpoint ${i}`, isDeleted })
    }
    return plans
  })

/** Writes the sessions in the given order of their indexes in `plans`, with the ages of the plans. */
function writePlans(plans: readonly Plan[], order: readonly number[]): string {
  const directory = directoryOf()
  for (const at of order) {
    const { id, age, name, checkpoints } = plans[at]!
    const events = checkpoints.flatMap((one) => [
      checkpoint(one.id, one.name),
      ...(one.isDeleted ? [checkpointDeleted(one.id)] : []),
    ])
    // Files that are created under other names and renamed appear in another order in the directory.
    writeFileSync(
      join(directory, `${at}`),
      sessionWith(id, content('é'), ...(name === undefined ? [] : [named(name)]), ...events),
    )
    renameSync(join(directory, `${at}`), join(directory, `session-${at}.jsonl`))
    orderByAge(directory, [...Array<string>(age).fill(`session-${at}.jsonl`), `session-${at}.jsonl`])
  }
  return directory
}

const plansAndOrder = anyPlan.chain((plans) =>
  fc.tuple(fc.constant(plans), fc.shuffledSubarray([...plans.keys()], { minLength: plans.length })),
)

test.prop([plansAndOrder], runs(60))(
  'any directory: a reference by any id, by name and by position finds what it denotes',
  async ([plans, order]) => {
    const directory = writePlans(plans, order)
    const { targets } = await targetsIn(directory)
    const idOf = (target: ContinueTarget) =>
      target.kind === 'session' ? target.session.sessionId : target.checkpointId
    const found = (ref: string) => {
      const result = resolveContinueRef(ref, targets)
      return 'target' in result ? idOf(result.target) : result
    }
    for (const { id, name, checkpoints } of plans) {
      expect(found(id)).toBe(id)
      if (typeof name === 'string') expect(found(name)).toBe(id)
      for (const { id: checkpointId, name: checkpointName, isDeleted } of checkpoints) {
        if (isDeleted) expect(found(checkpointId)).not.toBe(checkpointId)
        else expect([found(checkpointId), found(checkpointName)]).toStrictEqual([checkpointId, checkpointId])
      }
    }
    const ids = targets.map(idOf)
    plans.forEach((_, i) => {
      if (!ids.includes(String(i + 1))) expect(found(String(i + 1))).toBe(ids[i])
    })
    if (!ids.includes('latest')) expect(found('latest')).toBe(ids[0])
    rmSync(directory, { recursive: true })
  },
)
