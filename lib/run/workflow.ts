import { native } from '../addon.js'
import { check, checkEach, expect } from '../arguments.js'
import { type Failure, errorOf } from '../binding/errors.js'
import { parse, stringify } from '../builtins.js'

/** The workflow that a run executes: nodes and their dependencies. */
export interface Workflow {
  /** A name for people, which is recorded in RunCreated; not part of the graph. */
  name: string
  /** A version for people, which is recorded in RunCreated; not part of the graph. */
  version: string
  /** The nodes. Their order has no effect. */
  nodes: WorkflowNode[]
}

/** A node of a {@link Workflow}. */
export interface WorkflowNode {
  /** Non-empty, unique in the workflow. Tasks are named after it: `<id>#<attempt>`. */
  id: string
  /** The kind of node, as the workflow defines it. */
  kind: string
  /** The tool that the node runs, if any. */
  tool?: string | undefined
  /** Ids of the nodes that must be Completed or Skipped before this one is scheduled. Default: none. */
  dependsOn?: string[] | undefined
  /** The capabilities that a worker needs to be assigned the tasks of this node. Default: none. */
  capabilities?: string[] | undefined
}

/**
 * Compiles a workflow to its graph (section 7), which is the content of `dag.json`.
 *
 * The same workflow gives the same bytes, whatever order its nodes, dependencies and capabilities were written in.
 *
 * @returns `dag`, the graph as canonical JSON, and `dagHash`, the SHA-256 of its UTF-8 bytes in hex, which RunCreated names.
 * @throws An `Error` with the `code` `WorkflowInvalid` if the nodes do not form a valid graph: a duplicate id, a dependency on an unknown node or
 * on the node itself, a cycle.
 * @throws TypeError - If `workflow`, or a field of it, is of the wrong type; the message names it (`workflow.nodes[2].id`).
 *
 * @example
 * ```ts
 * import { compileWorkflow } from 'session-tape';
 *
 * const { dag } = compileWorkflow({
 *   name: 'release', version: '1',
 *   nodes: [{ id: 'test', kind: 'task', dependsOn: ['build'] }, { id: 'build', kind: 'task', capabilities: ['net'] }],
 * });
 * console.log(dag.slice(0, 28)); // {"edges":[["build","test"]],
 * ```
 */
export function compileWorkflow(workflow: Workflow): { dag: string; dagHash: string } {
  checkWorkflow(workflow, 'workflow')
  const { error, dag, dagHash } = parse<{ error?: Failure; dag: string; dagHash: string }>(
    native.compileWorkflow(stringify(workflow)),
  )
  if (error) throw errorOf(error)
  return { dag, dagHash }
}

/** Checks the types of a workflow. The addon's compiler checks that its nodes make a graph. @internal */
export function checkWorkflow(workflow: Workflow, name: string): void {
  check.object(workflow, name)
  check.string(workflow.name, `${name}.name`)
  check.string(workflow.version, `${name}.version`)
  expect(Array.isArray(workflow.nodes), `${name}.nodes`, 'an array', workflow.nodes)
  checkEach(workflow.nodes, `${name}.nodes`, checkNode)
}

function checkNode(node: WorkflowNode, name: string): void {
  check.object(node, name)
  check.filledString(node.id, `${name}.id`)
  check.string(node.kind, `${name}.kind`)
  check.optional(node.tool, `${name}.tool`, 'string')
  for (const list of ['dependsOn', 'capabilities'] as const) {
    if (node[list] !== undefined) check.filledStrings(node[list], `${name}.${list}`)
  }
}
