//! The edit list: two recordings aligned as wholes, with as few insertions and deletions as can be.
//!
//! Events are aligned by what they say, without the places they name: an event more would move all places behind it. Only places before
//! the first divergence count, for they are the same ones on both sides: so the answers to two calls stay apart that say the same. What is
//! aligned is then compared in full, two places being the same if their events are aligned with each other.

use std::collections::HashMap;
use std::sync::atomic::AtomicBool;

use super::align::{Match, Stopped, align};
use super::digest::{Digester, with_references};
use super::equal::Pair;
use super::error::{DiffError, Side};
use super::fields::{Field, FieldOptions, fields};
use super::tree::{Reference, Tree};
use crate::run::text::Text;
use twox_hash::XxHash3_128;

/// Beyond so many insertions and deletions there is no list.
pub const MOST_EDITS: usize = 100_000;

/// How many bytes of field-level differences an answer may have. Later changes have no fields.
const FIELD_BYTES: usize = 32 << 20;

/// The kind of an edit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// It is on the right only.
    Insert,
    /// It is on the left only.
    Delete,
    /// It says something else.
    Change,
}

impl Op {
    /// The name that users read.
    pub fn as_str(self) -> &'static str {
        match self {
            Op::Insert => "insert",
            Op::Delete => "delete",
            Op::Change => "change",
        }
    }
}

/// A difference between two recordings as wholes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// The kind of edit.
    pub op: Op,
    /// The event on the left: logical time, or place.
    pub left: Option<u64>,
    /// The event on the right.
    pub right: Option<u64>,
    /// For a change, what differs; None if there was too much to tell.
    pub fields: Option<Vec<Field>>,
}

/// Events that are the same on both sides, one behind the other: numbers of the first, and how many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Equal {
    /// The first on the left: logical time, or place.
    pub left: u64,
    /// The first on the right.
    pub right: u64,
    /// How many are compared.
    pub length: u64,
}

/// The edit list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Edits {
    /// What differs, in order. None: it takes more than [`MOST_EDITS`].
    pub edits: Option<Vec<Edit>>,
    /// What does not.
    pub equal: Vec<Equal>,
}

/// A recording whose events are known by what they say.
#[derive(Default)]
pub struct Digested {
    /// Places before this one are the same on both sides.
    skipped: i64,
    /// What each says.
    tokens: Vec<u128>,
    /// What sort of event each is: those of one sort can change into each other.
    sorts: Vec<u64>,
    /// Logical time, or place.
    pub numbers: Vec<u64>,
    /// Where its line is.
    pub lines: Vec<(u64, u32)>,
    /// Where in `references` those of each begin.
    starts: Vec<u32>,
    references: Vec<(i64, u32)>,
    digester: Digester,
    /// What the event refers to that is being added.
    found: Vec<Option<Reference>>,
}

impl Digested {
    /// Nothing yet, of a recording whose first `skipped` events are those of the other.
    pub fn behind(skipped: i64) -> Self {
        Digested { skipped, ..Digested::default() }
    }

    /// Adds an event as it is compared.
    pub fn add(&mut self, tree: &Tree<'_>, number: u64, line: (u64, u32)) {
        self.starts.push(self.references.len() as u32);
        let token = self.token(tree);
        self.tokens.push(token);
        self.sorts.push(sort(tree));
        self.numbers.push(number);
        self.lines.push(line);
    }

    /// What the event says, and of what it refers to the places before `skipped`.
    fn token(&mut self, tree: &Tree<'_>) -> u128 {
        self.found.clear();
        let digest = self.digester.digest(tree, &mut self.found);
        let places = self.found.iter().map(|found| found.map_or((NOTHING, 0), |found| (found.place, found.part)));
        self.references.extend(places);
        let before = |found: &Option<Reference>| found.filter(|reference| reference.place < self.skipped);
        with_references(digest, self.found.iter().map(before))
    }

    /// What an event refers to, by place, in a fixed order.
    pub fn references_of(&self, index: usize) -> &[(i64, u32)] {
        let start = self.starts[index] as usize;
        let end = self.starts.get(index + 1).map_or(self.references.len(), |&end| end as usize);
        &self.references[start..end]
    }
}

/// The place of nothing.
pub const NOTHING: i64 = i64::MIN;

fn add_text(bytes: &mut Vec<u8>, text: &str) {
    bytes.extend((text.len() as u64).to_le_bytes());
    bytes.extend_from_slice(text.as_bytes());
}

/// What sort of event it is: kind and node of a run's, type and speaker of a session's.
fn sort(tree: &Tree<'_>) -> u64 {
    let mut bytes = Vec::new();
    for path in [&["kind"][..], &["node"], &["type"], &["payload", "content", "speaker"]] {
        let text = tree.at(path).and_then(|index| tree.string(index));
        add_text(&mut bytes, text.as_ref().map_or("", Text::as_json));
    }
    XxHash3_128::oneshot(&bytes) as u64
}

/// Gives an event of either side as it is compared.
pub type Project<'p> = &'p mut dyn FnMut(Side, usize) -> Result<Tree<'static>, DiffError>;

/// The edit list of two recordings of which the first `skipped` events are the same, and not among these.
pub fn edits(
    left: &Digested,
    right: &Digested,
    skipped: i64,
    options: FieldOptions,
    cancelled: &AtomicBool,
    project: Project<'_>,
) -> Result<Edits, DiffError> {
    let (one, other) = numbered(&left.tokens, &right.tokens);
    let matches = match align(&one, &other, MOST_EDITS, cancelled) {
        Ok(matches) => matches,
        Err(Stopped::TooMany) => return Ok(Edits::default()),
        Err(Stopped::Cancelled) => return Err(DiffError::Cancelled),
    };
    let mut list = List { left, right, steps: Vec::new(), beside: vec![None; left.tokens.len()] };
    list.walk(&matches);
    list.tell(skipped, options, project)
}

/// Small numbers for what is equal.
fn numbered(left: &[u128], right: &[u128]) -> (Vec<u32>, Vec<u32>) {
    let mut known: HashMap<u128, u32> = HashMap::new();
    let mut number = |token: &u128| {
        let next = known.len() as u32;
        *known.entry(*token).or_insert(next)
    };
    (left.iter().map(&mut number).collect(), right.iter().map(&mut number).collect())
}

/// What the alignment says of an event, or of two.
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
    /// The event of the right that each of the left is aligned with.
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

    /// Between what is the same: a deleted event and the next inserted one of its sort are one that changed.
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

    /// Whether two places are those of events that are aligned with each other. Places before the lists are the same on both sides.
    fn is_same_place(&self, skipped: i64, left: (i64, u32), right: (i64, u32)) -> bool {
        if left.1 != right.1 {
            return false;
        }
        match usize::try_from(left.0.saturating_sub(skipped)) {
            Ok(at) => self.beside.get(at).copied().flatten().map(i64::from) == Some(right.0.saturating_sub(skipped)),
            Err(_) => left.0 == right.0,
        }
    }

    fn tell(&self, skipped: i64, options: FieldOptions, project: Project<'_>) -> Result<Edits, DiffError> {
        let (mut told, mut equal, mut spent) = (Vec::new(), Vec::<Equal>::new(), 0);
        let same_reference = |left: Reference, right: Reference| {
            self.is_same_place(skipped, (left.place, left.part), (right.place, right.part))
        };
        // Where the run of equal events ended that comes last in `equal`.
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
                let (one, other) = (project(Side::Left, left)?, project(Side::Right, right)?);
                let differing = fields(&Pair { left: &one, right: &other, same_reference: &same_reference }, options);
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
