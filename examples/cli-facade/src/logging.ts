// Logs the reason when a recording has stopped because of an error.

import type { RecordingWarning } from 'session-tape'

export const onWarning = ({ message }: RecordingWarning): void => console.warn(message)
