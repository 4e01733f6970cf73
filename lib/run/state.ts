// The state of a run.

import type { WorkflowNode } from './workflow.js'

/** The state of a run after an event. */
export interface RunState {
  coordinator: CoordinatorState
  /** The workers by id: those of RunStarted, and those that were added by a Heartbeat. */
  workers: Record<string, WorkerState>
  /**
   * SHA-256 in hex over status, logical time and all entries of the state (section 9): two executions with the same events have the same hash. It
   * does not depend on run id, wall clock and blobs.
   */
  stateHash: string
}

/** The state of the run as a whole. */
export interface CoordinatorState {
  run: { id: string; status: 'Created' | 'Running' | 'Completed' | 'Failed' }
  /** The graph: its nodes by id, `dependsOn` as `edges` from the dependency to the node that waits for it. */
  dag: { nodes: WorkflowNode[]; edges: [string, string][] }
  /** Every node of the graph, by id. */
  nodeStates: Record<string, NodeState>
  /** The tasks that wait for a worker, in order. */
  pendingTasks: string[]
  /** Ids of the nodes that are Completed, sorted by their UTF-8 bytes. */
  completedNodes: string[]
  /** The logical time of the last event. */
  logicalTime: number
}

/** The state of a node. */
export interface NodeState {
  status: 'Pending' | 'Scheduled' | 'Running' | 'Completed' | 'Failed' | 'Skipped'
  /** Number of times the node was scheduled; 0 if it never was. */
  attempt: number
  /** The task of the last attempt. Absent before the first attempt, and if the node was skipped before that task ran. */
  task?: string
  /** The `outputHash` of NodeCompleted. */
  resultHash?: string
  /** The error of the last failed attempt; absent again once a later attempt completes. */
  error?: { code: string; message: string }
}

/** The state of a worker. */
export interface WorkerState {
  workerId: string
  /** The status in the worker's last Heartbeat; `idle` before the first. Tasks are assigned only to `idle` and `busy` workers. */
  status: string
  /** The worker's current tasks, by id: Assigned, Accepted or Running. `assignedAt` is the logical time of TaskAssigned. */
  activeTasks: Record<string, { node: string; attempt: number; status: string; assignedAt: number }>
  /** The tasks that the worker completed, in the order in which they ended. Failed ones are not included. */
  completedTasks: string[]
  /** The capabilities, sorted, without duplicates. */
  capabilities: string[]
}
