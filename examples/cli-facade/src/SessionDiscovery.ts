import { basename } from 'node:path'

import {
  checkSessionName,
  listContinueTargets,
  listSessions,
  readSessionHeader,
  readSessionPreview,
  readSessionTitle,
  resolveContinueRef,
  resolveSessionRef,
  type SessionFailureCode,
  type SessionStartPayload,
} from 'session-tape'

import type { MediaStore } from './media.js'
import type { ContinueTarget, SessionSummary, UnreadableRecording } from './types.js'

/** The CLI's name for the bounded reader of headers. */
export { readSessionHeader as readFirstLineFromFile }

export interface SessionResolution {
  session: SessionSummary
}

export interface SessionResolutionError {
  error: string
  code?: SessionFailureCode
}

/** What a list has passed over. */
interface PassedOver {
  skippedCount: number
  /** The recordings as the CLI shows them: `FILE: REASON`. */
  recordingErrors: string[]
  unreadableRecordings: UnreadableRecording[]
}

interface SessionList extends PassedOver {
  sessions: SessionSummary[]
}

interface TargetList extends PassedOver {
  targets: ContinueTarget[]
}

export class SessionDiscovery {
  static listSessions = async (chatsDir: string, projectHash: string): Promise<SessionSummary[]> =>
    (await SessionDiscovery.listSessionsDetailed(chatsDir, projectHash)).sessions

  static async listSessionsDetailed(chatsDir: string, projectHash: string): Promise<SessionList> {
    const { sessions, unreadable } = await listSessions(chatsDir, { projectHash })
    throwUnlessRead(chatsDir, unreadable)
    return { sessions: sessions.filter(isRecorded), ...passedOver(unreadable.filter(isRecorded)) }
  }

  /** Images are verified when a session is resumed, not in a list. */
  static listContinueTargets = async (
    chatsDir: string,
    projectHash: string,
    _mediaStore?: MediaStore,
  ): Promise<ContinueTarget[]> => (await SessionDiscovery.listContinueTargetsDetailed(chatsDir, projectHash)).targets

  static async listContinueTargetsDetailed(
    chatsDir: string,
    projectHash: string,
    _mediaStore?: MediaStore,
  ): Promise<TargetList> {
    const { targets, unreadable } = await listContinueTargets(chatsDir, projectHash)
    return { targets, ...passedOver(unreadable) }
  }

  static resolveContinueRef = resolveContinueRef
  static resolveSessionRef = resolveSessionRef
  static validateName = checkSessionName

  /** The message about a conflict is the CLI's own. */
  static async validateAvailableName(name: string, chatsDir: string, projectHash: string): Promise<string> {
    const trimmed = checkSessionName(name)
    const taken = (await SessionDiscovery.listContinueTargets(chatsDir, projectHash)).find((target) =>
      isNamed(target, trimmed),
    )
    if (taken !== undefined) throw new Error(`Name '${trimmed}' already exists (conflicts with a ${taken.kind})`)
    return trimmed
  }

  static hasContentEvents = async (filePath: string): Promise<boolean> =>
    (await readSessionPreview(filePath)).hasContent

  static readFirstUserMessage = async (filePath: string, length?: number): Promise<string | null> =>
    (await readSessionPreview(filePath, { length })).firstUserMessage

  static readSessionHeader = (filePath: string): Promise<SessionStartPayload | null> => readSessionHeader(filePath)
  static readSessionMetadataTitle = (filePath: string): Promise<string | null | undefined> => readSessionTitle(filePath)
}

/** A directory that does not exist has no sessions. One that cannot be read is an error here; session-tape reports it like an unreadable file. */
function throwUnlessRead(chatsDir: string, unreadable: UnreadableRecording[]): void {
  const reason = unreadable.find(({ filePath }) => filePath === chatsDir)?.reason
  const code = reason?.split(':')[0]
  if (code !== undefined && code !== 'ENOENT') throw Object.assign(new Error(reason), { code })
}

const isRecorded = ({ filePath }: { filePath: string }): boolean =>
  /^session-.*\.jsonl(?:\.zst)?$/.test(basename(filePath))

const passedOver = (unreadableRecordings: UnreadableRecording[]): PassedOver => ({
  skippedCount: unreadableRecordings.length,
  recordingErrors: unreadableRecordings.map(({ filePath, reason }) => `${filePath}: ${reason}`),
  unreadableRecordings,
})

const isNamed = (target: ContinueTarget, name: string): boolean =>
  target.kind === 'session'
    ? [target.session.name, target.session.sessionId].includes(name)
    : target.checkpointName === name
