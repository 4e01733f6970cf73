// The types of a search.
import { assertType, expectTypeOf, test } from 'vitest'
import { searchSessions } from '../../index.js'
import type {
  SearchField,
  SearchOptions,
  SessionEventType,
  SessionHit,
  SessionSearch,
  SkippedSession,
} from '../../index.js'

test('a search yields hits and has a summary', async () => {
  const search = searchSessions(['a', 'b'], 'x', { fields: ['text'], since: new Date(), history: 'current' })
  expectTypeOf(search).toEqualTypeOf<SessionSearch>()
  expectTypeOf(search.summary.unreadable).toEqualTypeOf<SkippedSession[]>()
  for await (const hit of search) {
    expectTypeOf(hit).toEqualTypeOf<SessionHit>()
    expectTypeOf(hit.type).toEqualTypeOf<SessionEventType>()
    expectTypeOf(hit.ranges).toEqualTypeOf<[start: number, end: number][]>()
    expectTypeOf(hit.inHistory).toEqualTypeOf<boolean | null>()
  }
})

test('options are those that are documented', () => {
  assertType<SearchOptions>({
    regex: true,
    case: 'smart',
    speaker: 'tool',
    tool: 'Bash',
    projectHash: 'h',
    until: '2026-02-11',
    context: 5,
    limit: 1,
  })
  // @ts-expect-error
  assertType<SearchOptions>({ fields: ['media'] })
  expectTypeOf<SearchField>().toEqualTypeOf<
    'text' | 'code' | 'thinking' | 'tool_call' | 'tool_response' | 'session_event' | 'name'
  >()
})
