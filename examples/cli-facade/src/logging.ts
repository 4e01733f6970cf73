// How the CLI learns that a recording has ended because of an error.

import type { RecordingWarning } from 'session-tape';

export const onWarning = ({ message }: RecordingWarning): void => console.warn(message);
