// The guarantees of the types, checked by the compiler: nothing here runs. `npm run typecheck` and vitest both check it.
import { describe, expectTypeOf, test } from 'vitest'

import * as esm from '../../index.mjs'
import {
  acquireSessionLock,
  type CheckpointLockError,
  cleanUpLocks,
  CONTINUE_LATEST,
  createCheckpoint,
  deleteCheckpoint,
  deleteSession,
  describeSessions,
  foldCheckpoints,
  isLockStale,
  listCheckpoints,
  listContinueTargets,
  listSessions,
  nameSession,
  openSession,
  readSessionHeader,
  readSessionHeaders,
  readSessionPreview,
  readSessionTitle,
  removeSessionFiles,
  removeStaleLock,
  renameCheckpoint,
  readSessionRecords,
  replaySession,
  resolveContinueRef,
  resolveSessionRef,
  resumeSession,
  SESSION_FILE_ID_PREFIX_LENGTH,
  type SessionLockedError,
  sessionLockPath,
  sessionLockPathOf,
  SessionRecordingService,
  type Checkpoint,
  type ClosedSession,
  type CompressedPayload,
  type ContentBlock,
  type ContentPayload,
  type ContinueTarget,
  type DeleteOptions,
  type DescribeOptions,
  type IContent,
  type NamedTarget,
  type NameOptions,
  type Progress,
  type RecorderOptions,
  type RecordingError,
  type RecordingWarning,
  type ReplayFailure,
  type ReplayOptions,
  type ReferenceFailure,
  type ReplayResult,
  type ResumeRequest,
  type OpenedSession,
  type ResumeResult,
  type ScanOptions,
  type SessionEventPayload,
  type SessionEventType,
  type SessionFailure,
  type SessionFailureCode,
  type SessionForkedPayload,
  type SessionHandle,
  type SessionLock,
  type SessionMetadata,
  type SessionOverview,
  type SessionPlace,
  type SessionPreview,
  type SessionRecordingServiceConfig,
  type SessionLine,
  type SessionRecordLine,
  type SessionStartPayload,
  type SessionSummary,
  type SkippedSession,
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

describe('checkpoints', () => {
  test('are folded from records, and cannot be changed', () => {
    const records = [] as readonly SessionRecordLine[]
    expectTypeOf(foldCheckpoints(records)).toEqualTypeOf<Checkpoint[]>()
    expectTypeOf(esm.foldCheckpoints).toEqualTypeOf<typeof foldCheckpoints>()
    expectTypeOf<
      'checkpoint_created' | 'session_forked' | 'session_named' | 'session_metadata'
    >().toExtend<SessionEventType>()
    const checkpoint = {} as Checkpoint
    // @ts-expect-error a checkpoint is read only
    checkpoint.name = 'other'
  })

  test('are members of a handle too', () => {
    const handle = {} as SessionHandle
    expectTypeOf(handle.checkpoints).toEqualTypeOf<Checkpoint[]>()
    expectTypeOf(handle.sessionName).toEqualTypeOf<string | null | undefined>()
    expectTypeOf(handle.ancestry).toEqualTypeOf<SessionForkedPayload | undefined>()
    expectTypeOf(handle.sequenceCorrupt).toBeBoolean()
    expectTypeOf({ strict: true, auditTrail: true }).toExtend<ReplayOptions>()
  })
})

describe('ReplayResult', () => {
  test('narrows on ok', () => {
    const result = {} as ReplayResult
    if (result.ok) {
      expectTypeOf(result.history).toEqualTypeOf<IContent[]>()
      expectTypeOf(result.metadata).toEqualTypeOf<SessionMetadata>()
      expectTypeOf(result.lastSeq).toBeNumber()
      expectTypeOf(result.eventCount).toBeNumber()
      expectTypeOf(result.sessionEvents).toEqualTypeOf<SessionEventPayload[]>()
      expectTypeOf(result.sequenceCorrupt).toBeBoolean()
      expectTypeOf(result.checkpoints).toEqualTypeOf<Checkpoint[]>()
      expectTypeOf(result.sessionName).toEqualTypeOf<string | null | undefined>()
      expectTypeOf(result.ancestry).toEqualTypeOf<SessionForkedPayload | undefined>()
      expectTypeOf(result.metadata.title).toEqualTypeOf<string | null | undefined>()
      expectTypeOf(result.metadata.cwd).toEqualTypeOf<string | undefined>()
      expectTypeOf(result).not.toHaveProperty('error')
    } else {
      expectTypeOf(result.error).toBeString()
      expectTypeOf(result).toEqualTypeOf<ReplayFailure>()
      expectTypeOf(result).not.toHaveProperty('history')
    }
  })

  test('has warnings without a check of ok, and a history only after it', () => {
    const result = {} as ReplayResult
    expectTypeOf(result.warnings).toEqualTypeOf<string[]>()
    // @ts-expect-error a failure has no history
    void result.history
    // @ts-expect-error a success has no error
    void result.error
  })

  test('agrees with the specification', () => {
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
  })
})

describe('the content type', () => {
  test('defaults to IContent', () => {
    expectTypeOf(replaySession('a.jsonl')).resolves.toEqualTypeOf<ReplayResult<IContent>>()
    expectTypeOf(new SessionRecordingService(config)).toEqualTypeOf<SessionRecordingService<IContent>>()
    expectTypeOf<ContentPayload>().toEqualTypeOf<{ content: IContent }>()
    expectTypeOf<CompressedPayload>().toEqualTypeOf<{ summary: IContent; itemsCompressed: number }>()
  })

  test('is the CLI’s own if the CLI passes one', () => {
    expectTypeOf(replaySession<AcmeContent>('a.jsonl')).resolves.toEqualTypeOf<ReplayResult<AcmeContent>>()
    expectTypeOf<Extract<ReplayResult<AcmeContent>, { ok: true }>['history']>().toEqualTypeOf<AcmeContent[]>()

    const recorder = new SessionRecordingService<AcmeContent>(config)
    expectTypeOf(recorder.recordContent).parameters.toEqualTypeOf<[content: AcmeContent]>()
    expectTypeOf(recorder.recordCompressed).parameters.toEqualTypeOf<[summary: AcmeContent, itemsCompressed: number]>()
    // @ts-expect-error a recorder of AcmeContent does not accept IContent
    recorder.recordContent(item)
  })

  test('is checked where it is the default', () => {
    const recorder = new SessionRecordingService(config)
    // @ts-expect-error IContent has blocks
    recorder.recordContent(acme)
    // @ts-expect-error no such speaker
    recorder.recordContent({ speaker: 'robot', blocks: [] })
  })

  test('may be richer than IContent', () => {
    type Richer = IContent & { tokens: number }
    const recorder = new SessionRecordingService(config)
    expectTypeOf(recorder.recordContent).toBeCallableWith({} as Richer)
  })

  test('blocks are distinguished by type', () => {
    const block = {} as ContentBlock
    if (block.type === 'tool_call') expectTypeOf(block.parameters).toBeUnknown()
    if (block.type === 'media') expectTypeOf(block.encoding).toEqualTypeOf<'url' | 'base64' | 'reference'>()
    if (block.type === 'media' && block.encoding === 'reference')
      expectTypeOf(block.selectedObject.byteLength).toBeNumber()
    if (block.type === 'media' && block.encoding !== 'reference') expectTypeOf(block.data).toBeString()
  })
})

describe('arguments', () => {
  test('of replaySession', () => {
    const signal = new AbortController().signal
    expectTypeOf(replaySession).toBeCallableWith('a.jsonl')
    expectTypeOf(replaySession).toBeCallableWith('a.jsonl', undefined, { throughSeq: 3, auditTrail: true, signal })
    expectTypeOf<ReplayOptions['onProgress']>().toEqualTypeOf<
      ((progress: { bytes: number; total: number; files?: number }) => void) | undefined
    >()
    // @ts-expect-error not a path
    void replaySession(7)
    // @ts-expect-error not a hash
    void replaySession('a.jsonl', 7)
    // @ts-expect-error no such option
    void replaySession('a.jsonl', 'hash', { thruSeq: 3 })
  })

  test('of readSessionRecords', () => {
    expectTypeOf(readSessionRecords).toBeCallableWith('a.jsonl')
    expectTypeOf(readSessionRecords).toBeCallableWith('a.jsonl', {
      history: true,
      changes: true,
      strict: false,
      types: ['content', 'newer'],
      from: { line: 1, offset: 0 },
    })
    const line = {} as SessionLine
    expectTypeOf(readSessionRecords('a.jsonl', { from: line })).toEqualTypeOf<
      AsyncGenerator<SessionLine, void, undefined>
    >()
    if (line.status === 'ok') expectTypeOf(line.record).toEqualTypeOf<SessionRecordLine>()
    if (line.status === 'unknown') expectTypeOf(line.record).toBeUnknown()
    if (line.status === 'torn') expectTypeOf(line.record).toBeNull()
    // @ts-expect-error no such option
    void readSessionRecords('a.jsonl', { kinds: ['content'] })
    // @ts-expect-error a place has an offset
    void readSessionRecords('a.jsonl', { from: { line: 1 } })
  })

  test('of a recorder: six fields are required', () => {
    type Required = 'sessionId' | 'projectHash' | 'chatsDir' | 'workspaceDirs' | 'provider' | 'model'
    expectTypeOf<Pick<SessionRecordingServiceConfig, Required>>().toExtend<SessionRecordingServiceConfig>()
    // @ts-expect-error no chatsDir
    new SessionRecordingService({ sessionId: 'a', projectHash: 'b', workspaceDirs: [], provider: 'c', model: 'd' })
    // @ts-expect-error no such level
    new SessionRecordingService({ ...config, durability: 'disk' })
  })

  test('of enqueue: known types are suggested, others allowed', () => {
    const recorder = new SessionRecordingService(config)
    expectTypeOf(recorder.enqueue).toBeCallableWith('content', { content: item })
    expectTypeOf(recorder.enqueue).toBeCallableWith('an_event_of_tomorrow', 1)
    // @ts-expect-error not a type
    recorder.enqueue(7, {})
  })

  test('of recordSessionEvent', () => {
    const recorder = new SessionRecordingService(config)
    expectTypeOf(recorder.recordSessionEvent).parameter(0).toEqualTypeOf<'info' | 'warning' | 'error'>()
    // @ts-expect-error no such severity
    recorder.recordSessionEvent('fatal', 'x')
  })
})

describe('results', () => {
  test('of the header functions can be null', () => {
    expectTypeOf(readSessionHeader('a.jsonl')).resolves.toEqualTypeOf<SessionStartPayload | null>()
    expectTypeOf(readSessionHeaders(['a.jsonl'])).resolves.toEqualTypeOf<(SessionStartPayload | null)[]>()
    expectTypeOf(readSessionHeaders('chats')).resolves.toEqualTypeOf<
      { filePath: string; header: SessionStartPayload | null }[]
    >()
  })

  test('of a recorder', () => {
    const recorder = new SessionRecordingService(config)
    expectTypeOf(recorder.flush()).toEqualTypeOf<Promise<void>>()
    expectTypeOf(recorder.dispose()).toEqualTypeOf<Promise<void>>()
    expectTypeOf(recorder.getFilePath()).toEqualTypeOf<string | null>()
    expectTypeOf(recorder.getPendingByteCount()).toBeNumber()
  })

  test('of openSession narrow on ok', async () => {
    const opened = await openSession<AcmeContent>('a.jsonl')
    if (opened.ok) {
      expectTypeOf(opened.session).toEqualTypeOf<SessionHandle<AcmeContent>>()
      for await (const each of opened.session) expectTypeOf(each).toEqualTypeOf<AcmeContent>()
    } else {
      expectTypeOf(opened.error).toBeString()
    }
  })

  test('of listSessions', async () => {
    const { sessions } = await listSessions('chats', { projectHash: 'p' })
    expectTypeOf(sessions[0]!.lastModified).toEqualTypeOf<Date>()
  })

  test('a warning has a code that a switch can name', () => {
    expectTypeOf<'ENOSPC'>().toExtend<RecordingWarning['code']>()
    expectTypeOf<RecordingWarning['code']>().toExtend<string>()
    expectTypeOf<string>().toExtend<RecordingWarning['code']>()
    expectTypeOf<RecordingWarning['owner']>().toEqualTypeOf<
      { pid: number; startTime: string; host: string } | undefined
    >()
    expectTypeOf<RecordingError>().toExtend<NodeJS.ErrnoException>()
  })

  test('a record line is an envelope', () => {
    expectTypeOf<keyof SessionRecordLine>().toEqualTypeOf<'v' | 'seq' | 'ts' | 'type' | 'payload'>()
  })
})

test('the recorder', () => {
  class Facade extends SessionRecordingService<AcmeContent> {}
  expectTypeOf(Facade.createLocked(config)).resolves.toEqualTypeOf<Facade>()
  expectTypeOf<Facade['enqueue']>().returns.toEqualTypeOf<SessionRecordLine | null>()
  expectTypeOf<Facade['getSessionMetadataTitle']>().returns.toEqualTypeOf<string | null | undefined>()
  expectTypeOf<Facade['getOwnedLockHandle']>().returns.toEqualTypeOf<SessionLock | null>()
  expectTypeOf<Facade['createCheckpoint']>().returns.resolves.toEqualTypeOf<{
    checkpointId: string
    name: string
    sequence: number
  }>()
  expectTypeOf(SESSION_FILE_ID_PREFIX_LENGTH).toEqualTypeOf<12>()
})

test('previews and titles', () => {
  expectTypeOf(readSessionPreview).toEqualTypeOf<
    (
      filePath: string,
      options?: { length?: number | undefined; signal?: AbortSignal | undefined },
    ) => Promise<SessionPreview>
  >()
  expectTypeOf<SessionPreview>().toEqualTypeOf<{ hasContent: boolean; firstUserMessage: string | null }>()
  expectTypeOf(readSessionTitle).toEqualTypeOf<
    (filePath: string, options?: { signal?: AbortSignal | undefined }) => Promise<string | null | undefined>
  >()
})

test('references', () => {
  const sessions = [{ sessionId: 's', mine: 1 }]
  expectTypeOf(resolveSessionRef('s', sessions)).toEqualTypeOf<
    { session: { sessionId: string; mine: number } } | ReferenceFailure
  >()
  type Target =
    | { kind: 'session'; session: { sessionId: string; name?: string | null } }
    | { kind: 'checkpoint'; checkpointId: string; checkpointName: string; mine: 1 }
  expectTypeOf(resolveContinueRef('s', [] as Target[])).toEqualTypeOf<{ target: Target } | ReferenceFailure>()
})

test('finding sessions', () => {
  type Described = { sessions: SessionOverview[]; unreadable: SkippedSession[] }
  expectTypeOf(describeSessions).toEqualTypeOf<(chatsDir: string, options?: DescribeOptions) => Promise<Described>>()
  type Targets = { targets: ContinueTarget[]; skipped: SkippedSession[]; unreadable: SkippedSession[] }
  expectTypeOf(listContinueTargets).toEqualTypeOf<
    (chatsDir: string, projectHash: string, options?: ScanOptions) => Promise<Targets>
  >()
  expectTypeOf<SessionOverview>().toExtend<SessionSummary>()
  expectTypeOf<Pick<SessionSummary, 'createdAt' | 'title' | 'name' | 'cwd'>>().toEqualTypeOf<{
    createdAt?: string
    title?: string | null
    name?: string | null
    cwd?: string
  }>()
  expectTypeOf<SessionOverview['metadata']>().toEqualTypeOf<SessionMetadata>()
  expectTypeOf<SessionOverview['checkpoints']>().toEqualTypeOf<Checkpoint[]>()
  expectTypeOf<SessionOverview['ancestry']>().toEqualTypeOf<SessionForkedPayload | undefined>()
  expectTypeOf<SessionOverview['historyLength' | 'lastSeq' | 'eventCount']>().toBeNumber()
  expectTypeOf<SessionOverview>().not.toHaveProperty('history')
  expectTypeOf<SkippedSession>().toEqualTypeOf<{ filePath: string; sessionId?: string; reason: string }>()
  expectTypeOf<ScanOptions>().toEqualTypeOf<{
    kinds?: readonly ('main' | 'subagent')[] | undefined
    signal?: AbortSignal | undefined
    onProgress?: ((progress: Progress) => void) | undefined
  }>()
  expectTypeOf<ContinueTarget>().toExtend<NamedTarget>()
  const target = {} as ContinueTarget
  if (target.kind === 'session') expectTypeOf(target.session).toEqualTypeOf<SessionSummary>()
  else {
    expectTypeOf(target).toEqualTypeOf<{
      kind: 'checkpoint'
      source: SessionSummary
      checkpointId: string
      checkpointName: string
      sequence: number
    }>()
    // @ts-expect-error a checkpoint is found in its source
    void target.session
  }
  expectTypeOf(resolveContinueRef('x', [target])).toEqualTypeOf<{ target: ContinueTarget } | ReferenceFailure>()
  // @ts-expect-error targets are of a project
  void listContinueTargets('chats')
})

test('a caller resolves references among its own summaries', () => {
  interface AcmeSummary {
    sessionId: string
    pinned: boolean
  }
  expectTypeOf(resolveSessionRef('x', [] as readonly AcmeSummary[])).toEqualTypeOf<
    { session: AcmeSummary } | ReferenceFailure
  >()
  // @ts-expect-error a session has an id
  resolveSessionRef('x', [{ pinned: true }])
})

describe('resuming', () => {
  const request: ResumeRequest = {
    continueRef: CONTINUE_LATEST,
    chatsDir: 'chats',
    projectHash: 'h',
    currentProvider: 'p',
    currentModel: 'm',
    workspaceDirs: [],
  }

  test('narrows on ok, and has items of the caller’s own type', async () => {
    expectTypeOf(CONTINUE_LATEST).toEqualTypeOf<'__CONTINUE_LATEST__'>()
    expectTypeOf(resumeSession(request)).resolves.toEqualTypeOf<ResumeResult<IContent> | SessionFailure>()
    const result = await resumeSession<AcmeContent>(request)
    if (result.ok) {
      expectTypeOf(result.history).toEqualTypeOf<AcmeContent[]>()
      expectTypeOf(result.recording).toEqualTypeOf<SessionRecordingService<AcmeContent>>()
      expectTypeOf(result.lockHandle).toEqualTypeOf<SessionLock>()
      expectTypeOf(result.metadata).toEqualTypeOf<SessionMetadata>()
      expectTypeOf(result.warnings).toEqualTypeOf<string[]>()
      expectTypeOf(result.skippedRecordings).toEqualTypeOf<SkippedSession[]>()
      expectTypeOf(result).not.toHaveProperty('error')
    } else {
      expectTypeOf(result).toEqualTypeOf<SessionFailure>()
      expectTypeOf(result.code).toEqualTypeOf<SessionFailureCode>()
    }
  })

  test('with a cursor has a session instead of the history', async () => {
    const result = await resumeSession<AcmeContent>({ ...request, history: 'cursor' })
    if (!result.ok) return
    expectTypeOf(result.session).toEqualTypeOf<OpenedSession<AcmeContent>>()
    expectTypeOf(result.session.rows({ from: -2 })).toEqualTypeOf<AsyncGenerator<AcmeContent, void, undefined>>()
    expectTypeOf(result).not.toHaveProperty('history')
    // @ts-expect-error -- there is one other form of history
    resumeSession({ ...request, history: 'array' })
  })

  test('takes the options of a recorder', () => {
    expectTypeOf(resumeSession).toBeCallableWith({
      ...request,
      recorder: { cwd: '/', fileName: 'seconds', durability: 'fsync', exclusive: true, onWarning: () => {} },
    })
    expectTypeOf<keyof RecorderOptions>().toEqualTypeOf<
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
    >()
    // @ts-expect-error the session has its id
    void resumeSession({ ...request, recorder: { sessionId: 's' } })
    const { chatsDir: _, ...without } = request
    // @ts-expect-error no directory
    void resumeSession(without)
  })

  test('fails with one of these codes', () => {
    type Codes =
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
    expectTypeOf<SessionFailureCode>().toEqualTypeOf<Codes>()
    expectTypeOf<SessionFailure>().toExtend<{ ok: false; error: string; code: Codes }>()
    expectTypeOf<SessionFailure>().toExtend<ReferenceFailure>()
  })
})

test('deleting', () => {
  type Deleted = { ok: true; deletedSessionId: string; warnings?: string[] } | SessionFailure
  expectTypeOf(deleteSession).toEqualTypeOf<
    (ref: string, chatsDir: string, projectHash: string, options?: DeleteOptions) => Promise<Deleted>
  >()
  expectTypeOf<DeleteOptions>().toEqualTypeOf<{
    exact?: boolean | undefined
    kinds?: readonly ('main' | 'subagent')[] | undefined
  }>()
  expectTypeOf(removeSessionFiles).toEqualTypeOf<(filePath: string) => Promise<void>>()
  // @ts-expect-error no such option
  void deleteSession('s', 'chats', 'h', { exactly: true })
})

test('names and checkpoints of a project', () => {
  class Facade extends SessionRecordingService<AcmeContent> {}
  const closed = { filePath: 'f', chatsDir: 'd', sessionId: 's' }
  expectTypeOf<ClosedSession>().toEqualTypeOf<{ filePath: string; chatsDir: string; sessionId: string }>()
  expectTypeOf<Facade>().toExtend<SessionPlace<AcmeContent>>()
  expectTypeOf<typeof closed>().toExtend<SessionPlace<AcmeContent>>()
  expectTypeOf(createCheckpoint(new Facade(config), 'h', 'n', { overwrite: true })).resolves.toEqualTypeOf<{
    checkpointId: string
    name: string
    sequence: number
  }>()
  expectTypeOf(createCheckpoint<AcmeContent>(closed, 'h', 'n', { overwrite: undefined })).resolves.toHaveProperty(
    'sequence',
  )
  expectTypeOf(renameCheckpoint(closed, 'h', 'id', 'n')).toEqualTypeOf<Promise<void>>()
  expectTypeOf(deleteCheckpoint(new Facade(config), 'h', 'id')).toEqualTypeOf<Promise<void>>()
  expectTypeOf(nameSession(closed, 'h', null)).toEqualTypeOf<Promise<void>>()
  expectTypeOf(listCheckpoints).toEqualTypeOf<(filePath: string, projectHash: string) => Promise<Checkpoint[]>>()
  expectTypeOf<NameOptions['overwrite']>().toEqualTypeOf<boolean | undefined>()
  expectTypeOf<CheckpointLockError>().toExtend<Error>()
  expectTypeOf<CheckpointLockError['name']>().toEqualTypeOf<'CheckpointLockError'>()
  // @ts-expect-error: a closed session is found by its directory and its id too.
  void createCheckpoint({ filePath: 'f' }, 'h', 'n')
  // @ts-expect-error: a checkpoint has a name.
  void renameCheckpoint(closed, 'h', 'id', null)
  // @ts-expect-error: a deletion has no option `overwrite`.
  void deleteCheckpoint(closed, 'h', 'id', { overwrite: true })
})

test('session locks', () => {
  expectTypeOf(sessionLockPath).toEqualTypeOf<(chatsDir: string, sessionId: string) => string>()
  expectTypeOf(sessionLockPathOf).toEqualTypeOf<(filePath: string) => string>()
  expectTypeOf(acquireSessionLock).toEqualTypeOf<(chatsDir: string, sessionId: string) => Promise<SessionLock>>()
  expectTypeOf(isLockStale).toEqualTypeOf<
    (lockPath: string, options?: { pidReuse?: boolean | undefined }) => Promise<boolean>
  >()
  expectTypeOf(removeStaleLock).returns.toEqualTypeOf<Promise<boolean>>()
  expectTypeOf(cleanUpLocks).returns.toEqualTypeOf<Promise<number>>()
  expectTypeOf<SessionLock>().toEqualTypeOf<{
    readonly lockPath: string
    ownsLock(): Promise<boolean>
    release(): Promise<void>
  }>()
  expectTypeOf<SessionLockedError>().toExtend<Error>()
  expectTypeOf<SessionLockedError['code']>().toEqualTypeOf<'ESESSIONLOCKED'>()
})

test('import and require offer the same names', () => {
  expectTypeOf<typeof esm>().toEqualTypeOf<typeof import('../../index.js')>()
})

describe('forking', () => {
  type ForkTarget = esm.ForkTarget
  type ForkOptions<C = IContent> = esm.ForkOptions<C>
  const target: ForkTarget = { checkpointId: 'c', checkpointName: 'n', source: { sessionId: 's', filePath: 'f' } }
  const options: ForkOptions<AcmeContent> = {
    chatsDir: 'd',
    projectHash: 'h',
    provider: 'p',
    model: 'm',
    workspaceDirs: [],
  }

  test('gives items and a recorder of the caller’s own type, or a failure', async () => {
    expectTypeOf(esm.forkSession(target, options)).resolves.toEqualTypeOf<
      esm.ForkResult<AcmeContent> | esm.SessionFailure
    >()
    expectTypeOf<esm.ForkResult>().toEqualTypeOf<{
      ok: true
      history: IContent[]
      metadata: SessionMetadata
      recording: SessionRecordingService
      lockHandle: SessionLock
    }>()
    const result = await esm.forkSession<AcmeContent>(target, options)
    if (result.ok) expectTypeOf(result.recording).toEqualTypeOf<SessionRecordingService<AcmeContent>>()
    else expectTypeOf(result.code).toEqualTypeOf<esm.SessionFailureCode>()
  })

  test('begins at a target of a list, with further members of the caller’s own', () => {
    expectTypeOf<Extract<esm.ContinueTarget, { kind: 'checkpoint' }>>().toExtend<ForkTarget>()
    interface AcmeTarget extends ForkTarget {
      pinned: boolean
    }
    expectTypeOf<AcmeTarget>().toExtend<Parameters<typeof esm.forkSession>[0]>()
    // @ts-expect-error a session has no checkpoint to fork from
    void esm.forkSession({} as Extract<esm.ContinueTarget, { kind: 'session' }>, options)
  })

  test('takes the recorder of an open source, and options of the new recorder', () => {
    const source = {} as SessionRecordingService<AcmeContent>
    expectTypeOf({ ...options, source, recorder: { cwd: '/c', fileName: 'seconds' as const } }).toExtend<
      ForkOptions<AcmeContent>
    >()
    // @ts-expect-error the new session has a name of its own
    void esm.forkSession(target, { ...options, recorder: { sessionId: 's' } })
    // @ts-expect-error no provider
    void esm.forkSession(target, { chatsDir: 'd', projectHash: 'h', model: 'm', workspaceDirs: [] })
  })
})

describe('recording', () => {
  interface Item {
    mine: true
  }
  const recorder = new esm.SessionRecordingService<Item>({} as esm.SessionRecordingServiceConfig)

  test('takes batches and streams of the items of the program', () => {
    expectTypeOf(recorder.prepareContentBatch).parameter(0).toEqualTypeOf<readonly Item[]>()
    expectTypeOf(recorder.prepareContentBatch([])).toEqualTypeOf<esm.ContentBatch>()
    expectTypeOf<esm.ContentBatch>().toEqualTypeOf<{ publish(): void; rollback(): void; finalize(): void }>()
    expectTypeOf(recorder.recordSemanticMediaPurgeRows)
      .parameter(0)
      .toEqualTypeOf<AsyncIterable<Item> | Iterable<Item>>()
    expectTypeOf(recorder.recordSemanticMediaPurgeRows).returns.toEqualTypeOf<Promise<esm.Commit>>()
    expectTypeOf(recorder.onCommitWatermark(() => {})).toEqualTypeOf<() => void>()
    expectTypeOf(recorder.waitForCommitSequence(1)).toEqualTypeOf<Promise<esm.Commit>>()
  })

  test('has functions of the host in its configuration', () => {
    const appendFile = (path: string, data: string, encoding: BufferEncoding): Promise<void> =>
      Promise.reject(new Error(path + data + encoding))
    expectTypeOf<{ appendFile: typeof appendFile }>().toExtend<Pick<esm.SessionRecordingServiceConfig, 'appendFile'>>()
    expectTypeOf<{ resolveProviderModel: () => { provider: string; model: string } }>().toExtend<
      Pick<esm.SessionRecordingServiceConfig, 'resolveProviderModel'>
    >()
    const later = async () => ({ provider: 'p', model: 'm' })
    // A promise is not waited for.
    expectTypeOf<{ resolveProviderModel: typeof later }>().not.toExtend<
      Pick<esm.SessionRecordingServiceConfig, 'resolveProviderModel'>
    >()
  })
})
