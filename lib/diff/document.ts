// The diff of two recordings.

/**
 * One side of a divergence: the event of one recording at which the two diverge.
 *
 * After `kind` follow the fields that say what the event concerns (`node`, `tool`, a session's `speaker`) and those that distinguish it from others
 * of its kind: `output_hash`, `request_hash`, `input_hash`, `worker`, `code`, `message`… A session's side has an `excerpt` of the first text that
 * differs.
 */
export interface DiffSide {
  /** The id of the run or session. Empty if a partial recording does not contain it. */
  run_id: string
  /** `evt_<logical time>` in a run, `rec_<place>` in a session. */
  event_id: string
  /** The event's kind, or the record's type. */
  kind: string
  /** The graph node concerned. */
  node?: string
  /** The tool that is called or returns a result. */
  tool?: string
  /** The hash of the output; in a session, of the JSON text of the tool's result. */
  output_hash?: string
  [key: string]: unknown
}

/** A value that differs between the two sides. */
export interface DiffField {
  /** JSON pointer (RFC 6901) into the event as it is compared: `/kind`, `/node`, `/parent`, `/payload/…`; in a session `/type`, `/payload/…`. */
  path: string
  /** The value on the left. Absent if the left side has no such value, or if `note` is `tooLarge`. */
  left?: unknown
  /** The value on the right, likewise. */
  right?: unknown
  /**
   * A note on the difference. `whitespace`: the texts differ in white space only. `redacted`: the values may be equal, but one of them was
   * redacted. `otherPlace`: the logical times are equal, but refer to different events. `tooLarge`: a value is larger than 4 MiB.
   * `precision`: two integers that differ, but not as JavaScript numbers; `left` and `right` are strings, as they are written.
   */
  note?: 'whitespace' | 'redacted' | 'otherPlace' | 'tooLarge' | 'precision'
}

/** A causal ancestor of an event. */
export interface CausalEdge {
  /** Id of the event. */
  event_id: string
  /** The event's kind, or the record's type. */
  kind: string
  /** What the event concerns: a tool, a node; in a session the speaker and the tools. */
  label?: string
  /** `recorded`: the log states the cause. `inferred`: the cause follows from the order of the records of a session. */
  evidence: 'recorded' | 'inferred'
}

/** One of the differences between two recordings, as listed with `full`. */
export interface DiffEdit {
  /** `insert`: on the right only. `delete`: on the left only. `change`: on both sides with different values. */
  op: 'insert' | 'delete' | 'change'
  /** The event on the left: its logical time or, in a session, its place. */
  left?: number
  /** The event on the right, likewise. */
  right?: number
  /** The values that changed. Absent for `change` once the fields of all edits together exceed 32 MiB. */
  fields?: DiffField[]
}

/** Where two recordings diverge, and why. `docs/diff.md` describes how each field is determined. */
export interface Diff {
  /** The logical time of the event on the left, or on the right if the left has ended; in a session, the record's place, counted from 0. */
  divergence_event: number
  /** How they diverge. `HeaderMismatch`: the workflows, graphs or projects differ. */
  kind: 'EventMismatch' | 'LeftEnded' | 'RightEnded' | 'HeaderMismatch'
  /** The event on the left; `null` if the left has ended. */
  left: DiffSide | null
  /** The event on the right; `null` if the right has ended. */
  right: DiffSide | null
  /** The values that differ between the two events. Empty if one side has ended. */
  fields: DiffField[]
  /** The ids of the causal ancestors of the event, nearest first: of the left event, or of the right one if the left has ended. */
  causal_ancestors: string[]
  /** The causal ancestors of both sides. `truncated`: whether that side has more, before the start of a partial recording or beyond 100 000. */
  ancestors: { left: CausalEdge[]; right: CausalEdge[]; truncated: { left: boolean; right: boolean } }
  /** The id, on the left, of the nearest ancestor that both sides share. `null` if they share none. */
  common_ancestor: string | null
  /** The node at which they diverge and all nodes that depend on it, nearest first. Empty for sessions, and for events that concern no node. */
  affected_nodes: string[]
  /** The likely cause, as far as the recordings show it; otherwise `Unknown`. */
  likely_cause:
    | 'ExternalDataChanged'
    | 'InputChanged'
    | 'ScheduleChanged'
    | 'PolicyChanged'
    | 'WorkflowChanged'
    | 'LogTruncated'
    | 'Unknown'
  /** With `full`: all differences, in order, with as few insertions and deletions as possible. */
  edits?: DiffEdit[]
  /**
   * With `full`: the equal ranges from the divergence on. `left` and `right` are the numbers of the first event of a range, `length` is the number
   * of compared events in it.
   */
  equal?: { left: number; right: number; length: number }[]
  /** With `full`, instead of `edits`: the recordings differ by more insertions and deletions than `limit`. */
  edits_stopped?: { limit: number }
}
