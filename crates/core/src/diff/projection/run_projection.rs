//! The projection of a run's event: the parts that are compared (`docs/diff.md`, "What is compared").

use std::borrow::Cow;

use super::equal::number;
use super::ignore::Pointer;
use super::mark::{Mark, Reference, Tree};
use super::places::Places;
use crate::diff::stream::Event;
use crate::json::Text;
use crate::json::{Index, Shape, inside, text_of};
use crate::run::{FieldType, Kind, PayloadField};

/// The projection of an event: `{"kind","node","parent","payload"}`, in which the values that do not count are
/// marked.
pub(crate) fn project_event(event: &Event<'_>, ignore: &[Pointer]) -> Option<Tree<'static>> {
    let kind = event.row.kind?;
    let mut tree = Tree::of(Cow::Owned(text(event, kind)))?;
    if let (Some(parent), Some(index)) = (event.parent(), tree.at(&["parent"])) {
        tree.set_mark(index, refers(parent));
    }
    if let Some(payload) = tree.at(&["payload"]) {
        mark_fields(&mut tree, payload, kind.fields(), event);
    }
    ignore.iter().for_each(|pointer| pointer.apply(&mut tree));
    Some(tree)
}

fn text(event: &Event<'_>, kind: Kind) -> String {
    let null = || Cow::Borrowed("null");
    let (node, payload) = (event.head().map_or_else(null, text_of), text_of(event.payload().unwrap_or_default()));
    let parent = event.row.parent.map_or_else(null, |parent| Cow::Owned(parent.to_string()));
    let mut text = String::with_capacity(payload.len() + 96);
    text.extend(["{\"kind\":\"", kind.as_str(), "\",\"node\":", &node, ",\"parent\":", &parent]);
    text.extend([",\"payload\":", &payload, "}"]);
    text
}

fn refers(place: i64) -> Mark {
    Mark::Refers(Some(Reference { place, part: 0 }))
}

/// Marks the fields of an object that are not compared by their value.
fn mark_fields(tree: &mut Tree<'_>, object: Index, fields: &[PayloadField], event: &Event<'_>) {
    for field in fields {
        let invoked = || event.row.invoked.map(|place| Reference { place, part: 0 });
        match field.of {
            _ if !field.is_compared => mark(tree, object, field.name, Mark::Dropped),
            FieldType::Call => mark(tree, object, field.name, Mark::Refers(invoked())),
            FieldType::Ids => mark(tree, object, field.name, Mark::Set),
            FieldType::Time => {
                tree.member(object, field.name).into_iter().for_each(|time| mark_time(tree, time, event.places));
            }
            FieldType::Times => {
                elements(tree, object, field.name).into_iter().for_each(|time| mark_time(tree, time, event.places));
            }
            FieldType::Objects(inner) => {
                let elements = elements(tree, object, field.name);
                elements.into_iter().for_each(|element| mark_fields(tree, element, inner, event));
            }
            _ => {}
        }
        // `null` counts as absent.
        if field.is_optional && tree.member(object, field.name).is_some_and(|index| tree.shape(index) == Shape::Null) {
            mark(tree, object, field.name, Mark::Dropped);
        }
    }
}

fn elements(tree: &Tree<'_>, object: Index, name: &str) -> Vec<Index> {
    tree.member(object, name).map(|list| tree.children(list).collect()).unwrap_or_default()
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

/// Whether two events are found to be equal without parsing them. If `false`, they have to be parsed.
#[inline]
pub(crate) fn events_are_plainly_equal(left: &Event<'_>, right: &Event<'_>) -> bool {
    left.row.kind == right.row.kind
        && same_node(left.head(), right.head())
        && left.parent() == right.parent()
        && match left.row.kind {
            // Their payloads contain times.
            Some(Kind::NodeScheduled | Kind::NodeSkipped) => {
                let (one, other) = (left.places, right.places);
                one.are_plain()
                    && other.are_plain()
                    && one.start() == other.start()
                    && left.payload() == right.payload()
            }
            Some(Kind::ToolInvoked | Kind::ToolCompleted | Kind::ToolFailed | Kind::ToolTimedOut) => {
                left.row.invoked == right.row.invoked
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

fn id(node: &[u8]) -> Text<'_> {
    Text::from_json(inside(std::str::from_utf8(node).unwrap_or_default()))
}
