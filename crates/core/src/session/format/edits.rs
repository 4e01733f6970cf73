//! The payloads of events that edit the history (`docs/session-format.md` section 2, rules 29–33). They are rare, so a payload is read once more for
//! them, and other events pay nothing.

use super::event::Raw;
use super::payload::{valid_seq, whole_item};
use crate::json::{Cursor, Nesting, NotJson, Span};

/// Where a `rewind` cuts the history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// By the number of items only.
    None,
    /// Before the first item with this key, if there is one.
    Before(u64),
    /// Its `cutSeq` is not valid, so it cuts by the number of items.
    Malformed,
}

/// What an event does to the history. `T` stands for an item: its place in the line or in the file, a hash of it, its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change<T> {
    /// Appends an item.
    Append(T),
    /// Replaces all items.
    Replace(Vec<T>),
    /// Removes the first item with the key `before` and all behind it. Without such an item, removes the last `count` items.
    Cut {
        /// The number of items; all if there are fewer.
        count: u64,
        /// The key.
        before: Option<u64>,
    },
    /// Replaces and removes items (`density_mutation`).
    Mutate {
        /// The keys of the items that are removed.
        removed: Vec<u64>,
        /// The keys of the items that are replaced, with the items that replace them.
        replacements: Vec<(u64, T)>,
    },
    /// Inserts an item (`synthetic_insert`).
    Insert {
        /// The key of the item behind which it inserts.
        after: u64,
        /// The item.
        item: T,
    },
    /// Gives an item another marker (`chronology_bind`).
    Bind {
        /// The index of the item in the history.
        index: u64,
        /// JSON text of its new marker.
        marker: Raw,
        /// The key in it.
        key: u64,
        /// The item that replaces it.
        content: Option<T>,
        /// Whether the responses that a provider has stored for it are invalid.
        invalidates: bool,
    },
}

impl<T> Change<T> {
    /// The same change, of what `item` makes of each item.
    pub fn map<U>(&self, mut item: impl FnMut(&T) -> U) -> Change<U> {
        match self {
            Change::Append(appended) => Change::Append(item(appended)),
            Change::Replace(items) => Change::Replace(items.iter().map(item).collect()),
            Change::Cut { count, before } => Change::Cut { count: *count, before: *before },
            Change::Mutate { removed, replacements } => Change::Mutate {
                removed: removed.clone(),
                replacements: replacements.iter().map(|(key, by)| (*key, item(by))).collect(),
            },
            Change::Insert { after, item: inserted } => Change::Insert { after: *after, item: item(inserted) },
            Change::Bind { index, marker, key, content, invalidates } => Change::Bind {
                index: *index,
                marker: marker.clone(),
                key: *key,
                content: content.as_ref().map(item),
                invalidates: *invalidates,
            },
        }
    }
}

/// The payload of a `semantic_media_purge`.
#[derive(Clone, Debug, PartialEq)]
pub struct Purge {
    /// The items that replace the history.
    pub items: Vec<Span>,
    /// JSON text of `{ contentIndex, blockIndex }`.
    pub frontier: Raw,
}

/// The edit of a `density_mutation`; `None` if the payload does not fit.
pub(super) fn mutation(line: &[u8], payload: Span) -> Option<Change<Span>> {
    let [removed, replacements] = values(line, payload, ["removedSeqs", "replacements"]);
    let replacement = |entry| {
        let [replaced, item] = values(line, entry, ["replacedSeq", "replacement"]);
        Some((seq(line, replaced)?, whole_item(line, item?)?.0))
    };
    Some(Change::Mutate {
        removed: elements(line, removed?, |element| seq(line, Some(element)))?,
        replacements: elements(line, replacements?, replacement)?,
    })
}

/// The edit of a `synthetic_insert`; `None` if the payload does not fit.
pub(super) fn insertion(line: &[u8], payload: Span) -> Option<Change<Span>> {
    let [content, own, after] = values(line, payload, ["content", "chronologySeq", "afterSeq"]);
    seq(line, own)?;
    Some(Change::Insert { after: seq(line, after)?, item: whole_item(line, content?)?.0 })
}

/// The edit of a `chronology_bind`; `None` if the payload does not fit.
pub(super) fn binding(line: &[u8], payload: Span) -> Option<Change<Span>> {
    let [index, chronology, content, invalidates] =
        values(line, payload, ["rowIndex", "chronology", "content", "invalidateResponses"]);
    let ([key, ..], marker) = numbers_of(line, chronology?, ["seq", "userTurn", "step", "recordedAt"])?;
    let content = match content {
        None => None,
        Some(content) => Some(whole_item(line, content)?.0),
    };
    let invalidates = invalidates.is_some_and(|value| value.of(line) == b"true");
    Some(Change::Bind { index: seq(line, index)?, marker, key, content, invalidates })
}

/// The content of a `semantic_media_purge`; `None` if the payload does not fit.
pub(super) fn purge(line: &[u8], payload: Span) -> Option<Purge> {
    let [history, frontier] = values(line, payload, ["history", "frontier"]);
    let ([content, block], frontier) = numbers_of(line, frontier?, ["contentIndex", "blockIndex"])?;
    let (mut index, mut is_within) = (0, (content, block) == (0, 0));
    let items = elements(line, history?, |element| {
        let (item, blocks) = whole_item(line, element)?;
        if index == 0 || index == content {
            is_within = index == content && block < elements(line, blocks, Some)?.len() as u64;
        }
        index += 1;
        Some(item)
    })?;
    is_within.then_some(Purge { items, frontier })
}

/// The members of an object with these names, each a valid sequence number, and the JSON text of an object with just these, as written in the line.
fn numbers_of<const N: usize>(line: &[u8], object: Span, names: [&str; N]) -> Option<([u64; N], Raw)> {
    let (mut numbers, mut json) = ([0; N], Vec::new());
    for (at, (name, value)) in names.into_iter().zip(values(line, object, names)).enumerate() {
        numbers[at] = seq(line, value)?;
        json.extend_from_slice(format!("{}\"{name}\":", if at == 0 { '{' } else { ',' }).as_bytes());
        json.extend_from_slice(value?.of(line));
    }
    json.push(b'}');
    Some((numbers, json.into()))
}

/// A value, if it is a valid `seq`.
pub(super) fn seq(line: &[u8], value: Option<Span>) -> Option<u64> {
    valid_seq(value?.of(line)).map(|seq| seq as u64)
}

/// The values of an object's members with these names. If a name occurs twice, the last value counts. A value that is not an object has none.
pub(crate) fn values<const N: usize>(line: &[u8], object: Span, names: [&str; N]) -> [Option<Span>; N] {
    // The line was scanned before, so that the only possible failure is another type of value.
    Cursor::of(line, object).members(names, &mut Nesting::default()).unwrap_or([None; N])
}

/// What `read` makes of each element of a value of the line. `None` if that is not an array, or if `read` returns `None` for some element.
fn elements<T>(line: &[u8], array: Span, mut read: impl FnMut(Span) -> Option<T>) -> Option<Vec<T>> {
    let mut all = Vec::new();
    each_element(line, array, |element| read(element).map(|value| all.push(value)))?;
    Some(all)
}

/// Calls `take` with each element of a value of the line. `None` if the value is not an array, or once `take` returns `None`.
pub(crate) fn each_element(line: &[u8], array: Span, mut take: impl FnMut(Span) -> Option<()>) -> Option<()> {
    let mut nesting = Nesting::default();
    let read = Cursor::of(line, array).array(|cursor| take(cursor.value(&mut nesting)?).ok_or(NotJson));
    read.ok().map(drop)
}
