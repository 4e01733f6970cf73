//! The graph of a run: compiled from a workflow, written as canonical JSON, identified by its hash.
//!
//! Equal workflows yield equal bytes, whatever the order of their nodes. A [`Dag`] is always valid: ids are unique and not empty, edges
//! join two nodes of the graph, and there is no cycle.

use std::collections::HashSet;

use super::lookup::Lookup;
use crate::hash::{HexHash, as_text, sha256_hex};
use crate::json::{Field, FieldError, Nesting, Text, Writer, names, quoted};
use crate::order;
use crate::run::format::{ErrorCode, RunError};

/// Maximum number of nodes of a cycle that an error names.
const CYCLE_SHOWN: usize = 10;

/// A node of the graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DagNode {
    /// Its id, unique in the graph.
    pub id: Text<'static>,
    /// The kind of node, in the workflow's own terms.
    pub kind: Text<'static>,
    /// The tool that it runs, if any.
    pub tool: Option<Text<'static>>,
    /// The capabilities that a worker needs, sorted, without duplicates.
    pub capabilities: Vec<Text<'static>>,
    /// The nodes that must be done before, as indices into [`Dag::nodes`], sorted, without duplicates.
    pub dependencies: Vec<u32>,
}

/// A compiled graph.
#[derive(Clone, Debug)]
pub struct Dag {
    nodes: Vec<DagNode>,
    lookup: Lookup,
    text: String,
    hash: HexHash,
}

/// A parsed workflow.
#[derive(Clone, Debug)]
pub(crate) struct Workflow {
    /// Its name.
    pub name: Text<'static>,
    /// Its version.
    pub version: Text<'static>,
    nodes: Vec<NodeSpec>,
}

/// A node whose dependencies are still ids.
#[derive(Clone, Debug)]
struct NodeSpec {
    id: Text<'static>,
    kind: Text<'static>,
    tool: Option<Text<'static>>,
    capabilities: Vec<Text<'static>>,
    depends_on: Vec<Text<'static>>,
}

impl Workflow {
    /// Parses `{ name, version, nodes: [{ id, kind, tool?, dependsOn?, capabilities? }] }`. Ignores other fields.
    pub(crate) fn parse(json: &str) -> Result<Self, RunError> {
        Self::read(json).map_err(|error| invalid(format!("The workflow is not valid: {error}.")))
    }

    fn read(json: &str) -> Result<Self, FieldError> {
        let nesting = &mut Nesting::default();
        let [name, version, list] =
            Field::read(json.trim_matches([' ', '\t', '\n', '\r']), names!["name", "version", "nodes"], nesting)?;
        let nodes = drafts(list, nesting, |json, nesting| {
            let names = names!["id", "kind", "tool", "dependsOn", "capabilities"];
            let [id, kind, tool, depends_on, capabilities] = Field::read(json, names, nesting)?;
            Ok(NodeSpec {
                depends_on: owned(depends_on.optional(|field| field.ids(nesting))?),
                ..draft(id, kind, tool, owned(capabilities.optional(|field| field.id_set(nesting))?))?
            })
        })?;
        Ok(Workflow { name: name.text()?.into_owned(), version: version.text()?.into_owned(), nodes })
    }

    /// Compiles the workflow.
    pub(crate) fn compile(self) -> Result<Dag, RunError> {
        Dag::build(self.nodes)
    }
}

impl Dag {
    /// Compiles a workflow, given as JSON.
    pub fn compile(workflow: &str) -> Result<Self, RunError> {
        Workflow::parse(workflow)?.compile()
    }

    /// Parses a graph from canonical JSON. Any text other than that of [`text`](Self::text) is an error.
    pub fn parse(text: &str) -> Result<Self, RunError> {
        let drafts = Self::read(text).map_err(|error| invalid(format!("The graph is not valid: {error}.")))?;
        let dag = Dag::build(drafts)?;
        if dag.text != text {
            return Err(invalid(
                "The graph is not written as canonical JSON, nodes by id, edges sorted and each once.",
            ));
        }
        Ok(dag)
    }

    fn read(text: &str) -> Result<Vec<NodeSpec>, FieldError> {
        let nesting = &mut Nesting::default();
        let [edges, list] = Field::read(text, names!["edges", "nodes"], nesting)?;
        let mut nodes = drafts(list, nesting, |json, nesting| {
            let [id, kind, tool, capabilities] =
                Field::read(json, names!["id", "kind", "tool", "capabilities"], nesting)?;
            draft(id, kind, tool, owned(Some(capabilities.id_set(nesting)?)))
        })?;
        let mut pairs = Vec::new();
        edges.each(nesting, |edge| {
            let mut ends = edge.ids(&mut Nesting::default())?;
            let (Some(to), Some(from), true) = (ends.pop(), ends.pop(), ends.is_empty()) else {
                return Err(edge.wrong("an array of pairs [from, to]"));
            };
            pairs.push((to, from));
            Ok(())
        })?;
        // Sorted by node, so that each node takes its own pairs. Nodes are sorted too, or the text is not canonical.
        order::sort_by(&mut pairs, Ord::cmp);
        let mut pairs = pairs.into_iter().peekable();
        for node in &mut nodes {
            while let Some((_, from)) = pairs.next_if(|(to, _)| *to == node.id) {
                node.depends_on.push(from.into_owned());
            }
        }
        match pairs.next() {
            Some((_, _)) => Err(edges.wrong("pairs of nodes of the graph")),
            None => Ok(nodes),
        }
    }

    fn build(mut drafts: Vec<NodeSpec>) -> Result<Self, RunError> {
        order::sort_by(&mut drafts, |left, right| left.id.cmp(&right.id));
        let mut lookup = Lookup::default();
        for (index, draft) in drafts.iter().enumerate() {
            if index > 0 && drafts[index - 1].id == draft.id {
                return Err(invalid(format!("The node id '{}' is used twice.", shown(&draft.id))));
            }
            lookup.insert(draft.id.as_json(), index as u32, |other| drafts[other as usize].id.as_json());
        }
        let dependencies =
            drafts.iter().map(|draft| resolve(draft, &drafts, &lookup)).collect::<Result<Vec<_>, _>>()?;
        let node = |(draft, dependencies): (NodeSpec, _)| {
            let NodeSpec { id, kind, tool, capabilities, depends_on: _ } = draft;
            DagNode { id, kind, tool, capabilities, dependencies }
        };
        let nodes: Vec<DagNode> = drafts.into_iter().zip(dependencies).map(node).collect();
        refuse_cycle(&nodes)?;
        let text = print(&nodes);
        let hash = sha256_hex([text.as_bytes()]);
        Ok(Dag { nodes, lookup, text, hash })
    }

    /// The nodes, in the order of the UTF-8 bytes of their ids.
    pub fn nodes(&self) -> &[DagNode] {
        &self.nodes
    }

    /// The index in [`nodes`](Self::nodes) of the node with this id.
    #[inline]
    pub fn find(&self, id: &Text<'_>) -> Option<u32> {
        self.lookup.find(id.as_json(), |index| self.nodes[index as usize].id.as_json() == id.as_json())
    }

    /// The ids of `nodes` and of all nodes that depend on them, directly or indirectly: nearest first, then in the order of the graph.
    pub fn dependents(&self, nodes: &[Text<'_>]) -> Vec<&Text<'static>> {
        let mut waiting = vec![Vec::new(); self.nodes.len()];
        for (index, node) in (0..).zip(&self.nodes) {
            node.dependencies.iter().for_each(|&dependency| waiting[dependency as usize].push(index));
        }
        let mut affected: Vec<u32> = nodes.iter().filter_map(|id| self.find(id)).collect();
        let mut known: HashSet<u32> = affected.iter().copied().collect();
        let mut nearest = 0..affected.len();
        while !nearest.is_empty() {
            let next = affected[nearest.clone()].iter().flat_map(|&node| &waiting[node as usize]);
            let mut next: Vec<u32> = next.copied().filter(|node| known.insert(*node)).collect();
            next.sort_unstable();
            affected.append(&mut next);
            nearest = nearest.end..affected.len();
        }
        affected.into_iter().map(|node| &self.nodes[node as usize].id).collect()
    }

    /// The graph as canonical JSON: the content of `dag.json`.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// SHA-256 of [`text`](Self::text), in hex.
    pub fn hash(&self) -> &str {
        as_text(&self.hash)
    }
}

impl PartialEq for Dag {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Dag {}

fn invalid(message: impl Into<String>) -> RunError {
    RunError::new(ErrorCode::WorkflowInvalid, message)
}

fn shown(id: &Text<'_>) -> String {
    quoted(&id.to_plain())
}

fn owned(texts: Option<Vec<Text<'_>>>) -> Vec<Text<'static>> {
    texts.unwrap_or_default().into_iter().map(Text::into_owned).collect()
}

fn draft(
    id: Field<'_>,
    kind: Field<'_>,
    tool: Field<'_>,
    capabilities: Vec<Text<'static>>,
) -> Result<NodeSpec, FieldError> {
    Ok(NodeSpec {
        id: id.id()?.into_owned(),
        kind: kind.text()?.into_owned(),
        tool: tool.optional(Field::text)?.map(Text::into_owned),
        capabilities,
        depends_on: Vec::new(),
    })
}

/// Reads an array of nodes, each with `read`.
fn drafts(
    list: Field<'_>,
    nesting: &mut Nesting,
    mut read: impl FnMut(&str, &mut Nesting) -> Result<NodeSpec, FieldError>,
) -> Result<Vec<NodeSpec>, FieldError> {
    let (mut nodes, inner) = (Vec::new(), &mut Nesting::default());
    list.each(nesting, |element| {
        let node = read(element.required("an object")?, inner);
        nodes.push(node.map_err(|error| error.within(&format!("nodes[{}]", nodes.len())))?);
        Ok(())
    })?;
    Ok(nodes)
}

fn resolve(draft: &NodeSpec, drafts: &[NodeSpec], lookup: &Lookup) -> Result<Vec<u32>, RunError> {
    let find = |id: &Text<'_>| lookup.find(id.as_json(), |index| drafts[index as usize].id == *id);
    let mut found = Vec::with_capacity(draft.depends_on.len());
    for id in &draft.depends_on {
        if *id == draft.id {
            return Err(invalid(format!("The node '{}' depends on itself.", shown(id))));
        }
        found.push(find(id).ok_or_else(|| {
            invalid(format!("The node '{}' depends on '{}', which is not there.", shown(&draft.id), shown(id)))
        })?);
    }
    found.sort_unstable();
    found.dedup();
    Ok(found)
}

/// Removes nodes without dependencies until none are left, or only cycles and the nodes that depend on them.
fn refuse_cycle(nodes: &[DagNode]) -> Result<(), RunError> {
    let mut waiting: Vec<u32> = nodes.iter().map(|node| node.dependencies.len() as u32).collect();
    let mut dependents = vec![Vec::new(); nodes.len()];
    for (index, node) in nodes.iter().enumerate() {
        for &dependency in &node.dependencies {
            dependents[dependency as usize].push(index);
        }
    }
    let mut free: Vec<usize> = (0..nodes.len()).filter(|&index| waiting[index] == 0).collect();
    while let Some(index) = free.pop() {
        for &dependent in &dependents[index] {
            waiting[dependent] -= 1;
            if waiting[dependent] == 0 {
                free.push(dependent);
            }
        }
    }
    match waiting.iter().position(|&count| count > 0) {
        None => Ok(()),
        Some(stuck) => Err(invalid(format!("The nodes depend on each other: {}.", cycle(nodes, &waiting, stuck)))),
    }
}

/// Finds a cycle, starting at a node that can never run: every such node depends on another one.
fn cycle(nodes: &[DagNode], waiting: &[u32], stuck: usize) -> String {
    let mut path = vec![stuck];
    let mut place = vec![None; nodes.len()];
    let start = loop {
        let at = path[path.len() - 1];
        if let Some(start) = place[at] {
            break start;
        }
        place[at] = Some(path.len() - 1);
        let blocking = nodes[at].dependencies.iter().find(|&&dependency| waiting[dependency as usize] > 0);
        path.push(blocking.map_or(at, |&dependency| dependency as usize));
    };
    let names: Vec<_> = path[start..].iter().take(CYCLE_SHOWN).map(|&index| shown(&nodes[index].id)).collect();
    let more = if path.len() - start > CYCLE_SHOWN { " → …" } else { "" };
    names.join(" → ") + more
}

fn print(nodes: &[DagNode]) -> String {
    let mut edges: Vec<(u32, u32)> = Vec::new();
    for (to, node) in nodes.iter().enumerate() {
        edges.extend(node.dependencies.iter().map(|&from| (from, to as u32)));
    }
    // Indices are in the order of ids.
    edges.sort_unstable();
    let mut text = Vec::new();
    let mut graph = Writer::new(&mut text).object();
    let mut list = graph.key("edges").array();
    for (from, to) in edges {
        list.element().texts([from, to].map(|index| &nodes[index as usize].id));
    }
    list.close();
    let mut list = graph.key("nodes").array();
    for node in nodes {
        print_node(list.element(), node);
    }
    list.close();
    graph.close();
    String::from_utf8(text).unwrap_or_default()
}

fn print_node(out: Writer<'_>, node: &DagNode) {
    let mut object = out.object();
    object.key("capabilities").texts(&node.capabilities);
    object.key("id").text(node.id.as_json());
    object.key("kind").text(node.kind.as_json());
    if let Some(tool) = &node.tool {
        object.key("tool").text(tool.as_json());
    }
    object.close();
}

#[cfg(test)]
mod tests;
