//! The edit list: an alignment of two whole recordings with as few insertions and deletions as possible.
//!
//! Events are aligned by their content, without the places that they refer to: an additional event would shift all later places. Only
//! places before the first divergence count, since they are the same on both sides; they tell apart equal answers to different calls.
//! Aligned events are then compared in full, where two places are equal if the events there are aligned with each other.

use std::collections::HashMap;

use serde::Serialize;

use super::align::{Match, Stopped, align};
use super::divergence::Compared;
use crate::diff::comparable::Comparable;
use crate::diff::error::{DiffError, Side};
use crate::diff::projection::{
    Calls, Digester, Field, Known, Pair, Places, Reference, Tree, fields, hash, with_references,
};
use crate::diff::stream::{Cursor, Event, Row, Source};
use crate::json::Text;
use crate::lines::{LineSource, ReadError};
use crate::task::Cancellation;
use crate::task::threading::scoped_builder;

/// Number of events digested between two checks for cancellation.
const EVENTS_AT_A_TIME: usize = 4096;

/// Maximum number of insertions and deletions in an edit list; beyond it there is no list.
pub(crate) const MAX_EDITS: usize = 100_000;

/// Maximum size, in bytes, of the field-level differences in a result. Later changes have no fields.
const FIELD_BYTES: usize = 32 << 20;

/// The kind of an edit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Op {
    /// The event is on the right only.
    Insert,
    /// The event is on the left only.
    Delete,
    /// The event is on both sides, with different content.
    Change,
}

/// A difference in the alignment of two recordings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// The kind of edit.
    pub op: Op,
    /// The event on the left: its logical time or place.
    pub left: Option<u64>,
    /// The event on the right: its logical time or place.
    pub right: Option<u64>,
    /// The differences of a change. `None` for other edits, and once the differences exceed the maximum size of a result.
    pub fields: Option<Vec<Field>>,
}

/// Consecutive events that are equal on both sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Equal {
    /// The first event on the left: its logical time or place.
    pub left: u64,
    /// The first event on the right: its logical time or place.
    pub right: u64,
    /// Number of compared events.
    pub length: u64,
}

/// The edit list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Edits {
    /// The differences, in order. `None` if there are more than [`MAX_EDITS`].
    pub edits: Option<Vec<Edit>>,
    /// The ranges without differences.
    pub equal: Vec<Equal>,
}

/// The digests of a recording's events.
#[derive(Default)]
struct Digested {
    /// Places before this one are the same on both sides.
    skipped: i64,
    /// The places of the recording.
    places: Places,
    /// A digest of each event's content.
    tokens: Vec<u128>,
    /// A hash of each event's category. A deleted and an inserted event of the same category can be one change.
    sorts: Vec<u64>,
    /// Each event's logical time or place.
    numbers: Vec<u64>,
    /// Offset and length of each event's line.
    lines: Vec<(u64, u32)>,
    /// Index of each event's first entry in `references`.
    starts: Vec<u32>,
    references: Vec<(i64, u32)>,
    digester: Digester,
    /// The references of the event that is being added.
    found: Vec<Option<Reference>>,
}

impl Digested {
    /// Digests the events of one side from `skipped` on.
    fn read<S: Comparable>(request: &Request<'_>, side: Side) -> Result<Self, DiffError> {
        let Request { compared, skipped, cancelled, .. } = *request;
        let source = request.sources[side as usize];
        let mut cursor = Cursor::<S>::open(source, Some(side), request.start, compared.heartbeats)?;
        let (mut list, mut calls) = (Digested { skipped, ..Digested::default() }, Calls::default());
        let mut count = 0;
        while cursor.advance()? {
            let Some(event) = cursor.event() else { break };
            if event.place() >= skipped {
                let tree = S::project(&event, &mut calls, &compared.ignore);
                let tree = tree.ok_or_else(|| source.unread(ReadError::Changed, Some(side)))?;
                list.add(&tree, event.row.number, cursor.line());
            } else {
                S::pass(&event, &mut calls);
            }
            count += 1;
            if count % EVENTS_AT_A_TIME == 0 && cancelled.is_cancelled() {
                return Err(DiffError::Cancelled);
            }
        }
        Ok(Digested { places: cursor.places, ..list })
    }

    /// The event with the given index as it is compared, read again from the log.
    fn project<S: Comparable>(
        &self,
        log: &LineSource,
        index: usize,
        compared: &Compared,
    ) -> Result<Tree<'static>, ReadError> {
        let ((offset, length), references) = (self.lines[index], self.references_of(index));
        let mut scratch = Vec::new();
        let line = log.bytes_at(offset, length as usize, &mut scratch)?;
        let row = S::row(line, references).ok_or(ReadError::Changed)?;
        let row = Row { number: self.numbers[index], ..row };
        let event = Event { row: &row, line, places: &self.places };
        S::project(&event, &mut Known(references.iter()), &compared.ignore).ok_or(ReadError::Changed)
    }

    /// Adds an event as it is compared. `number` is its logical time or place, `line` the offset and length of its line.
    fn add(&mut self, tree: &Tree<'_>, number: u64, line: (u64, u32)) {
        self.starts.push(self.references.len() as u32);
        let token = self.token(tree);
        self.tokens.push(token);
        self.sorts.push(sort(tree));
        self.numbers.push(number);
        self.lines.push(line);
    }

    /// A digest of the event's content and of its references to places before `skipped`.
    fn token(&mut self, tree: &Tree<'_>) -> u128 {
        self.found.clear();
        let digest = self.digester.digest(tree, &mut self.found);
        let places = self.found.iter().map(|found| found.map_or((NOTHING, 0), |found| (found.place, found.part)));
        self.references.extend(places);
        let before = |found: &Option<Reference>| found.filter(|reference| reference.place < self.skipped);
        with_references(digest, self.found.iter().map(before))
    }

    /// The places that an event refers to, in a fixed order.
    fn references_of(&self, index: usize) -> &[(i64, u32)] {
        let start = self.starts[index] as usize;
        let end = self.starts.get(index + 1).map_or(self.references.len(), |&end| end as usize);
        &self.references[start..end]
    }
}

/// The place of a reference that refers to nothing.
pub(crate) const NOTHING: i64 = i64::MIN;

fn add_text(bytes: &mut Vec<u8>, text: &str) {
    bytes.extend((text.len() as u64).to_le_bytes());
    bytes.extend_from_slice(text.as_bytes());
}

/// A hash of the event's category: kind and node in a run, type and speaker in a session.
fn sort(tree: &Tree<'_>) -> u64 {
    let mut bytes = Vec::new();
    for path in [&["kind"][..], &["node"], &["type"], &["payload", "content", "speaker"]] {
        let text = tree.at(path).and_then(|index| tree.string(index));
        add_text(&mut bytes, text.as_ref().map_or("", Text::as_json));
    }
    hash(&bytes) as u64
}

/// What an edit list is about.
#[derive(Clone, Copy)]
pub(crate) struct Request<'r> {
    /// The recordings, left and right.
    pub sources: [&'r Source; 2],
    /// The logical time at which the comparison begins.
    pub start: u64,
    /// Number of events that are equal at the beginning, and not part of the list.
    pub skipped: i64,
    /// What is compared.
    pub compared: &'r Compared,
    /// Stops the comparison.
    pub cancelled: &'r Cancellation,
}

/// The edit list of two recordings.
pub(crate) fn edits<S: Comparable>(request: &Request<'_>) -> Result<Edits, DiffError> {
    let (left, right) = std::thread::scope(|scope| {
        let cancellation = Cancellation::current();
        let read = move || cancellation.during(|| Digested::read::<S>(request, Side::Left));
        let thread = scoped_builder().spawn_scoped(scope, read);
        let right = Digested::read::<S>(request, Side::Right);
        let left = match thread.map(|thread| thread.join()) {
            Ok(Ok(left)) => left,
            Ok(Err(panic)) => std::panic::resume_unwind(panic),
            Err(_) => Digested::read::<S>(request, Side::Left),
        };
        Ok::<_, DiffError>((left?, right?))
    })?;
    let (one, other) = numbered(&left.tokens, &right.tokens);
    let matches = match align(&one, &other, MAX_EDITS, request.cancelled) {
        Ok(matches) => matches,
        Err(Stopped::TooMany) => return Ok(Edits::default()),
        Err(Stopped::Cancelled) => return Err(DiffError::Cancelled),
    };
    let mut list = List { left: &left, right: &right, steps: Vec::new(), beside: vec![None; left.tokens.len()] };
    list.walk(&matches);
    list.to_edits::<S>(request)
}

/// Replaces the digests by small numbers that are equal if the digests are.
fn numbered(left: &[u128], right: &[u128]) -> (Vec<u32>, Vec<u32>) {
    let mut known: HashMap<u128, u32> = HashMap::new();
    let mut number = |token: &u128| {
        let next = known.len() as u32;
        *known.entry(*token).or_insert(next)
    };
    (left.iter().map(&mut number).collect(), right.iter().map(&mut number).collect())
}

/// One step of the alignment: one event, or a pair of events, by index.
#[derive(Clone, Copy)]
enum Step {
    Match(usize, usize),
    Change(usize, usize),
    Delete(usize),
    Insert(usize),
}

struct List<'l> {
    left: &'l Digested,
    right: &'l Digested,
    steps: Vec<Step>,
    /// For each event on the left, the event on the right that it is aligned with.
    beside: Vec<Option<u32>>,
}

impl List<'_> {
    fn walk(&mut self, matches: &[Match]) {
        let (mut x, mut y) = (0, 0);
        let end = Match { left: self.left.tokens.len(), right: self.right.tokens.len(), length: 0 };
        for Match { left, right, length } in matches.iter().chain([&end]) {
            self.gap(x..*left, y..*right);
            self.steps.extend((0..*length).map(|at| Step::Match(left + at, right + at)));
            (x, y) = (left + length, right + length);
        }
        for step in &self.steps {
            if let Step::Match(left, right) | Step::Change(left, right) = step {
                self.beside[*left] = Some(*right as u32);
            }
        }
    }

    /// Adds the steps between two matches: a deleted event and the next inserted one of the same category become a change.
    fn gap(&mut self, left: std::ops::Range<usize>, right: std::ops::Range<usize>) {
        let mut inserted: HashMap<u64, Vec<usize>> = HashMap::new();
        for index in right.clone().rev() {
            inserted.entry(self.right.sorts[index]).or_default().push(index);
        }
        let mut next = right.start;
        for index in left {
            let found = inserted.get_mut(&self.left.sorts[index]).and_then(|list| {
                while list.last().is_some_and(|&at| at < next) {
                    list.pop();
                }
                list.pop()
            });
            match found {
                Some(at) => {
                    self.steps.extend((next..at).map(Step::Insert));
                    self.steps.push(Step::Change(index, at));
                    next = at + 1;
                }
                None => self.steps.push(Step::Delete(index)),
            }
        }
        self.steps.extend((next..right.end).map(Step::Insert));
    }

    /// Whether two places belong to events that are aligned with each other. Places before `skipped` are the same on both sides.
    fn is_same_place(&self, skipped: i64, left: (i64, u32), right: (i64, u32)) -> bool {
        if left.1 != right.1 {
            return false;
        }
        match usize::try_from(left.0.saturating_sub(skipped)) {
            Ok(at) => self.beside.get(at).copied().flatten().map(i64::from) == Some(right.0.saturating_sub(skipped)),
            Err(_) => left.0 == right.0,
        }
    }

    fn to_edits<S: Comparable>(&self, request: &Request<'_>) -> Result<Edits, DiffError> {
        let Request { sources, skipped, compared, .. } = *request;
        let failed = |error, side: Side| sources[side as usize].unread(error, Some(side));
        let open = |side: Side| LineSource::open(&sources[side as usize].log).map_err(|error| failed(error, side));
        let (left_log, right_log) = (open(Side::Left)?, open(Side::Right)?);
        let may_be_redacted = sources.iter().any(|source| source.is_redacted);
        let (mut told, mut equal, mut spent) = (Vec::new(), Vec::<Equal>::new(), 0);
        let same_reference = |left: Reference, right: Reference| {
            self.is_same_place(skipped, (left.place, left.part), (right.place, right.part))
        };
        // The indices after the last range in `equal`.
        let mut end = None;
        for step in &self.steps {
            let (left, right) = match *step {
                Step::Delete(left) => {
                    told.push(Edit { op: Op::Delete, left: Some(self.left.numbers[left]), right: None, fields: None });
                    continue;
                }
                Step::Insert(right) => {
                    told.push(Edit {
                        op: Op::Insert,
                        left: None,
                        right: Some(self.right.numbers[right]),
                        fields: None,
                    });
                    continue;
                }
                Step::Match(left, right) if self.have_same_references(skipped, left, right) => {
                    match equal.last_mut() {
                        Some(last) if end == Some((left, right)) => last.length += 1,
                        _ => equal.push(Equal {
                            left: self.left.numbers[left],
                            right: self.right.numbers[right],
                            length: 1,
                        }),
                    }
                    end = Some((left + 1, right + 1));
                    continue;
                }
                Step::Match(left, right) | Step::Change(left, right) => (left, right),
            };
            let mut found = None;
            if spent < FIELD_BYTES {
                let one = self.left.project::<S>(&left_log, left, compared);
                let other = self.right.project::<S>(&right_log, right, compared);
                let one = one.map_err(|error| failed(error, Side::Left))?;
                let other = other.map_err(|error| failed(error, Side::Right))?;
                let differing =
                    fields(&Pair { left: &one, right: &other, same_reference: &same_reference }, may_be_redacted);
                let length = |value: &Option<String>| value.as_ref().map_or(0, String::len);
                spent += differing
                    .iter()
                    .map(|field| field.path.len() + length(&field.left) + length(&field.right))
                    .sum::<usize>();
                found = Some(differing);
            }
            let (left, right) = (Some(self.left.numbers[left]), Some(self.right.numbers[right]));
            told.push(Edit { op: Op::Change, left, right, fields: found });
        }
        Ok(Edits { edits: Some(told), equal })
    }

    fn have_same_references(&self, skipped: i64, left: usize, right: usize) -> bool {
        let (one, other) = (self.left.references_of(left), self.right.references_of(right));
        one.len() == other.len()
            && one.iter().zip(other).all(|(&left, &right)| match (left.0 == NOTHING, right.0 == NOTHING) {
                (false, false) => self.is_same_place(skipped, left, right),
                (left, right) => left == right,
            })
    }
}
