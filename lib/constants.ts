/** A `continueRef`: the newest session that is not in use and can be resumed. */
export const CONTINUE_LATEST: '__CONTINUE_LATEST__' = '__CONTINUE_LATEST__'

/** Default of `maxQueueBytes`: how many bytes may wait to be written before `commit` waits for room. 64 MiB. */
export const DEFAULT_MAX_QUEUE_BYTES: 67108864 = 67108864

/** With `fileName: 'seconds'`, this many characters of the session id end the file's name, before `.jsonl`. */
export const SESSION_FILE_ID_PREFIX_LENGTH: 12 = 12
