import type { SessionKind } from './records.js'
import type { Progress } from '../progress.js'

/** Options of functions that scan all sessions of a directory. */
export interface ScanOptions {
  /** Sessions of which kinds. Default: only `'main'`; the sessions of sub-agents are left out. */
  kinds?: readonly SessionKind[] | undefined
  /** Aborting it stops the scan; the promise rejects with the signal's `reason`. */
  signal?: AbortSignal | undefined
  /** Called on the JavaScript thread, at most ten times a second, and once at the end. If it throws, the promise rejects with that error. */
  onProgress?: ((progress: Progress) => void) | undefined
}
