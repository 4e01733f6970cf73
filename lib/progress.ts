/** Progress of a long operation. */
export interface Progress {
  /** Bytes processed so far. */
  bytes: number
  /** Bytes in total. */
  total: number
  /** Files processed so far, where there are several. */
  files?: number
}
