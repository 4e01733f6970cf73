//! The nodes that a divergence affects: the node at which two runs diverge, and all nodes that depend on it.

use crate::diff::stream::Source;
use crate::json::Text;
use crate::run::RunDirectory;

/// Returns `nodes` and all nodes that depend on them, directly or indirectly: nearest first, then in the order of the graph. If the
/// graph can't be read, returns `nodes` only.
pub(crate) fn affected_nodes(source: &Source, nodes: &[Text<'_>]) -> Vec<String> {
    if nodes.is_empty() {
        return Vec::new();
    }
    match RunDirectory::new(&source.root).read_dag() {
        Ok(dag) => dag.dependents(nodes).into_iter().map(plain).collect(),
        Err(_) => nodes.iter().map(plain).collect(),
    }
}

fn plain(id: &Text<'_>) -> String {
    id.to_plain().into_owned()
}
