//! The ancestors of a session's record, inferred from the order of records (`docs/diff.md`, "Causal chains").
//!
//! Reads the file up to the record, and keeps the position and parents of each record before it in memory: about fifty bytes.

use std::collections::BinaryHeap;

use super::causal_chain::{Chain, Edge, Evidence, MAX_EDGES};
use crate::diff::error::{DiffError, Side};
use crate::diff::projection::{BlockType, Calls, CountCalls, Reference, Tree, block_type};
use crate::diff::stream::{Cursor, Event, SessionRecords, Source, record_row};
use crate::json::{Index, Nesting, Text, inside};
use crate::lines::{LineSource, ReadError};
use crate::session::fold::{History, Item};
use crate::session::format::{Body, Change, Line, Mode, key_of};
use crate::task::{Cancelled, Progress, Task};

/// Maximum number of parents of a record. Only the nearest ones are kept.
const MAX_PARENTS: usize = 256;

/// Number of records that are read between two checks for cancellation.
const RECORDS_AT_A_TIME: u64 = 1024;

/// The ancestors of the record at `place`. Returns `None` if there is no such record.
pub(crate) fn chain(
    source: &Source,
    place: u64,
    task: &mut Task<'_>,
    side: Option<Side>,
) -> Result<Option<Chain>, DiffError> {
    let mut causes = Causes::default();
    let mut cursor = Cursor::<SessionRecords>::open(source, side, 0, false)?;
    while cursor.advance()? {
        let Some(record) = cursor.event() else { break };
        causes.add(&record, cursor.line());
        let at = record.row.number;
        if at == place {
            return causes.chain(source, place).map(Some).map_err(|error| source.unread(error, side));
        }
        if at.is_multiple_of(RECORDS_AT_A_TIME) {
            task.report(Progress::default()).map_err(|Cancelled| DiffError::Cancelled)?;
        }
    }
    Ok(None)
}

/// The parents of a record in `Causes::parents`: the index of the first, and their number.
type Parents = (u64, u32);

/// The line of a record in the file, and its parents.
#[derive(Clone, Copy)]
struct Link {
    offset: u64,
    length: u32,
    parents: Parents,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Speaker {
    Ai,
    Tool,
    /// A human, or the summary of a compression.
    Other,
}

/// An item of the history.
#[derive(Clone, Copy)]
struct Said {
    /// The place of the record that brought it, even if it was replaced since: what led to it is the same.
    place: u32,
    speaker: Speaker,
    /// The key of its marker.
    key: Option<u64>,
}

impl Item for Said {
    fn key(&self) -> Option<u64> {
        self.key
    }

    fn in_place_of(self, old: &Self) -> Self {
        *old
    }

    fn marked(self, _: &[u8], key: u64, _: bool) -> Self {
        Said { key: Some(key), ..self }
    }
}

/// The parents of each record.
#[derive(Default)]
struct Causes {
    links: Vec<Link>,
    parents: Vec<u32>,
    /// The history as in a replay.
    history: History<Said>,
    calls: Calls,
    nesting: Nesting,
    /// The tool item that AI items answered last, and the parents of those AI items.
    answered: Option<(u32, Parents)>,
}

impl Causes {
    /// Adds the next record, given offset and length of its line.
    fn add(&mut self, record: &Event<'_>, (offset, length): (u64, u32)) {
        let place = record.row.number as u32;
        let body = match Line::read(record.line, Mode::Lenient, &mut self.nesting) {
            Line::Event(event) => event.body,
            _ => Body::Unknown(None),
        };
        let change = body.change(|item| item);
        let (parents, speaker) = match &change {
            _ if place == 0 => ((0, 0), Speaker::Other),
            Some(Change::Append(item)) => self.add_item(item.of(record.line), place, self.history.len()),
            // An inserted item is caused as if it were the last one.
            Some(Change::Insert { after, item }) => match self.history.first(*after) {
                Some(at) => self.add_item(item.of(record.line), place, at + 1),
                None => (self.item_before(), Speaker::Other),
            },
            _ => (self.item_before(), Speaker::Other),
        };
        if let Some(change) = change.filter(|_| place > 0) {
            let change = change.map(|item| Said { place, speaker, key: key_of(item.of(record.line)) });
            self.apply(change, &body, record.line);
        }
        self.links.push(Link { offset, length, parents });
    }

    /// Applies the change that an event of this line makes.
    fn apply(&mut self, mut change: Change<Said>, body: &Body, line: &[u8]) {
        if matches!(body, Body::Edit(_) | Body::Purge(_)) {
            // The tool items before an item may be others now.
            self.answered = None;
        }
        match (&mut change, body) {
            (Change::Bind { content, .. }, _) => *content = None,
            (Change::Replace(items), Body::Purge(purge)) => {
                // Each item has lost its media at most, if there are as many.
                let is_same = items.len() == self.history.len();
                for (index, (item, span)) in items.iter_mut().zip(&purge.items).enumerate() {
                    *item = match self.history.get(index).filter(|_| is_same) {
                        Some(old) => Said { key: item.key, ..old },
                        None => Said { speaker: speaker_of(span.of(line)), ..*item },
                    };
                }
            }
            _ => {}
        }
        self.history.apply(change);
    }

    fn keep(&mut self, parents: impl IntoIterator<Item = u32>) -> Parents {
        let start = self.parents.len();
        self.parents.extend(parents);
        (start as u64, (self.parents.len() - start) as u32)
    }

    /// The item before, or the `session_start` if there is none.
    fn item_before(&mut self) -> Parents {
        self.item_before_index(self.history.len())
    }

    fn before(&self, index: usize) -> Option<Said> {
        self.history.get(index.checked_sub(1)?)
    }

    /// The item before an index of the history.
    fn item_before_index(&mut self, index: usize) -> Parents {
        let before = self.before(index).map_or(0, |item| item.place);
        self.keep([before])
    }

    /// The parents and the speaker of an item at an index of the history, whose calls are opened and answered.
    fn add_item(&mut self, item: &[u8], place: u32, index: usize) -> (Parents, Speaker) {
        let Some(tree) = Tree::parse(item) else { return (self.item_before(), Speaker::Other) };
        let answered = self.count_calls(&tree, place);
        let speaker = speaker_in(&tree);
        let parents = match speaker {
            Speaker::Tool if !answered.is_empty() => self.keep(answered),
            Speaker::Ai => self.what_was_said(index),
            _ => self.item_before_index(index),
        };
        (parents, speaker)
    }

    /// Opens and answers the calls of an item. Returns the places of the answered calls, each once.
    fn count_calls(&mut self, tree: &Tree<'_>, place: u32) -> Vec<u32> {
        let blocks =
            tree.at(&["blocks"]).map(|blocks| tree.children(blocks).collect::<Vec<Index>>()).unwrap_or_default();
        let mut answered = Vec::new();
        for (part, block) in (0..).zip(blocks) {
            match block_type(tree, block) {
                BlockType::Call(id) => self.calls.open(tree.string(id), Reference { place: i64::from(place), part }),
                BlockType::Response(id) => {
                    answered.extend(self.calls.answer(tree.string(id)).map(|call| call.place as u32));
                }
                BlockType::Other => {}
            }
        }
        answered.sort_unstable();
        answered.dedup();
        answered.truncate(MAX_PARENTS);
        answered
    }

    /// The parents of an item of the AI: the tool items right before it, or the item of the human. An item that follows another item
    /// of the AI has the same parents as that one.
    fn what_was_said(&mut self, index: usize) -> Parents {
        match self.before(index) {
            Some(Said { place: last, speaker: Speaker::Tool, .. }) => {
                if let Some((_, parents)) = self.answered.filter(|(tool, _)| *tool == last) {
                    return parents;
                }
                let parents = self.keep(self.last_tools(index));
                self.answered = Some((last, parents));
                parents
            }
            Some(Said { place, speaker: Speaker::Ai, .. }) => self.links[place as usize].parents,
            _ => self.item_before_index(index),
        }
    }

    /// The places of the tool items directly before an index of the history, nearest first.
    fn last_tools(&self, index: usize) -> Vec<u32> {
        let items = (0..index).rev().take(MAX_PARENTS).filter_map(|at| self.history.get(at));
        items.take_while(|item| item.speaker == Speaker::Tool).map(|item| item.place).collect()
    }

    fn parents_of(&self, link: Link) -> &[u32] {
        let (start, count) = (link.parents.0 as usize, link.parents.1 as usize);
        &self.parents[start..start + count]
    }

    /// All ancestors of a record, nearest first.
    fn chain(&self, source: &Source, place: u64) -> Result<Chain, ReadError> {
        let file = LineSource::open(&source.log)?;
        let link = self.links[place as usize];
        let mut open = BinaryHeap::from(self.parents_of(link).to_vec());
        let (mut chain, mut scratch, mut last) = (Chain::default(), Vec::new(), None);
        while let Some(place) = open.pop() {
            if last.replace(place) == Some(place) {
                continue;
            }
            if chain.edges.len() == MAX_EDGES {
                chain.truncated = true;
                break;
            }
            let link = self.links[place as usize];
            let line = file.bytes_at(link.offset, link.length as usize, &mut scratch)?;
            chain.edges.push(edge(line, u64::from(place), source));
            open.extend(self.parents_of(link));
        }
        Ok(chain)
    }
}

fn speaker_of(item: &[u8]) -> Speaker {
    Tree::parse(item).map_or(Speaker::Other, |item| speaker_in(&item))
}

fn speaker_in(item: &Tree<'_>) -> Speaker {
    match item.at(&["speaker"]).and_then(|speaker| item.string(speaker)).as_ref().map(Text::as_json) {
        Some("ai") => Speaker::Ai,
        Some("tool") => Speaker::Tool,
        _ => Speaker::Other,
    }
}

fn edge(line: &[u8], place: u64, source: &Source) -> Edge {
    let row = record_row(line, &mut Nesting::default());
    let name = row.and_then(|row| row.head).and_then(|name| std::str::from_utf8(name.of(line)).ok());
    let kind = match name {
        Some(name) if name.starts_with('"') => Text::from_json(inside(name)).to_plain().into_owned(),
        _ => "undefined".to_owned(),
    };
    let label = Tree::parse(line).and_then(|tree| label(&tree));
    Edge { number: place, event_id: source.event_id(place), kind, label, evidence: Evidence::Inferred }
}

/// The speaker, and the tools that are called or that respond.
fn label(record: &Tree<'_>) -> Option<String> {
    let item = record.at(&["payload", "content"])?;
    let plain = |index: Index| record.string(index).map(|text| text.to_plain().into_owned());
    let speaker = record.member(item, "speaker").and_then(plain)?;
    let tools = tools(record, item);
    Some(if tools.is_empty() { speaker } else { format!("{speaker}: {}", tools.join(", ")) })
}

/// The tools that an item calls, or whose responses it contains.
pub(crate) fn tools(tree: &Tree<'_>, item: Index) -> Vec<String> {
    let Some(blocks) = tree.member(item, "blocks") else { return Vec::new() };
    let is_tool = |block: &Index| !matches!(block_type(tree, *block), BlockType::Other);
    tree.children(blocks).filter(is_tool).filter_map(|block| tool_of(tree, block)).collect()
}

/// The tool that a block calls, or whose response it contains.
pub(crate) fn tool_of(tree: &Tree<'_>, block: Index) -> Option<String> {
    let plain = |name| {
        let text = tree.member(block, name).and_then(|index| tree.string(index));
        text.map(|text| text.to_plain().into_owned())
    };
    match plain("type")?.as_str() {
        "tool_call" => plain("name"),
        "tool_response" => plain("toolName"),
        _ => None,
    }
}

/// The keys of the items of a session's history.
#[cfg(test)]
pub(crate) fn history_keys(path: &std::path::Path) -> Vec<Option<u64>> {
    let mut causes = Causes::default();
    let mut cursor = Cursor::<SessionRecords>::open(&Source::session(path), None, 0, false).unwrap();
    while cursor.advance().unwrap() {
        causes.add(&cursor.event().unwrap(), cursor.line());
    }
    causes.history.iter().map(|item| item.key).collect()
}

#[cfg(test)]
mod tests;
