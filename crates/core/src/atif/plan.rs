//! The first pass over a session: which items become steps, and to which step each result belongs.
//!
//! A step of ATIF contains the results of its calls, which a session has in later items. So the places of the results are found first, and
//! the second pass reads them from there. Of a session only places are in memory, and the ids of the calls that are not answered yet.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use super::ExportError;
use super::block::Block;
use super::value::{Members, elements, string};
use crate::json::Nesting;
use crate::lines::LineSource;
use crate::order;
use crate::session::format::{Body, Line, Mode};
use crate::session::read::{RecordLine, RecordOptions, RecordReader};
use crate::task::Task;

/// What is to be written.
#[derive(Default)]
pub(super) struct Plan {
    /// The payload of the `session_start`, as JSON.
    pub(super) start: Vec<u8>,
    /// The last title, as JSON.
    pub(super) title: Option<Vec<u8>>,
    /// The first model that an item names.
    pub(super) model: Option<String>,
    pub(super) steps: Vec<PlannedStep>,
    /// By step; the results of one step are in the order of the session.
    pub(super) results: Vec<PlannedResult>,
    /// Number of items that are not in the history any more.
    pub(super) gone: u64,
}

/// A place in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FileRange {
    pub(super) offset: u64,
    pub(super) length: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StepKind {
    User,
    Agent,
    /// Results that belong to no call.
    Results,
    /// An item with a speaker that this version does not know.
    Unknown,
}

/// A step, by the line of its item.
#[derive(Clone, Copy, Debug)]
pub(super) struct PlannedStep {
    pub(super) kind: StepKind,
    pub(super) line: FileRange,
}

/// The result of a call, with the blocks that go with it.
#[derive(Clone, Copy, Debug)]
pub(super) struct PlannedResult {
    pub(super) step: usize,
    /// The blocks, which are adjacent in the item's array.
    pub(super) blocks: FileRange,
    /// The line of the item.
    pub(super) line: FileRange,
    /// Whether it is the item's first, with which the item's own members are written.
    pub(super) is_first: bool,
    /// Whether the call is known.
    pub(super) has_call: bool,
    /// Whether it is in the item of its step, and not in an item of results or of another step.
    pub(super) is_inline: bool,
}

impl Plan {
    /// Reads a session. Also returns its file, for the second pass.
    pub(super) fn of(session: LineSource, task: &Task<'_>) -> Result<(Self, Arc<LineSource>), ExportError> {
        let mut reader = RecordReader::of(session, RecordOptions { history: true, ..RecordOptions::default() })?;
        let mut planner = Planner::default();
        let mut take = |line: &RecordLine<'_>| {
            planner.take(line);
            true
        };
        while reader.read(&mut take)? {
            task.check()?;
        }
        let mut plan = planner.plan;
        if plan.start.is_empty() {
            return Err(ExportError::NoSession);
        }
        if plan.steps.is_empty() {
            return Err(ExportError::Empty);
        }
        order::sort_by(&mut plan.results, |one, other| one.step.cmp(&other.step));
        Ok((plan, reader.source().clone()))
    }
}

#[derive(Default)]
struct Planner {
    plan: Plan,
    /// The steps with unanswered calls, by the id of the call.
    unanswered: HashMap<String, VecDeque<usize>>,
    nesting: Nesting,
}

impl Planner {
    fn take(&mut self, record: &RecordLine<'_>) {
        let Some(json) = record.json else { return };
        let Line::Event(event) = Line::read(json, Mode::Lenient, &mut self.nesting) else { return };
        match event.body {
            Body::SessionStart(_) if record.number == 1 => {
                self.plan.start = Line::start_payload(json).map(|(span, _)| span.of(json).to_vec()).unwrap_or_default();
            }
            Body::SessionMetadata(Some(title)) => self.plan.title = Some(title.of(json).to_vec()),
            Body::Content(_) | Body::Compressed(_) if record.in_history == Some(false) => self.plan.gone += 1,
            Body::Content(item) | Body::Compressed(item) => {
                let line = FileRange { offset: record.offset, length: json.len() };
                self.item(item.of(json), line, record.offset + u64::from(item.start));
            }
            _ => {}
        }
    }

    /// Plans the item that begins at `offset` of the file.
    fn item(&mut self, item: &[u8], line: FileRange, offset: u64) {
        let Some(members) = Members::of(item, &mut self.nesting) else { return };
        let kind = match members.text("speaker").as_deref() {
            Some("human") => StepKind::User,
            Some("ai") => StepKind::Agent,
            Some("tool") => StepKind::Results,
            _ => StepKind::Unknown,
        };
        let metadata = members.get("metadata").and_then(|metadata| Members::of(metadata, &mut self.nesting));
        if self.plan.model.is_none() && kind == StepKind::Agent {
            self.plan.model = metadata.and_then(|metadata| metadata.text("model"));
        }
        let blocks = members.get("blocks").and_then(|blocks| elements(blocks, &mut self.nesting)).unwrap_or_default();
        let place = |block: &[u8]| offset + (block.as_ptr() as usize - item.as_ptr() as usize) as u64;
        match kind {
            StepKind::Results => self.results(&blocks, line, place),
            StepKind::Agent => self.agent(&blocks, line, place),
            StepKind::User | StepKind::Unknown => self.plan.steps.push(PlannedStep { kind, line }),
        }
    }

    fn agent(&mut self, blocks: &[&[u8]], line: FileRange, place: impl Fn(&[u8]) -> u64) {
        let step = self.plan.steps.len();
        self.plan.steps.push(PlannedStep { kind: StepKind::Agent, line });
        for block in blocks {
            match self.role(block) {
                Role::Call(Some(id)) => self.unanswered.entry(id).or_default().push_back(step),
                Role::Result(id) => {
                    let answered = self.answered(id);
                    self.plan.results.push(PlannedResult {
                        step: answered.unwrap_or(step),
                        blocks: FileRange { offset: place(block), length: block.len() },
                        line,
                        is_first: false,
                        has_call: answered.is_some(),
                        is_inline: answered.is_none_or(|answered| answered == step),
                    });
                }
                Role::Call(None) | Role::Other => {}
            }
        }
    }

    fn results(&mut self, blocks: &[&[u8]], line: FileRange, place: impl Fn(&[u8]) -> u64) {
        let mut starts: Vec<(usize, Option<String>)> = Vec::new();
        for (at, block) in blocks.iter().enumerate() {
            if let Role::Result(id) = self.role(block) {
                starts.push((if starts.is_empty() { 0 } else { at }, id));
            }
        }
        if starts.is_empty() {
            starts.push((0, None));
        }
        let mut orphans = None;
        for (number, (start, id)) in starts.iter().enumerate() {
            let end = starts.get(number + 1).map_or(blocks.len(), |(next, _)| *next);
            let range = match (blocks.get(*start), blocks.get(end.wrapping_sub(1))) {
                (Some(first), Some(last)) => {
                    let offset = place(first);
                    FileRange { offset, length: (place(last) - offset) as usize + last.len() }
                }
                _ => FileRange { offset: line.offset, length: 0 },
            };
            let answered = self.answered(id.clone());
            let step = answered.unwrap_or_else(|| self.orphan_step(&mut orphans, line));
            self.plan.results.push(PlannedResult {
                step,
                blocks: range,
                line,
                is_first: number == 0,
                has_call: answered.is_some(),
                is_inline: false,
            });
        }
    }

    /// The step for the results of an item that belong to no call.
    fn orphan_step(&mut self, step: &mut Option<usize>, line: FileRange) -> usize {
        *step.get_or_insert_with(|| {
            self.plan.steps.push(PlannedStep { kind: StepKind::Results, line });
            self.plan.steps.len() - 1
        })
    }

    /// The first step with an unanswered call of this id.
    fn answered(&mut self, id: Option<String>) -> Option<usize> {
        let id = id?;
        let steps = self.unanswered.get_mut(&id)?;
        let step = steps.pop_front();
        if steps.is_empty() {
            self.unanswered.remove(&id);
        }
        step
    }

    fn role(&mut self, block: &[u8]) -> Role {
        let Some(members) = Members::of(block, &mut self.nesting) else { return Role::Other };
        match members.get("type").and_then(string).as_deref() {
            Some("tool_call") => Role::Call(id_of(&members, "id")),
            Some("tool_response") => Role::Result(id_of(&members, "callId")),
            _ => Role::Other,
        }
    }
}

enum Role {
    Call(Option<String>),
    Result(Option<String>),
    Other,
}

/// As [`Block`] reads it.
fn id_of(members: &Members<'_>, name: &str) -> Option<String> {
    members.text(name).filter(|id| !id.is_empty())
}

/// Whether a block is the result of a call.
pub(super) fn is_result(block: &Block<'_>) -> bool {
    matches!(block, Block::Result(_))
}
