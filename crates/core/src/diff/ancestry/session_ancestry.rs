//! The ancestors of a session's record, inferred from the order of records (`docs/diff.md`, "Causal chains").
//!
//! Reads the file up to the record, and keeps the position and parents of each record before it in memory: about forty bytes.

use std::collections::BinaryHeap;

use super::causal_chain::{Chain, Edge, Evidence, MOST_EDGES, record_id};
use crate::diff::error::SessionFault;
use crate::diff::projection::{BlockType, Calls, Index, Tree, block_type};
use crate::diff::stream::{Record, SessionCursor, Source, parts_of};
use crate::json::{Nesting, Span, Text};
use crate::lines::LineSource;
use crate::session::{Body, Line, Mode, read_line};
use crate::task::{Cancelled, Progress, Task};

/// Maximum number of parents of a record. Only the nearest ones are kept.
const MOST_PARENTS: usize = 256;

/// Number of records that are read between two checks for cancellation.
const RECORDS_AT_A_TIME: u64 = 1024;

/// The reason a chain could not be found.
pub(super) enum Stop {
    /// The session can't be read.
    Fault(SessionFault),
    /// The caller cancelled the search.
    Cancelled,
}

impl<E: Into<SessionFault>> From<E> for Stop {
    fn from(error: E) -> Self {
        Stop::Fault(error.into())
    }
}

/// The ancestors of the record at `place`. Returns `None` if there is no such record.
pub(crate) fn chain(source: &Source, place: u64, task: &mut Task<'_>) -> Result<Option<Chain>, Stop> {
    Causes::default().find(source, place, task)
}

impl Causes {
    fn find(&mut self, source: &Source, place: u64, task: &mut Task<'_>) -> Result<Option<Chain>, Stop> {
        let mut cursor = SessionCursor::open(source)?;
        while cursor.advance()? {
            let Some(record) = cursor.record() else { break };
            self.add(&record);
            if record.place as u64 == place {
                return self.chain(source, place).map(Some);
            }
            if (record.place as u64).is_multiple_of(RECORDS_AT_A_TIME) {
                task.report(Progress::default()).map_err(|Cancelled| Stop::Cancelled)?;
            }
        }
        Ok(None)
    }
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

/// The parents of each record.
#[derive(Default)]
struct Causes {
    links: Vec<Link>,
    parents: Vec<u32>,
    /// The history as in a replay: the place of each item's record, and its speaker.
    history: Vec<(u32, Speaker)>,
    calls: Calls,
    nesting: Nesting,
    /// The tool item that AI items answered last, and the parents of those AI items.
    answered: Option<(u32, Parents)>,
}

impl Causes {
    fn add(&mut self, record: &Record<'_>) {
        let place = record.place as u32;
        let body = match read_line(record.line, Mode::Lenient, &mut self.nesting) {
            Line::Event(event) => event.body,
            _ => Body::Unknown(None),
        };
        let parents = match body {
            _ if place == 0 => (0, 0),
            Body::Content(item) => self.add_item(record, place, item),
            Body::Compressed(_) => {
                let parents = self.item_before();
                self.history.clear();
                self.history.push((place, Speaker::Other));
                parents
            }
            Body::Rewind(count, _) => {
                let parents = self.item_before();
                let left = (self.history.len() as u64).saturating_sub(count);
                self.history.truncate(left as usize);
                parents
            }
            _ => self.item_before(),
        };
        self.links.push(Link { offset: record.offset, length: record.line.len() as u32, parents });
    }

    fn keep(&mut self, parents: impl IntoIterator<Item = u32>) -> Parents {
        let start = self.parents.len();
        self.parents.extend(parents);
        (start as u64, (self.parents.len() - start) as u32)
    }

    /// The item before, or the `session_start` if there is none.
    fn item_before(&mut self) -> Parents {
        let before = self.history.last().map_or(0, |(place, _)| *place);
        self.keep([before])
    }

    fn add_item(&mut self, record: &Record<'_>, place: u32, item: Span) -> Parents {
        let Some(tree) = Tree::parse(item.of(record.line)) else { return self.item_before() };
        let answered = self.count_calls(&tree, place);
        let speaker = match tree.at(&["speaker"]).and_then(|speaker| tree.string(speaker)).as_ref().map(Text::as_json) {
            Some("ai") => Speaker::Ai,
            Some("tool") => Speaker::Tool,
            _ => Speaker::Other,
        };
        let parents = match speaker {
            Speaker::Tool if !answered.is_empty() => self.keep(answered),
            Speaker::Ai => self.what_was_said(),
            _ => self.item_before(),
        };
        self.history.push((place, speaker));
        parents
    }

    /// Opens and answers the calls of an item. Returns the places of the answered calls, each once.
    fn count_calls(&mut self, tree: &Tree<'_>, place: u32) -> Vec<u32> {
        let blocks =
            tree.at(&["blocks"]).map(|blocks| tree.children(blocks).collect::<Vec<Index>>()).unwrap_or_default();
        let mut answered = Vec::new();
        for (part, block) in (0..).zip(blocks) {
            match block_type(tree, block) {
                BlockType::Call(id) => self.calls.open_at(tree.string(id), i64::from(place), part),
                BlockType::Response(id) => {
                    answered.extend(self.calls.answered_at(tree.string(id)).map(|place| place as u32));
                }
                BlockType::Other => {}
            }
        }
        answered.sort_unstable();
        answered.dedup();
        answered.truncate(MOST_PARENTS);
        answered
    }

    /// The parents of an item of the AI: the tool items right before it, or the item of the human. An item that follows another item
    /// of the AI has the same parents as that one.
    fn what_was_said(&mut self) -> Parents {
        match self.history.last().copied() {
            Some((last, Speaker::Tool)) => {
                if let Some((_, parents)) = self.answered.filter(|(tool, _)| *tool == last) {
                    return parents;
                }
                let parents = self.keep(self.last_tools());
                self.answered = Some((last, parents));
                parents
            }
            Some((place, Speaker::Ai)) => self.links[place as usize].parents,
            _ => self.item_before(),
        }
    }

    /// The places of the tool items at the end of the history, nearest first.
    fn last_tools(&self) -> Vec<u32> {
        let items = self.history.iter().rev().take(MOST_PARENTS);
        items.take_while(|(_, speaker)| *speaker == Speaker::Tool).map(|(place, _)| *place).collect()
    }

    fn parents_of(&self, link: Link) -> &[u32] {
        let (start, count) = (link.parents.0 as usize, link.parents.1 as usize);
        &self.parents[start..start + count]
    }

    /// All ancestors of a record, nearest first.
    fn chain(&self, source: &Source, place: u64) -> Result<Chain, Stop> {
        let file = LineSource::open(&source.log)?;
        let link = self.links[place as usize];
        let mut open = BinaryHeap::from(self.parents_of(link).to_vec());
        let (mut chain, mut scratch, mut last) = (Chain::default(), Vec::new(), None);
        while let Some(place) = open.pop() {
            if last.replace(place) == Some(place) {
                continue;
            }
            if chain.edges.len() == MOST_EDGES {
                chain.truncated = true;
                break;
            }
            let link = self.links[place as usize];
            let line = file.bytes_at(link.offset, link.length as usize, &mut scratch)?;
            chain.edges.push(edge(line, u64::from(place)));
            open.extend(self.parents_of(link));
        }
        Ok(chain)
    }
}

fn edge(line: &[u8], place: u64) -> Edge {
    let parts = parts_of(line, &mut Nesting::default());
    let name = parts.map(|parts| Record { line, parts, place: 0, offset: 0 }.name()).unwrap_or_default();
    let kind = match std::str::from_utf8(name) {
        Ok(name) if name.starts_with('"') => {
            Text::from_json(crate::diff::projection::inside(name)).to_plain().into_owned()
        }
        _ => "undefined".to_owned(),
    };
    let label = Tree::parse(line).and_then(|tree| label(&tree));
    Edge { number: place, event_id: record_id(place), kind, label, evidence: Evidence::Inferred }
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
    let tool = |block: Index| {
        let name = match block_type(tree, block) {
            BlockType::Call(_) => "name",
            BlockType::Response(_) => "toolName",
            BlockType::Other => return None,
        };
        tree.member(block, name).and_then(|name| tree.string(name)).map(|name| name.to_plain().into_owned())
    };
    tree.children(blocks).filter_map(tool).collect()
}

#[cfg(test)]
mod tests;
