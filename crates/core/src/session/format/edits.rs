//! The payloads of events that edit the history (`docs/session-format.md` section 2, rules 29–33). They are rare, so a payload is read once more for
//! them, and other events pay nothing.

use super::event::Raw;
use super::payload::{keys, number, valid_seq, whole_item};
use crate::json::{Cursor, Nesting, NotJson, Span, spells};

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

/// Where a `rewind` with this payload cuts.
pub(super) fn cut(line: &[u8], payload: Span) -> Cut {
    let mut cut = None;
    members(line, payload, |key, value| {
        if RewindKey::of(key) == RewindKey::CutSeq {
            cut = Some(value);
        }
    });
    match cut {
        None => Cut::None,
        Some(value) => seq(line, Some(value)).map_or(Cut::Malformed, Cut::Before),
    }
}

/// The edit of a `density_mutation`; `None` if the payload does not fit.
pub(super) fn mutation(line: &[u8], payload: Span) -> Option<Change<Span>> {
    let (mut removed, mut replacements) = (None, None);
    members(line, payload, |key, value| match MutationKey::of(key) {
        MutationKey::RemovedSeqs => removed = Some(value),
        MutationKey::Replacements => replacements = Some(value),
        MutationKey::Other => {}
    });
    Some(Change::Mutate {
        removed: elements(line, removed?, |element| seq(line, Some(element)))?,
        replacements: elements(line, replacements?, |entry| replacement(line, entry))?,
    })
}

fn replacement(line: &[u8], entry: Span) -> Option<(u64, Span)> {
    let (mut replaced, mut item) = (None, None);
    members(line, entry, |key, value| match ReplacementKey::of(key) {
        ReplacementKey::ReplacedSeq => replaced = Some(value),
        ReplacementKey::Replacement => item = Some(value),
        ReplacementKey::Other => {}
    });
    Some((seq(line, replaced)?, whole_item(line, item?)?.0))
}

/// The edit of a `synthetic_insert`; `None` if the payload does not fit.
pub(super) fn insertion(line: &[u8], payload: Span) -> Option<Change<Span>> {
    let (mut content, mut own, mut after) = (None, None, None);
    members(line, payload, |key, value| match InsertionKey::of(key) {
        InsertionKey::Content => content = Some(value),
        InsertionKey::ChronologySeq => own = Some(value),
        InsertionKey::AfterSeq => after = Some(value),
        InsertionKey::Other => {}
    });
    seq(line, own)?;
    Some(Change::Insert { after: seq(line, after)?, item: whole_item(line, content?)?.0 })
}

/// The edit of a `chronology_bind`; `None` if the payload does not fit.
pub(super) fn binding(line: &[u8], payload: Span) -> Option<Change<Span>> {
    let (mut index, mut chronology, mut content, mut invalidates) = (None, None, None, false);
    members(line, payload, |key, value| match BindingKey::of(key) {
        BindingKey::RowIndex => index = Some(value),
        BindingKey::Chronology => chronology = Some(value),
        BindingKey::Content => content = Some(value),
        BindingKey::InvalidateResponses => invalidates = value.of(line) == b"true",
        BindingKey::Other => {}
    });
    let index = seq(line, index)?;
    let (key, marker) = marker(line, chronology?)?;
    let content = match content {
        None => None,
        Some(content) => Some(whole_item(line, content)?.0),
    };
    Some(Change::Bind { index, marker, key, content, invalidates })
}

/// The key of a marker, and its JSON text with just the four numbers.
fn marker(line: &[u8], chronology: Span) -> Option<(u64, Raw)> {
    let mut numbers = [None; 4];
    members(line, chronology, |key, value| match MarkerKey::of(key) {
        MarkerKey::Seq => numbers[0] = Some(value),
        MarkerKey::UserTurn => numbers[1] = Some(value),
        MarkerKey::Step => numbers[2] = Some(value),
        MarkerKey::RecordedAt => numbers[3] = Some(value),
        MarkerKey::Other => {}
    });
    let names = [&br#"{"seq":"#[..], br#","userTurn":"#, br#","step":"#, br#","recordedAt":"#];
    Some((seq(line, numbers[0])?, object_of(line, names, numbers)?))
}

/// The content of a `semantic_media_purge`; `None` if the payload does not fit.
pub(super) fn purge(line: &[u8], payload: Span) -> Option<Purge> {
    let (mut history, mut frontier) = (None, None);
    members(line, payload, |key, value| match PurgeKey::of(key) {
        PurgeKey::History => history = Some(value),
        PurgeKey::Frontier => frontier = Some(value),
        PurgeKey::Other => {}
    });
    let mut indices = [None; 2];
    members(line, frontier?, |key, value| match FrontierKey::of(key) {
        FrontierKey::ContentIndex => indices[0] = Some(value),
        FrontierKey::BlockIndex => indices[1] = Some(value),
        FrontierKey::Other => {}
    });
    let frontier = object_of(line, [br#"{"contentIndex":"#, br#","blockIndex":"#], indices)?;
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
    let mut numbers = [None; 3];
    members(line, payload, |key, value| match DetailKey::of(key) {
        DetailKey::FromSeq => numbers[0] = Some(value),
        DetailKey::ToSeq => numbers[1] = Some(value),
        DetailKey::ItemsCompressed => numbers[2] = Some(value),
        DetailKey::Other => {}
    });
    numbers.into_iter().all(|value| value.is_some_and(|value| number(value.of(line)).is_some()))
}

/// The `kind` of a payload, if it is `subagent`.
pub(super) fn is_subagent(line: &[u8], payload: Span) -> bool {
    let mut is_subagent = false;
    members(line, payload, |key, value| {
        if StartKey::of(key) == StartKey::Kind {
            is_subagent = super::event::inside_string(value.of(line)).is_some_and(|kind| spells(kind, "subagent"));
        }
    });
    is_subagent
}

/// JSON text of an object with these beginnings of members, and valid sequence numbers as their values, as written in the line.
fn object_of<const N: usize>(line: &[u8], names: [&[u8]; N], values: [Option<Span>; N]) -> Option<Raw> {
    let mut json = Vec::new();
    for (name, value) in names.into_iter().zip(values) {
        seq(line, value)?;
        json.extend_from_slice(name);
        json.extend_from_slice(value?.of(line));
    }
    json.push(b'}');
    Some(json.into())
}

/// A value, if it is a valid `seq`.
pub(super) fn seq(line: &[u8], value: Option<Span>) -> Option<u64> {
    valid_seq(value?.of(line)).map(|seq| seq as u64)
}

/// Calls `member` with each key of a value of the line and the place of its value. A value that is not an object has none.
pub(super) fn members<'l>(line: &'l [u8], object: Span, mut member: impl FnMut(&'l [u8], Span)) {
    let mut nesting = Nesting::default();
    let mut cursor = Cursor::new(line);
    cursor.skip(object.start as usize);
    // The line was scanned before, so that the only possible failure is another type of value.
    let _ = cursor.object(|cursor, key| {
        let value = cursor.value(&mut nesting)?;
        member(key, value);
        Ok(())
    });
}

/// What `read` makes of each element of a value of the line. `None` if that is not an array, or if `read` returns `None` for some element.
fn elements<T>(line: &[u8], array: Span, mut read: impl FnMut(Span) -> Option<T>) -> Option<Vec<T>> {
    let mut all = Vec::new();
    each_element(line, array, |element| read(element).map(|value| all.push(value)))?;
    Some(all)
}

/// Calls `take` with each element of a value of the line. `None` if the value is not an array, or once `take` returns `None`.
pub(crate) fn each_element(line: &[u8], array: Span, mut take: impl FnMut(Span) -> Option<()>) -> Option<()> {
    let (mut cursor, mut nesting) = (Cursor::new(line), Nesting::default());
    cursor.skip(array.start as usize);
    let read = cursor.array(|cursor| take(cursor.value(&mut nesting)?).ok_or(NotJson));
    read.ok().map(drop)
}

keys! {
    /// The keys of a `rewind` that are read here.
    RewindKey { CutSeq = "cutSeq" }
}

keys! {
    /// The keys of a `session_start` that are read here.
    StartKey { Kind = "kind" }
}

keys! {
    /// The keys of a `density_mutation`.
    MutationKey { RemovedSeqs = "removedSeqs", Replacements = "replacements" }
}

keys! {
    /// The keys of an entry of its `replacements`.
    ReplacementKey { ReplacedSeq = "replacedSeq", Replacement = "replacement" }
}

keys! {
    /// The keys of a `synthetic_insert`.
    InsertionKey { Content = "content", ChronologySeq = "chronologySeq", AfterSeq = "afterSeq" }
}

keys! {
    /// The keys of a `chronology_bind`.
    BindingKey {
        RowIndex = "rowIndex", Chronology = "chronology", Content = "content", InvalidateResponses = "invalidateResponses",
    }
}

keys! {
    /// The keys of a marker.
    MarkerKey { Seq = "seq", UserTurn = "userTurn", Step = "step", RecordedAt = "recordedAt" }
}

keys! {
    /// The keys of a `semantic_media_purge`.
    PurgeKey { History = "history", Frontier = "frontier" }
}

keys! {
    /// The keys of its `frontier`.
    FrontierKey { ContentIndex = "contentIndex", BlockIndex = "blockIndex" }
}

keys! {
    /// The keys of a `compression_detail`.
    DetailKey { FromSeq = "fromSeq", ToSeq = "toSeq", ItemsCompressed = "itemsCompressed" }
}
