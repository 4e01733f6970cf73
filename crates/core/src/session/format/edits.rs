//! The payloads of events that edit the history (`docs/session-format.md` section 2, rules 29–33). They are rare, so a payload is read once more for
//! them, and other events pay nothing.

use super::event::Raw;
use super::payload::{number, valid_seq, whole_item};
use crate::json::{Cursor, JsonText, Nesting, NotJson, Span, spells};

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

/// An event that edits items of the history. Whether it finds them is known only when the history is.
#[derive(Clone, Debug, PartialEq)]
pub enum Edit {
    /// `density_mutation`.
    Mutate {
        /// The keys of the items that are removed.
        removed: Vec<u64>,
        /// The keys of the items that are replaced, with the items that replace them.
        replacements: Vec<(u64, Span)>,
    },
    /// `synthetic_insert`.
    Insert {
        /// The key of the item behind which it inserts.
        after: u64,
        /// The item.
        content: Span,
    },
    /// `chronology_bind`.
    Bind {
        /// The index of the item in the history.
        index: u64,
        /// JSON text of its new marker, and the key in it.
        chronology: Raw,
        /// The key in the new marker.
        key: u64,
        /// The item that replaces it.
        content: Option<Span>,
        /// Whether the responses that a provider has stored for it are invalid.
        invalidates: bool,
    },
}

/// The payload of a `semantic_media_purge`.
#[derive(Clone, Debug, PartialEq)]
pub struct Purge {
    /// The items that replace the history.
    pub items: Vec<Span>,
    /// JSON text of `{ contentIndex, blockIndex }`.
    pub frontier: Raw,
}

/// Where a `rewind` with this payload cuts.
pub(super) fn cut(line: &[u8], payload: Span) -> Cut {
    match members(line, payload, ["cutSeq"]) {
        [None] => Cut::None,
        [cut] => seq(line, cut).map_or(Cut::Malformed, Cut::Before),
    }
}

/// The edit of a `density_mutation`; `None` if the payload does not fit.
pub(super) fn mutation(line: &[u8], payload: Span) -> Option<Edit> {
    let [removed, replacements] = members(line, payload, ["removedSeqs", "replacements"]);
    Some(Edit::Mutate {
        removed: elements(line, removed?, |element| seq(line, Some(element)))?,
        replacements: elements(line, replacements?, |entry| replacement(line, entry))?,
    })
}

fn replacement(line: &[u8], entry: Span) -> Option<(u64, Span)> {
    let [replaced, item] = members(line, entry, ["replacedSeq", "replacement"]);
    Some((seq(line, replaced)?, whole_item(line, item?)?.0))
}

/// The edit of a `synthetic_insert`; `None` if the payload does not fit.
pub(super) fn insertion(line: &[u8], payload: Span) -> Option<Edit> {
    let [content, own, after] = members(line, payload, ["content", "chronologySeq", "afterSeq"]);
    seq(line, own)?;
    Some(Edit::Insert { after: seq(line, after)?, content: whole_item(line, content?)?.0 })
}

/// The edit of a `chronology_bind`; `None` if the payload does not fit.
pub(super) fn binding(line: &[u8], payload: Span) -> Option<Edit> {
    let names = ["rowIndex", "chronology", "content", "invalidateResponses"];
    let [index, chronology, content, invalidates] = members(line, payload, names);
    let invalidates = invalidates.is_some_and(|value| value.of(line) == b"true");
    let index = seq(line, index)?;
    let (key, chronology) = marker(line, chronology?)?;
    let content = match content {
        None => None,
        Some(content) => Some(whole_item(line, content)?.0),
    };
    Some(Edit::Bind { index, chronology, key, content, invalidates })
}

/// The key of a marker, and its JSON text with just the four numbers.
fn marker(line: &[u8], chronology: Span) -> Option<(u64, Raw)> {
    let names = ["seq", "userTurn", "step", "recordedAt"];
    let numbers = members(line, chronology, names);
    Some((seq(line, numbers[0])?, object_of(line, names, numbers)?))
}

/// The content of a `semantic_media_purge`; `None` if the payload does not fit.
pub(super) fn purge(line: &[u8], payload: Span) -> Option<Purge> {
    let [history, frontier] = members(line, payload, ["history", "frontier"]);
    let names = ["contentIndex", "blockIndex"];
    let indices = members(line, frontier?, names);
    let frontier = object_of(line, names, indices)?;
    let (content, block) = (seq(line, indices[0])?, seq(line, indices[1])?);
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

/// Whether the payload of a `compression_detail` fits.
pub(super) fn is_compression_detail(line: &[u8], payload: Span) -> bool {
    let numbers = members(line, payload, ["fromSeq", "toSeq", "itemsCompressed"]);
    numbers.into_iter().all(|value| value.is_some_and(|value| number(value.of(line)).is_some()))
}

/// The `kind` of a payload, if it is `subagent`.
pub(super) fn is_subagent(line: &[u8], payload: Span) -> bool {
    let [kind] = members(line, payload, ["kind"]);
    let kind = kind.and_then(|kind| super::event::inside_string(kind.of(line)));
    kind.is_some_and(|kind| spells(kind, "subagent"))
}

/// JSON text of an object with these names, and valid sequence numbers as their values, as written in the line.
fn object_of<const N: usize>(line: &[u8], names: [&str; N], values: [Option<Span>; N]) -> Option<Raw> {
    let mut json = JsonText::default();
    json.open();
    for (name, value) in names.into_iter().zip(values) {
        seq(line, value)?;
        json.key(name).raw(value?.of(line));
    }
    json.close();
    Some(json.into_bytes().into())
}

/// A value, if it is a valid `seq`.
pub(super) fn seq(line: &[u8], value: Option<Span>) -> Option<u64> {
    valid_seq(value?.of(line)).map(|seq| seq as u64)
}

/// The values of these members of a value of the line. A value that is not an object has none.
pub(super) fn members<const N: usize>(line: &[u8], object: Span, names: [&str; N]) -> [Option<Span>; N] {
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
