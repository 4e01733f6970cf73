// Requests to resume a session, for the specs that resume one.

import { CONTINUE_LATEST, resumeSession } from '../../index.js'
import type { ResumeRequest, ResumeResult } from '../../index.js'
import { PROJECT_HASH, START_PAYLOAD } from './session-file'

/** A request with the provider and the model that a session has from its start. */
export function requestOf(
  chatsDir: string,
  continueRef: string = CONTINUE_LATEST,
  more: Partial<ResumeRequest> = {},
): ResumeRequest {
  return {
    continueRef,
    chatsDir,
    projectHash: PROJECT_HASH,
    currentProvider: START_PAYLOAD.provider,
    currentModel: START_PAYLOAD.model,
    workspaceDirs: ['/w'],
    ...more,
  }
}

/** Resumes a session that can be resumed. */
export async function resumed(
  chatsDir: string,
  continueRef?: string,
  more?: Partial<ResumeRequest>,
): Promise<ResumeResult> {
  const result = await resumeSession(requestOf(chatsDir, continueRef, more))
  if (!result.ok) throw new Error(`${result.code}: ${result.error}`)
  return result
}

/** Resumes a session, and ends the recording at once. */
export async function resumedAndEnded(
  chatsDir: string,
  continueRef?: string,
  more?: Partial<ResumeRequest>,
): Promise<ResumeResult> {
  const result = await resumed(chatsDir, continueRef, more)
  await result.recording.dispose()
  return result
}
