// Compiles a workflow to a graph.

import { byBytes, canonicalJson, sha256 } from './canonical.mjs'

/** The graph of a valid workflow, its canonical JSON and the hash of that. */
export function compileWorkflow(workflow) {
  const nodes = workflow.nodes
    .map(({ id, kind, tool, capabilities = [] }) => ({ id, kind, tool, capabilities: sortedSet(capabilities) }))
    .sort((a, b) => byBytes(a.id, b.id))
  const edges = workflow.nodes
    .flatMap(({ id, dependsOn = [] }) => sortedSet(dependsOn).map((dependency) => [dependency, id]))
    .sort(([from, to], [otherFrom, otherTo]) => byBytes(from, otherFrom) || byBytes(to, otherTo))
  const dag = canonicalJson({ nodes, edges })
  return { graph: JSON.parse(dag), dag, dagHash: sha256(dag) }
}

export function sortedSet(texts) {
  return [...new Set(texts)].sort(byBytes)
}
