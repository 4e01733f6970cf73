import type { BundleProblem } from '../bundle/error.js'
// Only for links in the comments.
import type { BundleCode } from '../bundle/error.js'

/**
 * An error of a run, and its location (section 13).
 *
 * | `code` | means |
 * |---|---|
 * | `NotAJsonLine` | a complete line is not a JSON object, or not UTF-8 |
 * | `NotCanonical` | a line is a JSON object, but not in canonical form: other keys, another order, white space, a duplicate key |
 * | `UnsupportedVersion` | the line is of another format version |
 * | `UnknownKind` | the event is of a kind that this release does not know |
 * | `MissingField` | a required field of the line or its payload is missing |
 * | `InvalidField` | a field is of the wrong type or has an invalid value |
 * | `TooLarge` | a line, blob, snapshot or graph is over its limit (section 13) |
 * | `TimeGap` | the event does not have the logical time that its place requires: an event was lost, inserted, repeated or moved |
 * | `ParentMissing` | the parent that the event names is not an earlier event |
 * | `AfterEnd` | an event follows the end of the run |
 * | `IllegalTransition` | the state does not allow the event |
 * | `ChainBroken` | a hash does not match the stored bytes: they were changed after they were written |
 * | `StateMismatch` | the hash of the state is not the recorded one |
 * | `ScheduleMismatch` | the run's scheduler decides otherwise, or the worker to which a task is reassigned is not eligible; never with `external` |
 * | `WorkflowInvalid` | `workflow.json` or `dag.json` is not a valid graph |
 * | `DagMismatch` | `workflow.json`, `dag.json` and RunCreated do not belong together |
 * | `SnapshotInvalid` | a snapshot is damaged, of another run, or not signed by a trusted key |
 * | `BlobMissing`, `BlobCorrupt` | an output's blob is missing, or does not match its hash |
 * | `OutputMismatch` | a normalised output does not match its hash |
 * | `EmptyLog` | the log has no complete event |
 * | `NotARun` | the path is not that of a run: an empty or unrelated directory, a session's file, a run's log instead of its directory. The message says which |
 * | `ENOENT`, `EACCES` … | a system code: a file of the run can't be read. These errors also have `errno`, `syscall` and usually `path` |
 * | any {@link BundleCode} | the path is that of a bundle which does not verify. `path` is the file of the bundle concerned, if there is one |
 */
export interface RunError {
  /** A code of the table above. Later releases may add codes. */
  code: string
  /** A message for people, in one line. */
  message: string
  /** Logical time of the event concerned. Absent if the error concerns no event. */
  time?: number
  /** The event's id, `evt_<time>`. */
  eventId?: string
  /** The expected value, shortened if it is long. */
  expected?: string
  /** The value that was found. */
  found?: string
  /** The system's number for its error, negative as in Node. */
  errno?: number
  /** The system call that failed. */
  syscall?: string
  /** The file that could not be opened or read, or the file of the bundle concerned. */
  path?: string
  /** If a bundle does not verify: all its problems. `code`, `message` and `path` are those of the first. */
  problems?: BundleProblem[]
}
