//! The projection of a session's record: the parts that are compared (`docs/diff.md`, "What is compared").

use std::borrow::Cow;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::digest::hash;
use super::ignore::Pointer;
use super::mark::{Mark, Reference, Tree};
use crate::diff::stream::Event;
use crate::json::Text;
use crate::json::{Index, ROOT, text_of};

/// The unanswered tool calls of a session, by a digest of their id. Takes little memory for a call: a session may have millions that are never
/// answered.
#[derive(Clone, Debug, Default)]
pub(crate) struct Calls(HashMap<u128, SameId>);

/// The unanswered calls with the same id, nearly always one. Its fields are those of a [`Reference`], which would leave no room for the variant.
#[derive(Clone, Debug)]
enum SameId {
    One {
        place: i64,
        part: u32,
    },
    // A `Vec` itself would make every entry larger.
    #[allow(clippy::box_collection)]
    Several(Box<Vec<Reference>>),
}

const _: () = assert!(size_of::<SameId>() == 16);

impl SameId {
    fn push(&mut self, call: Reference) {
        match self {
            SameId::One { place, part } => {
                let first = Reference { place: *place, part: *part };
                *self = SameId::Several(Box::new(vec![first, call]));
            }
            SameId::Several(calls) => calls.push(call),
        }
    }

    /// Takes the last call. Returns it and whether it was the only one.
    fn pop(&mut self) -> (Option<Reference>, bool) {
        match self {
            SameId::One { place, part } => (Some(Reference { place: *place, part: *part }), true),
            SameId::Several(calls) => (calls.pop(), calls.is_empty()),
        }
    }
}

impl Calls {
    /// Opens a call.
    pub(crate) fn open_id(&mut self, id: u128, call: Reference) {
        match self.0.entry(id) {
            Entry::Vacant(place) => {
                place.insert(SameId::One { place: call.place, part: call.part });
            }
            Entry::Occupied(mut calls) => calls.get_mut().push(call),
        }
    }

    /// Answers the nearest unanswered call with this id, and returns it.
    pub(crate) fn answer_id(&mut self, id: u128) -> Option<Reference> {
        let (call, was_last) = self.0.get_mut(&id)?.pop();
        if was_last {
            self.0.remove(&id);
        }
        call
    }

    /// Whether a call is unanswered.
    pub(crate) fn are_open(&self) -> bool {
        !self.0.is_empty()
    }
}

/// The digest of a call's id.
pub(crate) fn call_id(id: &Text<'_>) -> u128 {
    hash(id.as_json().as_bytes())
}

/// Whether a record may contain the id of a tool call. If not, it need not be parsed to keep track of calls.
pub(crate) fn may_have_calls(record: &Event<'_>) -> bool {
    let payload = record.payload().unwrap_or_default();
    memchr::memmem::find(payload, b"tool_").is_some() || memchr::memmem::find(payload, b"\\u").is_some()
}

/// Whether two records are found to be equal without parsing them. If `false`, they have to be parsed, for example because of
/// a call.
pub(crate) fn records_are_plainly_equal(left: &Event<'_>, right: &Event<'_>) -> bool {
    left.head() == right.head()
        && left.payload() == right.payload()
        && left.row.is_value == right.row.is_value
        && !may_have_calls(left)
}

/// Keeps track of calls and answers.
pub(crate) trait CountCalls {
    /// Opens a call. `id` is `None` if the call's id is not a string.
    fn open(&mut self, id: Option<Text<'_>>, call: Reference);
    /// Answers a call, and returns it. `None` if no open call has this id.
    fn answer(&mut self, id: Option<Text<'_>>) -> Option<Reference>;
}

impl CountCalls for Calls {
    fn open(&mut self, id: Option<Text<'_>>, call: Reference) {
        id.iter().for_each(|id| self.open_id(call_id(id), call));
    }

    fn answer(&mut self, id: Option<Text<'_>>) -> Option<Reference> {
        self.answer_id(call_id(&id?))
    }
}

/// The calls that one record answers, in order, as they were found before.
pub(crate) struct Known<'k>(pub std::slice::Iter<'k, (i64, u32)>);

impl CountCalls for Known<'_> {
    fn open(&mut self, _: Option<Text<'_>>, _: Reference) {}

    fn answer(&mut self, _: Option<Text<'_>>) -> Option<Reference> {
        let (place, part) = *self.0.next()?;
        (place != crate::diff::align::NOTHING).then_some(Reference { place, part })
    }
}

/// The projection of a record: `{"type","payload"}`, in which the values that do not count are marked. Opens and answers the calls in it, so
/// each record must be projected once, in order.
pub(crate) fn project_record(
    record: &Event<'_>,
    calls: &mut impl CountCalls,
    ignore: &[Pointer],
) -> Option<Tree<'static>> {
    let mut tree = Tree::of(Cow::Owned(text(record)))?;
    mark_payload(&mut tree, record.place(), calls);
    ignore.iter().for_each(|pointer| pointer.apply(&mut tree));
    Some(tree)
}

/// The same for a record that is an object, given its whole line as a tree: marks the other members of the envelope too. Saves a copy and a
/// scan if no paths are shown.
pub(crate) fn project_line(tree: &mut Tree<'_>, calls: &mut impl CountCalls) {
    let mut next = tree.children(ROOT).next();
    while let Some(member) = next {
        next = tree.next_sibling(ROOT, member);
        if !(tree.has_key(member, "type") || tree.has_key(member, "payload")) {
            tree.set_mark(member, Mark::Dropped);
        }
    }
    mark_payload(tree, 0, calls);
}

/// Marks the values in a payload that do not count.
fn mark_payload(tree: &mut Tree<'_>, place: i64, calls: &mut impl CountCalls) {
    let Some(payload) = tree.at(&["payload"]) else { return };
    let dropped: &[&str] = match tree.at(&["type"]).and_then(|name| tree.string(name)).as_ref().map(Text::as_json) {
        Some("content") => return mark_item(tree, payload, "content", place, calls),
        Some("compressed") => return mark_item(tree, payload, "summary", place, calls),
        Some("synthetic_insert") => return mark_item(tree, payload, "content", place, calls),
        Some("chronology_bind" | "density_mutation" | "semantic_media_purge") => {
            return mark_edit(tree, payload, place);
        }
        Some("session_start") => &["sessionId", "startTime"],
        Some("checkpoint_created" | "checkpoint_renamed" | "checkpoint_deleted") => &["checkpointId"],
        Some("session_forked") => &["checkpointId", "parentSessionId"],
        _ => &[],
    };
    dropped.iter().for_each(|name| drop_member(tree, payload, name));
}

/// Marks the items that an event puts in the place of others. They call and answer nothing again, so their calls are paired among themselves.
fn mark_edit(tree: &mut Tree<'_>, payload: Index, place: i64) {
    let calls = &mut Calls::default();
    mark_item(tree, payload, "content", place, calls);
    if let Some(chronology) = tree.member(payload, "chronology") {
        drop_member(tree, chronology, "recordedAt");
    }
    for (list, item) in [("replacements", Some("replacement")), ("history", None)] {
        let Some(list) = tree.member(payload, list) else { continue };
        let mut next = tree.children(list).next();
        while let Some(element) = next {
            match item {
                Some(name) => mark_item(tree, element, name, place, calls),
                None => mark_whole_item(tree, element, place, calls),
            }
            next = tree.next_sibling(list, element);
        }
    }
}

fn text(record: &Event<'_>) -> String {
    let mut text = String::with_capacity(record.line.len() + 32);
    let payload = if record.row.is_value { "\"value\":" } else { "\"payload\":" };
    for (key, value) in [("\"type\":", record.head()), (payload, record.payload())] {
        let Some(value) = value else { continue };
        text.push(if text.is_empty() { '{' } else { ',' });
        text.push_str(key);
        text.push_str(&text_of(value));
    }
    text.push_str(if text.is_empty() { "{}" } else { "}" });
    text
}

fn drop_member(tree: &mut Tree<'_>, object: Index, name: &str) {
    if let Some(index) = tree.member(object, name) {
        tree.set_mark(index, Mark::Dropped);
    }
}

fn mark_item(tree: &mut Tree<'_>, payload: Index, name: &str, place: i64, calls: &mut impl CountCalls) {
    if let Some(item) = tree.member(payload, name) {
        mark_whole_item(tree, item, place, calls);
    }
}

fn mark_whole_item(tree: &mut Tree<'_>, item: Index, place: i64, calls: &mut impl CountCalls) {
    if let Some(blocks) = tree.member(item, "blocks") {
        mark_blocks(tree, blocks, place, calls);
    }
    if let Some(metadata) = tree.member(item, "metadata") {
        mark_metadata(tree, metadata);
    }
}

fn mark_blocks(tree: &mut Tree<'_>, blocks: Index, place: i64, calls: &mut impl CountCalls) {
    let (mut next, mut part) = (tree.children(blocks).next(), 0);
    while let Some(block) = next {
        match block_type(tree, block) {
            BlockType::Call(id) => {
                calls.open(tree.string(id), Reference { place, part });
                tree.set_mark(id, Mark::Dropped);
            }
            BlockType::Response(id) => {
                let answered = calls.answer(tree.string(id));
                tree.set_mark(id, Mark::Refers(answered));
            }
            BlockType::Other => {}
        }
        (next, part) = (tree.next_sibling(blocks, block), part + 1);
    }
}

/// The role of a block for calls.
pub(crate) enum BlockType {
    /// A call, with the value of its id.
    Call(Index),
    /// An answer, with the value of the id of its call.
    Response(Index),
    /// Neither.
    Other,
}

/// The role of a block for calls.
pub(crate) fn block_type(tree: &Tree<'_>, block: Index) -> BlockType {
    let name = tree.member(block, "type").and_then(|name| tree.string(name));
    let (found, id) = match name.as_ref().map(Text::as_json) {
        Some("tool_call") => (BlockType::Call as fn(Index) -> BlockType, "id"),
        Some("tool_response") => (BlockType::Response as fn(Index) -> BlockType, "callId"),
        _ => return BlockType::Other,
    };
    // Includes dropped members: whether a block is a call does not depend on what is compared.
    tree.children(block).filter(|&member| tree.has_key(member, id)).last().map_or(BlockType::Other, found)
}

/// Drops usage figures, timestamps and ids, at any depth.
fn mark_metadata(tree: &mut Tree<'_>, metadata: Index) {
    let (mut at, mut words) = (metadata, Words::default());
    while tree.holds(metadata, at) {
        let tells =
            at != metadata && tree.is_member(at) && tells_of_one_execution(&tree.key(at).to_plain(), &mut words);
        if tells {
            tree.set_mark(at, Mark::Dropped);
        }
        at = if tree.mark(at) == Mark::Dropped { tree.behind(at) } else { at + 1 };
    }
}

/// Whether the value of a key in metadata is specific to one execution: a usage figure, a time or an id.
fn tells_of_one_execution(key: &str, words: &mut Words) -> bool {
    words.split(key);
    let has = |list: &[&str]| words.iter().any(|word| list.contains(&word));
    let mut ending = words.iter().rev();
    let (last, before) = (ending.next().unwrap_or_default(), ending.next());
    let is_setting = has(&["max", "min", "limit", "budget"]);
    let is_usage = has(&["usage", "tokens", "cost", "costs", "duration", "latency", "elapsed"])
        || (has(&["token"]) && has(&["count", "counts"]));
    let is_time = matches!(last, "timestamp" | "ts" | "time" | "date" | "datetime")
        || (last == "at" && before.is_some())
        || (matches!(last, "ms" | "seconds" | "iso" | "utc") && has(&["time", "timestamp"]));
    // The id of a model says which model it is, not which execution.
    let names_a_sort = matches!(before, Some("model" | "provider" | "agent" | "tool" | "project"));
    let is_id = matches!(last, "id" | "ids" | "uuid" | "guid") && !names_a_sort;
    (is_usage && !is_setting) || is_time || is_id
}

/// The words of a key in lower case, whatever the naming convention. Its memory is reused for the next key.
#[derive(Default)]
struct Words {
    letters: String,
    /// The offset in `letters` at which each word begins.
    starts: Vec<usize>,
}

impl Words {
    fn split(&mut self, key: &str) {
        self.letters.clear();
        self.starts.clear();
        let mut before = ' ';
        let mut chars = key.chars().peekable();
        while let Some(c) = chars.next() {
            let begins =
                c.is_uppercase() && (!before.is_uppercase() || chars.peek().is_some_and(|next| next.is_lowercase()));
            if c.is_alphanumeric() {
                if begins || !before.is_alphanumeric() || self.starts.is_empty() {
                    self.starts.push(self.letters.len());
                }
                self.letters.extend(c.to_lowercase());
            }
            before = c;
        }
    }

    fn iter(&self) -> impl DoubleEndedIterator<Item = &str> {
        (0..self.starts.len()).map(|at| {
            let end = self.starts.get(at + 1).copied().unwrap_or(self.letters.len());
            self.letters.get(self.starts[at]..end).unwrap_or_default()
        })
    }
}

#[cfg(test)]
mod tests;
