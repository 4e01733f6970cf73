// What the host is warned of.

import type { RecordingOwner, RecordingWarning } from '../recording-warning.js'
import { type WriteFailure, ownerOf, shownOwner } from '../writing.js'

/** Recording goes on, although a function of the host has failed. */
export function hostFailed(
  code: 'ObserverFailed' | 'ProviderModelFailed',
  cause: unknown,
  filePath: string | null,
): RecordingWarning {
  const why = textOf(cause)
  const message =
    code === 'ObserverFailed'
      ? `onCommitWatermark failed: ${why}. Recording goes on.`
      : `resolveProviderModel failed: ${why}. Recording goes on with the values of the configuration.`
  return { code, message, filePath, eventsDropped: 0, cause }
}

/** The message of what was thrown, which may be anything. */
function textOf(cause: unknown): string {
  try {
    return cause instanceof Error ? cause.message : String(cause)
  } catch {
    return 'it threw a value that has no text'
  }
}

/** Recording has ended with a failure. */
export function stopped(failure: WriteFailure, filePath: string | null, eventsDropped: number): RecordingWarning {
  const owner = ownerOf(failure)
  return {
    code: failure.code,
    message: messageOf(failure, eventsDropped, owner),
    filePath: failure.code === 'ESESSIONLOCKED' ? failure.path : filePath,
    eventsDropped,
    ...(owner && { owner }),
  }
}

function messageOf({ code, message, path }: WriteFailure, dropped: number, owner: RecordingOwner | undefined): string {
  if (code === 'ESESSIONLOCKED') {
    return `Not recording to '${path}': it is being recorded to by ${shownOwner(owner)}. The session goes on without a recording.`
  }
  const records = dropped === 1 ? '1 record was' : `${dropped} records were`
  return `Recording stopped: ${message}. ${records} not written to '${path}'. The session goes on without a recording.`
}
