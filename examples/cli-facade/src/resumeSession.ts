import {
  CONTINUE_LATEST,
  resumeSession as resume,
  type OpenedSession,
  type ResumeRequest as Request,
  type ResumeResult as Resumed,
  type SessionFailureCode,
} from 'session-tape'

import { type IContent, withoutStoredResponses as map } from './content.js'
import { onWarning } from './logging.js'
import { verifyMedia, type MediaStore } from './media.js'
import { ResumeCursorBoot } from './resumeCursorBoot.js'
import type { UnreadableRecording } from './types.js'

export { CONTINUE_LATEST }

export interface ResumeRequest extends Omit<Request, 'recorder' | 'map' | 'history'> {
  /** Every reference of the history is verified. */
  mediaStore?: MediaStore | undefined
  maxQueueBytes?: number | undefined
}

/** A CLI that has its history in memory takes `history`. One that reads it page by page takes `boot`, and asks for `history: 'cursor'`. */
export interface ResumeResult extends Resumed<IContent> {
  boot: ResumeCursorBoot
}

/** The history is not read: it is read through `boot`, which the recorder's `dispose` closes. */
export type CursorResumeResult = Omit<ResumeResult, 'history'>

export interface ResumeError {
  ok: false
  error: string
  code?: SessionFailureCode
  skippedRecordings?: readonly UnreadableRecording[]
}

export function resumeSession(request: ResumeRequest & { history: 'cursor' }): Promise<CursorResumeResult | ResumeError>
export function resumeSession(request: ResumeRequest & { history?: undefined }): Promise<ResumeResult | ResumeError>
export async function resumeSession({
  mediaStore,
  maxQueueBytes,
  history,
  ...request
}: ResumeRequest & { history?: 'cursor' | undefined }): Promise<ResumeResult | CursorResumeResult | ResumeError> {
  const asked = { ...request, map, recorder: { onWarning, maxQueueBytes, onQueueLimit: 'throw' } } as const
  if (history === 'cursor') {
    const resumed = await resume<IContent>({ ...asked, history })
    if (!resumed.ok) return resumed
    const { session, ...others } = resumed
    return { ...others, boot: bootOf(others, mediaStore, session) }
  }
  const resumed = await resume<IContent>(asked)
  if (!resumed.ok) return resumed
  try {
    for (const item of resumed.history) await verifyMedia(item, mediaStore)
    return { ...resumed, boot: bootOf(resumed, mediaStore) }
  } catch (error) {
    await resumed.recording.dispose()
    return {
      ok: false,
      error: `Failed to replay session: ${(error as Error).message}`,
      skippedRecordings: resumed.skippedRecordings,
    }
  }
}

const bootOf = (
  { recording, lastSeq }: Pick<Resumed<IContent>, 'recording' | 'lastSeq'>,
  mediaStore?: MediaStore,
  session?: OpenedSession<IContent>,
): ResumeCursorBoot => new ResumeCursorBoot(recording.getFilePath()!, lastSeq, session, mediaStore)
