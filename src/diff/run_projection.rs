//! What of a run's event is compared (`docs/diff.md`, "What is compared").

use std::borrow::Cow;

use super::equal::{Pair, number, same_place};
use super::ignore::Pointer;
use super::places::Places;
use super::run_stream::RunEvent;
use super::tree::{Index, Mark, ROOT, Reference, Shape, Tree};
use crate::run::kind::Kind;
use crate::run::text::Text;

/// What it takes to compare an event.
#[derive(Clone, Copy)]
pub struct Facts<'e> {
    /// What it is about.
    pub kind: Kind,
    /// The inside of its node's JSON string.
    pub node: Option<&'e [u8]>,
    /// Logical time of its cause.
    pub parent: Option<u64>,
    /// The place of the event that opened the call that it ends.
    pub invoked: Option<i64>,
    /// Its payload as it stands in the log.
    pub payload: &'e [u8],
    /// The places of its log.
    pub places: &'e Places,
}

/// An event as it is compared: `{"kind","node","parent","payload"}`, what does not count marked.
pub fn project(event: &RunEvent<'_>, ignore: &[Pointer]) -> Option<Tree<'static>> {
    let (kind, node, parent) = (event.row.kind, event.node(), event.row.parent);
    let (invoked, payload, places) = (event.invoked(), event.payload(), event.places);
    project_facts(&Facts { kind, node, parent, invoked, payload, places }, ignore)
}

/// The same, of an event that was read otherwise.
pub fn project_facts(event: &Facts<'_>, ignore: &[Pointer]) -> Option<Tree<'static>> {
    let mut tree = Tree::of(Cow::Owned(text(event)))?;
    if let (Some(parent), Some(index)) = (event.parent, tree.at(&["parent"])) {
        tree.set_mark(index, refers(event.places.of(parent)));
    }
    if let Some(payload) = tree.at(&["payload"]) {
        mark_payload(&mut tree, payload, event);
    }
    ignore.iter().for_each(|pointer| pointer.apply(&mut tree));
    Some(tree)
}

fn text(event: &Facts<'_>) -> String {
    let payload = String::from_utf8_lossy(event.payload);
    let mut text = String::with_capacity(payload.len() + 96);
    text.push_str("{\"kind\":\"");
    text.push_str(event.kind.as_str());
    text.push_str("\",\"node\":");
    match event.node {
        Some(node) => {
            text.push('"');
            text.push_str(&String::from_utf8_lossy(node));
            text.push('"');
        }
        None => text.push_str("null"),
    }
    text.push_str(",\"parent\":");
    match event.parent {
        Some(parent) => text.push_str(&parent.to_string()),
        None => text.push_str("null"),
    }
    text.push_str(",\"payload\":");
    text.push_str(&payload);
    text.push('}');
    text
}

fn refers(place: i64) -> Mark {
    Mark::Refers(Some(Reference { place, part: 0 }))
}

fn mark_payload(tree: &mut Tree<'_>, payload: Index, event: &Facts<'_>) {
    match event.kind {
        Kind::RunCreated => {
            mark(tree, payload, "runId", Mark::Dropped);
            mark(tree, payload, "capabilities", Mark::Set);
        }
        Kind::RunStarted => {
            let workers: Vec<Index> =
                tree.member(payload, "workers").map(|list| tree.children(list).collect()).unwrap_or_default();
            workers.into_iter().for_each(|worker| mark(tree, worker, "capabilities", Mark::Set));
        }
        Kind::NodeScheduled => {
            let list = tree.member(payload, "dependsOn");
            let times: Vec<Index> = list.map(|list| tree.children(list).collect()).unwrap_or_default();
            times.into_iter().for_each(|time| mark_time(tree, time, event.places));
        }
        Kind::NodeSkipped => {
            if let Some(because) = tree.member(payload, "because") {
                mark_time(tree, because, event.places);
            }
        }
        Kind::ToolInvoked => mark(tree, payload, "call", Mark::Dropped),
        Kind::ToolCompleted | Kind::ToolFailed | Kind::ToolTimedOut => {
            let invoked = event.invoked.map(|place| Reference { place, part: 0 });
            mark(tree, payload, "call", Mark::Refers(invoked));
        }
        Kind::Heartbeat => mark(tree, payload, "capabilities", Mark::Set),
        _ => {}
    }
    for name in optional(event.kind) {
        if tree.member(payload, name).is_some_and(|index| tree.shape(index) == Shape::Null) {
            mark(tree, payload, name, Mark::Dropped);
        }
    }
}

/// The fields that may be `null` as well as absent.
fn optional(kind: Kind) -> &'static [&'static str] {
    match kind {
        Kind::RunFailed => &["node"],
        Kind::NodeScheduled => &["priority"],
        Kind::NodeSkipped => &["because"],
        Kind::ToolInvoked => &["version"],
        Kind::CapabilityCheck => &["subject"],
        Kind::TaskAssigned => &["reason", "from"],
        Kind::Heartbeat => &["capabilities"],
        _ => &[],
    }
}

fn mark(tree: &mut Tree<'_>, object: Index, name: &str, mark: Mark) {
    if let Some(index) = tree.member(object, name)
        && (mark != Mark::Set || tree.shape(index) == Shape::Array)
    {
        tree.set_mark(index, mark);
    }
}

fn mark_time(tree: &mut Tree<'_>, index: Index, places: &Places) {
    if tree.shape(index) == Shape::Number {
        let time = number(tree.text(index)) as u64;
        tree.set_mark(index, refers(places.of(time)));
    }
}

/// Whether two events are the same as far as they are compared. None if one can't be taken apart.
#[inline]
pub fn are_equal(left: &RunEvent<'_>, right: &RunEvent<'_>, ignore: &[Pointer]) -> Option<bool> {
    if are_plainly_equal(left, right) {
        return Some(true);
    }
    if ignore.is_empty() && left.row.kind != right.row.kind {
        return Some(false);
    }
    let (left, right) = (project(left, ignore)?, project(right, ignore)?);
    Some(Pair { left: &left, right: &right, same_reference: &same_place }.are_equal(ROOT, ROOT))
}

/// Whether two events are the same, if that is to be seen without taking them apart.
#[inline]
fn are_plainly_equal(left: &RunEvent<'_>, right: &RunEvent<'_>) -> bool {
    left.row.kind == right.row.kind
        && same_node(left.node(), right.node())
        && left.parent() == right.parent()
        && match left.row.kind {
            // Times stand in them.
            Kind::NodeScheduled | Kind::NodeSkipped => {
                let (one, other) = (left.places, right.places);
                one.are_plain()
                    && other.are_plain()
                    && one.start() == other.start()
                    && left.payload() == right.payload()
            }
            Kind::ToolInvoked | Kind::ToolCompleted | Kind::ToolFailed | Kind::ToolTimedOut => {
                left.invoked() == right.invoked()
                    && (left.payload() == right.payload()
                        || left.around_call().is_some_and(|around| right.around_call() == Some(around)))
            }
            _ => left.payload() == right.payload(),
        }
}

#[inline]
fn same_node(left: Option<&[u8]>, right: Option<&[u8]>) -> bool {
    left == right || matches!((left, right), (Some(left), Some(right)) if id(left) == id(right))
}

fn id(inside: &[u8]) -> Text<'_> {
    Text::from_json(std::str::from_utf8(inside).unwrap_or_default())
}

/// Whether two trees mean the same, references being to the same places.
pub fn trees_are_equal(left: &Tree<'_>, right: &Tree<'_>) -> bool {
    Pair { left, right, same_reference: &same_place }.are_equal(ROOT, ROOT)
}
