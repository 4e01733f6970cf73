// searchSessions compared with a plain loop: every line parsed, every string looked at.

import { writeFileSync, utimesSync, mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect } from 'vitest'
import { archiveSession, searchSessions } from '../../index.js'
import type { SearchOptions, SessionHit } from '../../index.js'
import { anyFile } from '../support/line-arbitraries.js'
import { searchBytes } from '../support/plain-search.mjs'
import { fc, test } from '../support/property'
import { expectSame } from '../support/same-replay.js'
import { filledString, runs } from '../support/session-arbitraries.js'
import { searchOptions, searchedExpression, searchedFile, searchedQuery } from '../support/search-arbitraries.js'
import { sessionDirectory, writeSession } from '../support/session-file.js'

async function hitsOf(where: string | string[], query: string, options?: SearchOptions): Promise<SessionHit[]> {
  const hits: SessionHit[] = []
  for await (const hit of searchSessions(where, query, options)) hits.push(hit)
  return hits
}

const expectedOf = (
  filePath: string,
  bytes: Uint8Array,
  query: string,
  options?: SearchOptions & { expression?: string },
) =>
  searchBytes(bytes, query, options).map(({ sessionId, ...hit }) => ({ filePath, sessionId, archived: false, ...hit }))

async function expectEqual(
  bytes: Uint8Array,
  query: string,
  options: SearchOptions = {},
  expression?: string,
): Promise<void> {
  const path = writeSession(bytes)
  try {
    const found = await hitsOf(path, expression ?? query, { ...options, regex: expression !== undefined })
    expectSame(found, expectedOf(path, bytes, query, expression === undefined ? options : { ...options, expression }), {
      keyOrder: false,
    })
  } finally {
    rmSync(path)
  }
}

describe('the hits in a file are those of a plain loop', () => {
  test.prop([searchedFile, searchedQuery, searchOptions], runs(500))(
    'for a literal and any options',
    async (bytes, query, options) => {
      await expectEqual(bytes, query, options)
    },
  )

  test.prop([searchedFile, searchedQuery], runs(250))('for a literal without options', async (bytes, query) => {
    await expectEqual(bytes, query)
  })

  test.prop([searchedFile, searchedExpression, searchOptions], runs(250))(
    'for a regular expression',
    async (bytes, expression, options) => {
      await expectEqual(bytes, expression, options, expression)
    },
  )

  test.prop([anyFile, fc.oneof(filledString, searchedQuery), searchOptions], runs(250))(
    'whatever the file and the query',
    async (bytes, query, options) => {
      await expectEqual(bytes, query, options)
    },
  )
})

/** Archives a file that is a session. Returns the path of what there is then. */
async function archiveIfSession(session: string): Promise<string> {
  try {
    return (await archiveSession(session)).filePath
  } catch (error) {
    expect(error).toMatchObject({ code: 'NotASession' })
    return session
  }
}

test.prop(
  [
    fc.array(fc.tuple(searchedFile, fc.nat({ max: 3 }), fc.boolean()), { minLength: 1, maxLength: 6 }),
    searchedQuery,
    fc.integer({ min: 1, max: 8 }),
  ],
  runs(60),
)(
  'hits come file by file, archived or not, the newest first, and a limit keeps the first ones',
  async (files, query, limit) => {
    const directory = join(sessionDirectory(), 'many')
    mkdirSync(directory)
    try {
      const times = new Map<string, number>()
      const expected = new Map<string, object[]>()
      for (const [index, [bytes, time, isArchived]] of files.entries()) {
        const session = join(directory, `${index}.jsonl`)
        writeFileSync(session, bytes)
        utimesSync(session, time, time)
        const path = isArchived ? await archiveIfSession(session) : session
        times.set(path, time)
        expected.set(
          path,
          expectedOf(path, bytes, query).map((hit) => ({ ...hit, archived: path !== session })),
        )
      }
      const found = await hitsOf(directory, query)
      const order = [...new Set(found.map(({ filePath }) => filePath))]
      const modified = order.map((path) => times.get(path)!)
      expect(modified).toEqual(modified.toSorted((a, b) => b - a))
      expectSame(
        found,
        order.flatMap((path) => expected.get(path)!),
        { keyOrder: false },
      )
      expect(found).toHaveLength([...expected.values()].flat().length)
      expectSame(await hitsOf(directory, query, { limit }), found.slice(0, limit))
    } finally {
      rmSync(directory, { recursive: true })
    }
  },
)
