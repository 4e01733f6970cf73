import {
  foldCheckpoints,
  openSession,
  readSessionHeader,
  replaySession as replay,
  type ReplayResult,
} from 'session-tape'

import { type IContent, withoutStoredResponses as map } from './content.js'
import { verifyMedia, type MediaStore } from './media.js'

export { foldCheckpoints as foldCheckpointMetadata, readSessionHeader }

export interface ReplayOptions {
  /** Every reference of the history is verified. */
  mediaStore?: MediaStore | undefined
}

export const replaySession = (
  filePath: string,
  projectHash: string,
  { mediaStore }: ReplayOptions = {},
): Promise<ReplayResult<IContent>> =>
  verified(replay<IContent>(filePath, projectHash, { strict: true, map }), mediaStore)

export const replaySessionThroughSequence = (
  filePath: string,
  projectHash: string,
  throughSeq: number,
  { mediaStore }: ReplayOptions = {},
): Promise<ReplayResult<IContent>> =>
  verified(replay<IContent>(filePath, projectHash, { strict: true, throughSeq, map }), mediaStore)

/** Replays in bounded memory: each item is passed to `onRow`, which is awaited, and the history of the result is empty. */
export async function replaySessionRows(
  filePath: string,
  projectHash: string,
  onRow: (row: IContent) => Promise<void> | void,
): Promise<ReplayResult<IContent>> {
  const opened = await openSession<IContent>(filePath, projectHash, { strict: true, map })
  if (!opened.ok) return opened
  const { historyLength: _, ...reported } = opened.session
  try {
    for await (const row of opened.session.rows()) await onRow(row)
    return { ...reported, ok: true, history: [] }
  } finally {
    opened.session.close()
  }
}

async function verified(
  replaying: Promise<ReplayResult<IContent>>,
  store: MediaStore | undefined,
): Promise<ReplayResult<IContent>> {
  const replayed = await replaying
  if (!replayed.ok) return replayed
  try {
    for (const item of replayed.history) await verifyMedia(item, store)
    return replayed
  } catch (error) {
    return { ok: false, error: (error as Error).message, warnings: replayed.warnings }
  }
}
