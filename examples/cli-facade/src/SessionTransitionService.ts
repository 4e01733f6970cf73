import { forkSession, type ForkResult as Forked, type ForkTarget, type SessionFailureCode } from 'session-tape'

import { type IContent, withoutStoredResponses as map } from './content.js'
import { onWarning } from './logging.js'
import type { MediaStore } from './media.js'
import { ResumeCursorBoot } from './resumeCursorBoot.js'
import type { Recording } from './SessionRecordingService.js'

export type { ContinueTarget } from './types.js'

/** As in the result of `resumeSession`: a CLI takes `history`, or reads it through `boot`. */
export interface ForkResult extends Forked<IContent> {
  boot: ResumeCursorBoot
}

export interface SessionTransitionServiceOptions {
  readonly mediaStore?: MediaStore
  readonly maxQueueBytes?: number
}

/** The records of a fork before those of its items: `session_start` and `session_forked`. */
const RECORDS_BEFORE = 2

export interface ForkError {
  ok: false
  error: string
  code?: SessionFailureCode
}

export class SessionTransitionService {
  constructor(private readonly options: SessionTransitionServiceOptions = {}) {}

  forkFromCheckpoint = async (
    target: ForkTarget,
    chatsDir: string,
    projectHash: string,
    provider: string,
    model: string,
    workspaceDirs: string[],
    source?: Recording | null,
  ): Promise<ForkResult | ForkError> => {
    const { mediaStore, maxQueueBytes } = this.options
    const recorder = { fileName: 'seconds', onWarning, maxQueueBytes, onQueueLimit: 'throw' } as const
    const forked = await forkSession<IContent>(target, {
      chatsDir,
      projectHash,
      provider,
      model,
      workspaceDirs,
      source,
      map,
      recorder,
    })
    if (!forked.ok) return forked
    const lastSeq = RECORDS_BEFORE + forked.history.length
    return { ...forked, boot: new ResumeCursorBoot(forked.recording.getFilePath()!, lastSeq, undefined, mediaStore) }
  }
}
