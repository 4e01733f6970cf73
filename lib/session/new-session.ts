// The beginning of a new session: its file's name, and its first record.

import { stringify } from '../builtins.js'
import { SESSION_FILE_ID_PREFIX_LENGTH } from '../constants.js'
import type { SessionRecordingServiceConfig as Config } from './recorder-config.js'

/** With `fileName: 'minutes'`, this many characters of the session id end the file's name. */
const SHORT_PREFIX_LENGTH = 8

/** The form of a file's name, for the addon. */
export function nameOf({ sessionId, fileName }: Config): { nameHasSeconds: boolean; idPrefix: string } {
  const nameHasSeconds = fileName === 'seconds'
  const idPrefix = sessionId.slice(0, nameHasSeconds ? SESSION_FILE_ID_PREFIX_LENGTH : SHORT_PREFIX_LENGTH)
  return { nameHasSeconds, idPrefix }
}

/** The payload of `session_start`, as JSON. */
export function startPayload(config: Config, startTime: string): string {
  const { sessionId, projectHash, workspaceDirs, cwd, provider, model, kind, parentSessionId } = config
  return stringify({ sessionId, projectHash, workspaceDirs, cwd, provider, model, startTime, kind, parentSessionId })
}
