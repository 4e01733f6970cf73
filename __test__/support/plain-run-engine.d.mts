import type { RunEventKind, RunState, Workflow } from '../../index.js'

/** The members of an event's line, whether or not its hash covers them. */
export interface PlainEvent {
  time: number
  ts: string
  kind: string
  node: string | null
  parent: number | null
  stateHash: string
  salt: string
  /** JSON text. */
  payload: string
  /** Overrides the hash of salt and payload. */
  payloadHash?: string
}
export interface PlainSnapshot {
  snapshotId: string
  contentHash: string
  /** The document. */
  text: string
}
export type Payload = Record<string, unknown>
export interface Place {
  /** Defaults to the node of the payload's task. */
  node?: string | null
  /** Defaults to the implied parent. */
  parent?: number | null
}
interface PlainState {
  run: { id: string; status: RunState['coordinator']['run']['status'] }
  nodes: Map<string, RunState['coordinator']['nodeStates'][string]>
  tasks: Map<string, { node: string; attempt: number; status: string; worker?: string }>
  pending: { position: number; task: string }[]
  workers: Map<string, { status: string; capabilities: string[] }>
  calls: Map<string, Map<string, { tool: string; status: string }>>
  logicalTime: number
}

export declare class PlainRun {
  constructor(config: {
    runId: string
    workflow: Workflow
    scheduler?: string
    capabilities?: string[] | undefined
    saltOf?: (time: number) => string
    tsOf?: (time: number) => string
  })
  readonly workflow: Workflow
  readonly graph: { graph: RunState['coordinator']['dag']; dag: string; dagHash: string }
  readonly state: PlainState
  readonly events: PlainEvent[]
  readonly lines: string[]
  readonly hashes: string[]
  readonly states: RunState[]
  readonly snapshots: Map<string, string>
  readonly blobs: Map<string, string | Uint8Array>
  readonly time: number
  readonly log: string
  append(kind: RunEventKind, payload: Payload, place?: Place): number
  impliedParent(kind: RunEventKind, payload: Payload, node?: string | null): number | null
  putBlob(data: string | Uint8Array): string
  snapshot(options?: { signWith?: string }): PlainSnapshot
  write(directory: string): string
}

/** Thrown for an event that is invalid or that the state does not allow. */
export declare class Refused extends Error {
  code: string
}

export declare const KINDS: RunEventKind[]
export declare function requiredFields(kind: RunEventKind): string[]
export declare function compileWorkflow(workflow: Workflow): PlainRun['graph']
export declare function decision(state: PlainState): { task: string; worker: string } | undefined
export declare function eligibleWorkers(state: PlainState, task: string): string[]
export declare function dependenciesAreMet(state: PlainState, node: string): boolean
export declare function stateHash(state: PlainState, logicalTime?: number): string
export declare function canonicalJson(value: unknown): string
export declare function sha256(...parts: (string | Uint8Array)[]): string
export declare function byBytes(a: string, b: string): number
export declare const NO_HASH: string
export declare function payloadText(payload: Payload): string
export declare function sealedLine(event: PlainEvent, previousHash: string): { line: string; hash: string }
export declare function openedLine(line: string): { event: PlainEvent; hash: string }
export declare function rechained(events: PlainEvent[]): string[]
export declare function sealedSnapshot(content: Record<string, unknown>, signWith?: string): PlainSnapshot
export declare function blobPath(directory: string, hash: string): string
export declare function normalized(normalizer: string, data: string | Uint8Array): Uint8Array
