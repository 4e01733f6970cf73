// The guarantees of the types, checked by the compiler: nothing here runs. `npm run typecheck` and vitest both check it.
import { describe, expectTypeOf, test } from 'vitest'
import type * as esm from '../../index.mjs'
import * as tape from '../../index.js'
import type {
  Checkpoint,
  CheckpointLockError,
  ContinueTarget,
  IContent,
  ReferenceFailure,
  ReplayOptions,
  ReplayResult,
  ResumeRequest,
  SessionEventPayload,
  SessionFailure,
  SessionForkedPayload,
  SessionHandle,
  SessionLine,
  SessionLock,
  SessionMetadata,
  SessionOverview,
  SessionPlace,
  SessionRecordingServiceConfig,
  SessionStartPayload,
  SessionSummary,
  SkippedSession,
} from '../../index.js'

/** A content item as a CLI may have it: other speakers, other blocks, more fields. */
interface AcmeContent {
  speaker: 'user' | 'assistant'
  parts: { kind: 'text' | 'audio'; body: string }[]
  tokens: number
}
declare const acme: AcmeContent
declare const item: IContent
declare const config: SessionRecordingServiceConfig
declare const signal: AbortSignal
const recorder = new tape.SessionRecordingService(config)
const acmeRecorder = new tape.SessionRecordingService<AcmeContent>(config)
type Signal = { signal?: AbortSignal | undefined }
type Kinds = readonly ('main' | 'subagent')[] | undefined

test('import and require offer the same names', () => {
  expectTypeOf<typeof esm>().toEqualTypeOf<typeof import('../../index.js')>()
})

test('constants and errors are literal', () => {
  expectTypeOf<
    [
      typeof tape.SESSION_FILE_ID_PREFIX_LENGTH,
      typeof tape.CONTINUE_LATEST,
      CheckpointLockError['name'],
      tape.SessionLockedError['code'],
    ]
  >().toEqualTypeOf<[12, '__CONTINUE_LATEST__', 'CheckpointLockError', 'ESESSIONLOCKED']>()
  expectTypeOf<CheckpointLockError | tape.SessionLockedError>().toExtend<Error>()
  expectTypeOf<tape.RecordingError>().toExtend<NodeJS.ErrnoException>()
  // A switch can name its codes, and there may be others.
  expectTypeOf<'ENOSPC'>().toExtend<tape.RecordingWarning['code']>()
  expectTypeOf<string>().toExtend<tape.RecordingWarning['code']>()
  expectTypeOf<tape.SessionFailureCode>().toEqualTypeOf<
    | 'NoSessions'
    | 'NotFound'
    | 'IndexOutOfRange'
    | 'Ambiguous'
    | 'Locked'
    | 'AllLocked'
    | 'LockFailed'
    | 'ReplayFailed'
    | 'SequenceCorrupt'
    | 'CheckpointsBlock'
    | 'CheckpointGone'
    | 'NothingToFork'
    | 'System'
  >()
  expectTypeOf<SessionFailure>().toExtend<ReferenceFailure & { ok: false; error: string }>()
})

test('functions have these types', () => {
  expectTypeOf<
    Pick<
      typeof tape,
      | 'readSessionPreview'
      | 'readSessionTitle'
      | 'describeSessions'
      | 'listContinueTargets'
      | 'deleteSession'
      | 'removeSessionFiles'
      | 'listCheckpoints'
      | 'sessionLockPath'
      | 'sessionLockPathOf'
      | 'acquireSessionLock'
      | 'isLockStale'
    >
  >().toEqualTypeOf<{
    readSessionPreview: (
      filePath: string,
      options?: { length?: number | undefined; signal?: AbortSignal | undefined },
    ) => Promise<{ hasContent: boolean; firstUserMessage: string | null }>
    readSessionTitle: (filePath: string, options?: Signal) => Promise<string | null | undefined>
    describeSessions: (
      chatsDir: string,
      options?: tape.DescribeOptions,
    ) => Promise<{ sessions: SessionOverview[]; unreadable: SkippedSession[] }>
    listContinueTargets: (
      chatsDir: string,
      projectHash: string,
      options?: tape.ScanOptions,
    ) => Promise<{ targets: ContinueTarget[]; skipped: SkippedSession[]; unreadable: SkippedSession[] }>
    deleteSession: (
      ref: string,
      chatsDir: string,
      projectHash: string,
      options?: tape.DeleteOptions,
    ) => Promise<{ ok: true; deletedSessionId: string; warnings?: string[] } | SessionFailure>
    removeSessionFiles: (filePath: string) => Promise<void>
    listCheckpoints: (filePath: string, projectHash: string) => Promise<Checkpoint[]>
    sessionLockPath: (chatsDir: string, sessionId: string) => string
    sessionLockPathOf: (filePath: string) => string
    acquireSessionLock: (chatsDir: string, sessionId: string) => Promise<SessionLock>
    isLockStale: (lockPath: string, options?: { pidReuse?: boolean | undefined }) => Promise<boolean>
  }>()
  expectTypeOf(tape.readSessionHeaders(['a.jsonl'])).resolves.toEqualTypeOf<(SessionStartPayload | null)[]>()
  expectTypeOf(tape.readSessionHeaders('chats')).resolves.toEqualTypeOf<
    { filePath: string; header: SessionStartPayload | null }[]
  >()
})

test('options and data have these members', () => {
  expectTypeOf<
    [tape.DeleteOptions, tape.ScanOptions, SessionLock, SkippedSession, tape.ContentBatch, keyof tape.RecorderOptions]
  >().toEqualTypeOf<
    [
      { exact?: boolean | undefined; kinds?: Kinds },
      { kinds?: Kinds; signal?: AbortSignal | undefined; onProgress?: ((progress: tape.Progress) => void) | undefined },
      { readonly lockPath: string; ownsLock(): Promise<boolean>; release(): Promise<void> },
      { filePath: string; sessionId?: string; reason: string },
      { publish(): void; rollback(): void; finalize(): void },
      (
        | 'cwd'
        | 'fileName'
        | 'onWarning'
        | 'durability'
        | 'exclusive'
        | 'mode'
        | 'onCommitWatermark'
        | 'maxQueueBytes'
        | 'onQueueLimit'
        | 'appendFile'
      ),
    ]
  >()
  expectTypeOf<SessionOverview>().toExtend<
    SessionSummary & { metadata: SessionMetadata; checkpoints: Checkpoint[]; ancestry?: SessionForkedPayload }
  >()
  expectTypeOf<SessionOverview>().not.toHaveProperty('history')
  const checkpoint = {} as Checkpoint
  // @ts-expect-error a checkpoint is read only
  checkpoint.name = 'other'
})

describe('results', () => {
  test('of a replay agree with the specification, and narrow on ok', () => {
    type Specified =
      | {
          ok: true
          history: IContent[]
          metadata: SessionMetadata
          lastSeq: number
          eventCount: number
          warnings: string[]
          sessionEvents: SessionEventPayload[]
          sequenceCorrupt: boolean
          checkpoints: Checkpoint[]
          sessionName?: string | null
          ancestry?: SessionForkedPayload
        }
      | { ok: false; error: string; warnings: string[] }
    expectTypeOf<ReplayResult>().toExtend<Specified>()
    expectTypeOf<Specified>().toExtend<ReplayResult>()
    const result = {} as ReplayResult
    if (result.ok) expectTypeOf(result).not.toHaveProperty('error')
    else expectTypeOf(result).toEqualTypeOf<tape.ReplayFailure>()
    // @ts-expect-error a failure has no history
    void result.history
    // @ts-expect-error a success has no error
    void result.error
  })

  test('of openSession, resumeSession and forkSession have items of the caller’s own type, or are failures', async () => {
    const opened = await tape.openSession<AcmeContent>('a.jsonl')
    if (opened.ok) {
      expectTypeOf(opened.session).toEqualTypeOf<SessionHandle<AcmeContent>>()
      for await (const each of opened.session) expectTypeOf(each).toEqualTypeOf<AcmeContent>()
    } else expectTypeOf(opened.error).toBeString()
    const resumed = await tape.resumeSession<AcmeContent>(request)
    const forked = await tape.forkSession<AcmeContent>(target, fork)
    for (const result of [resumed, forked]) {
      if (!result.ok) expectTypeOf(result).toEqualTypeOf<SessionFailure>()
      else {
        expectTypeOf(result.history).toEqualTypeOf<AcmeContent[]>()
        expectTypeOf(result.recording).toEqualTypeOf<tape.SessionRecordingService<AcmeContent>>()
        expectTypeOf(result.lockHandle).toEqualTypeOf<SessionLock>()
      }
    }
    const paged = await tape.resumeSession<AcmeContent>({ ...request, history: 'cursor' })
    if (!paged.ok) return
    expectTypeOf(paged.session).toEqualTypeOf<tape.OpenedSession<AcmeContent>>()
    expectTypeOf(paged.session.rows({ from: -2 })).toEqualTypeOf<AsyncGenerator<AcmeContent, void, undefined>>()
    expectTypeOf(paged).not.toHaveProperty('history')
  })

  test('of readSessionRecords narrow on the status', () => {
    const line = {} as SessionLine
    expectTypeOf(tape.readSessionRecords('a.jsonl', { from: line })).toEqualTypeOf<
      AsyncGenerator<SessionLine, void, undefined>
    >()
    if (line.status === 'ok') expectTypeOf(line.record).toEqualTypeOf<tape.SessionRecordLine>()
    if (line.status === 'unknown') expectTypeOf(line.record).toBeUnknown()
    if (line.status === 'torn') expectTypeOf(line.record).toBeNull()
  })

  test('of references are targets or sessions of the caller’s own type', () => {
    interface AcmeSummary {
      sessionId: string
      pinned: boolean
    }
    expectTypeOf(tape.resolveSessionRef('x', [] as readonly AcmeSummary[])).toEqualTypeOf<
      { session: AcmeSummary } | ReferenceFailure
    >()
    expectTypeOf(tape.resolveContinueRef('x', [] as ContinueTarget[])).toEqualTypeOf<
      { target: ContinueTarget } | ReferenceFailure
    >()
    expectTypeOf<ContinueTarget>().toExtend<tape.NamedTarget>()
    expectTypeOf<Extract<ContinueTarget, { kind: 'checkpoint' }>>().toExtend<esm.ForkTarget>()
    // @ts-expect-error a checkpoint is found in its source
    void ({} as ContinueTarget).session
    // @ts-expect-error a session has an id
    tape.resolveSessionRef('x', [{ pinned: true }])
  })
})

describe('the content type', () => {
  test('is IContent, or the CLI’s own if it passes one', () => {
    expectTypeOf(tape.replaySession('a.jsonl')).resolves.toEqualTypeOf<ReplayResult<IContent>>()
    expectTypeOf(recorder).toEqualTypeOf<tape.SessionRecordingService<IContent>>()
    expectTypeOf(tape.replaySession<AcmeContent>('a.jsonl')).resolves.toEqualTypeOf<ReplayResult<AcmeContent>>()
    expectTypeOf<
      [
        typeof acmeRecorder.recordContent,
        typeof acmeRecorder.recordCompressed,
        Parameters<typeof acmeRecorder.prepareContentBatch>[0],
        Parameters<typeof acmeRecorder.recordSemanticMediaPurgeRows>[0],
      ]
    >().toEqualTypeOf<
      [
        (content: AcmeContent) => void,
        (summary: AcmeContent, itemsCompressed: number) => void,
        readonly AcmeContent[],
        AsyncIterable<AcmeContent> | Iterable<AcmeContent>,
      ]
    >()
    expectTypeOf(recorder.recordContent).toBeCallableWith({} as IContent & { tokens: number })
    // @ts-expect-error a recorder of AcmeContent does not accept IContent
    acmeRecorder.recordContent(item)
    // @ts-expect-error IContent has blocks
    recorder.recordContent(acme)
    // @ts-expect-error no such speaker
    recorder.recordContent({ speaker: 'robot', blocks: [] })
  })

  test('has blocks that are distinguished by type', () => {
    const block = {} as tape.ContentBlock
    if (block.type === 'tool_call') expectTypeOf(block.parameters).toBeUnknown()
    if (block.type === 'media' && block.encoding === 'reference')
      expectTypeOf(block.selectedObject.byteLength).toBeNumber()
    if (block.type === 'media' && block.encoding !== 'reference') expectTypeOf(block.data).toBeString()
  })

  test('is that of a subclass', () => {
    class Facade extends tape.SessionRecordingService<AcmeContent> {}
    expectTypeOf(Facade.createLocked(config)).resolves.toEqualTypeOf<Facade>()
    expectTypeOf<Facade>().toExtend<SessionPlace<AcmeContent>>()
    expectTypeOf(tape.createCheckpoint(new Facade(config), 'h', 'n', { overwrite: true })).resolves.toEqualTypeOf<{
      checkpointId: string
      name: string
      sequence: number
    }>()
  })
})

const request: ResumeRequest = {
  continueRef: tape.CONTINUE_LATEST,
  chatsDir: 'chats',
  projectHash: 'h',
  currentProvider: 'p',
  currentModel: 'm',
  workspaceDirs: [],
}
const fork = { chatsDir: 'd', projectHash: 'h', provider: 'p', model: 'm', workspaceDirs: [] }
const target = { checkpointId: 'c', checkpointName: 'n', source: { sessionId: 's', filePath: 'f' }, pinned: true }
const closed = { filePath: 'f', chatsDir: 'd', sessionId: 's' }

describe('arguments', () => {
  test('of these types are accepted', () => {
    expectTypeOf(tape.replaySession).toBeCallableWith('a', undefined, { throughSeq: 3, auditTrail: true, signal })
    expectTypeOf({ strict: true, auditTrail: true }).toExtend<ReplayOptions>()
    expectTypeOf(tape.readSessionRecords).toBeCallableWith('a.jsonl', {
      history: true,
      changes: true,
      strict: false,
      types: ['content', 'newer'],
      from: { line: 1, offset: 0 },
    })
    expectTypeOf(recorder.enqueue).toBeCallableWith('content', { content: item })
    expectTypeOf(recorder.enqueue).toBeCallableWith('an_event_of_tomorrow', 1)
    const ofRecorder = { cwd: '/', fileName: 'seconds', durability: 'fsync', exclusive: true } as const
    expectTypeOf(tape.resumeSession).toBeCallableWith({ ...request, recorder: ofRecorder })
    expectTypeOf(tape.forkSession).toBeCallableWith(target, { ...fork, source: recorder, recorder: ofRecorder })
    expectTypeOf(tape.foldCheckpoints).toBeCallableWith([] as readonly tape.SessionRecordLine[])
    expectTypeOf(tape.nameSession).toBeCallableWith(closed, 'h', null)
    expectTypeOf<
      Pick<
        SessionRecordingServiceConfig,
        'sessionId' | 'projectHash' | 'chatsDir' | 'workspaceDirs' | 'provider' | 'model'
      >
    >().toExtend<SessionRecordingServiceConfig>()
    expectTypeOf<(path: string, data: string, encoding: BufferEncoding) => Promise<void>>().toExtend<
      SessionRecordingServiceConfig['appendFile']
    >()
    // A promise is not waited for.
    expectTypeOf<() => Promise<{ provider: string; model: string }>>().not.toExtend<
      SessionRecordingServiceConfig['resolveProviderModel']
    >()
  })

  test('of other types are refused', () => {
    // @ts-expect-error not a path
    void tape.replaySession(7)
    // @ts-expect-error not a hash
    void tape.replaySession('a.jsonl', 7)
    // @ts-expect-error no such option
    void tape.replaySession('a.jsonl', 'hash', { thruSeq: 3 })
    // @ts-expect-error no such option
    void tape.readSessionRecords('a.jsonl', { kinds: ['content'] })
    // @ts-expect-error a place has an offset
    void tape.readSessionRecords('a.jsonl', { from: { line: 1 } })
    // @ts-expect-error targets are of a project
    void tape.listContinueTargets('chats')
    // @ts-expect-error no such option
    void tape.deleteSession('s', 'chats', 'h', { exactly: true })
    // @ts-expect-error no chatsDir
    new tape.SessionRecordingService({ sessionId: 'a', projectHash: 'b', workspaceDirs: [], provider: 'c', model: 'd' })
    // @ts-expect-error no such level
    new tape.SessionRecordingService({ ...config, durability: 'disk' })
    // @ts-expect-error not a type
    recorder.enqueue(7, {})
    // @ts-expect-error no such severity
    recorder.recordSessionEvent('fatal', 'x')
    // @ts-expect-error the session has its id
    void tape.resumeSession({ ...request, recorder: { sessionId: 's' } })
    // @ts-expect-error there is one other form of history
    void tape.resumeSession({ ...request, history: 'array' })
    // @ts-expect-error the new session has an id of its own
    void tape.forkSession(target, { ...fork, recorder: { sessionId: 's' } })
    // @ts-expect-error no provider
    void tape.forkSession(target, { chatsDir: 'd', projectHash: 'h', model: 'm', workspaceDirs: [] })
    // @ts-expect-error a session has no checkpoint to fork from
    void tape.forkSession({} as Extract<ContinueTarget, { kind: 'session' }>, fork)
    // @ts-expect-error a closed session is found by its directory and its id too
    void tape.createCheckpoint({ filePath: 'f' }, 'h', 'n')
    // @ts-expect-error a checkpoint has a name
    void tape.renameCheckpoint(closed, 'h', 'id', null)
    // @ts-expect-error a deletion has no option `overwrite`
    void tape.deleteCheckpoint(closed, 'h', 'id', { overwrite: true })
  })
})
