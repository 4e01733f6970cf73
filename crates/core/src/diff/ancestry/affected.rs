//! The nodes that a divergence affects: the node at which two runs diverge, and all nodes that depend on it.

use std::collections::HashSet;

use crate::diff::stream::Source;
use crate::json::Text;
use crate::run::{Dag, RunDirectory, read_dag};

/// Returns `nodes` and all nodes that depend on them, directly or indirectly: nearest first, then in the order of the graph. If the
/// graph can't be read, returns `nodes` only.
pub(crate) fn affected_nodes(source: &Source, nodes: &[Text<'_>]) -> Vec<String> {
    if nodes.is_empty() {
        return Vec::new();
    }
    match read_dag(&RunDirectory::new(&source.root)) {
        Ok(dag) => dependents(&dag, nodes),
        Err(_) => nodes.iter().map(plain).collect(),
    }
}

fn plain(id: &Text<'_>) -> String {
    id.to_plain().into_owned()
}

fn dependents(dag: &Dag, nodes: &[Text<'_>]) -> Vec<String> {
    let mut waiting = vec![Vec::new(); dag.nodes().len()];
    for (index, node) in (0..).zip(dag.nodes()) {
        node.dependencies.iter().for_each(|&dependency| waiting[dependency as usize].push(index));
    }
    let mut affected: Vec<u32> = nodes.iter().filter_map(|id| dag.find(id)).collect();
    let mut known: HashSet<u32> = affected.iter().copied().collect();
    let mut nearest = 0..affected.len();
    while !nearest.is_empty() {
        let next = affected[nearest.clone()].iter().flat_map(|&node| &waiting[node as usize]);
        let mut next: Vec<u32> = next.copied().filter(|node| known.insert(*node)).collect();
        next.sort_unstable();
        affected.append(&mut next);
        nearest = nearest.end..affected.len();
    }
    affected.into_iter().map(|node| plain(&dag.nodes()[node as usize].id)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::compile;

    #[test]
    fn affected_nodes_are_all_dependents_nearest_first() {
        let node = |id: &str, on: &str| format!(r#"{{"id":"{id}","kind":"t","dependsOn":{on}}}"#);
        let nodes = [
            node("z", "[]"),
            node("b", r#"["z"]"#),
            node("a", r#"["b","c"]"#),
            node("c", r#"["z"]"#),
            node("y", "[]"),
            node("d", r#"["y"]"#),
        ];
        let dag = compile(&format!(r#"{{"name":"","version":"","nodes":[{}]}}"#, nodes.join(","))).unwrap();
        let of = |ids: &[&str]| dependents(&dag, &ids.iter().map(|id| Text::from_plain(id)).collect::<Vec<_>>());
        assert_eq!(of(&["z"]), ["z", "b", "c", "a"]);
        assert_eq!(of(&["a"]), ["a"]);
        assert_eq!(of(&["c", "y"]), ["c", "y", "a", "d"]);
        assert_eq!(of(&["nowhere"]), Vec::<String>::new());
    }
}
