//! The steps of a session: the digests of its records, which can be computed apart from each other, and what follows from those before.

use super::read_tree::read_tree;
use crate::diff::projection::{
    Calls, CountCalls, Digester, Reference, SpareTree, Tree, call_id, hash, project_line, project_record,
    with_references,
};
use crate::diff::stream::{Event, record_row};
use crate::json::{Nesting, Text};
use crate::session::format::Line;

/// A digest, the most significant byte first.
pub(crate) type Key = [u8; 16];

/// The place of a line among the compared lines of its recording, and its digests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Its place among the compared lines, from 0.
    pub place: u64,
    /// The digest of what is compared of the line.
    pub key: Key,
    /// The digest of all keys so far.
    pub prefix: Key,
}

/// The digest of a session's record, as far as it can be computed without the records before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordDigest {
    digest: u128,
    /// The calls that are opened and answered in it, in order.
    uses: Vec<CallUse>,
    /// For each reference in the digest, in order, the index of its answer among those of the record.
    compared: Vec<Option<u32>>,
}

/// A use of a call, which the digest of its id identifies.
#[derive(Clone, Debug, PartialEq, Eq)]
enum CallUse {
    Opened { id: u128, part: u32 },
    Answered { id: u128 },
}

/// Computes digests of records. Reuses its buffers.
#[derive(Default)]
pub struct RecordDigester {
    digester: Digester,
    references: Vec<Option<Reference>>,
    spare: SpareTree,
}

impl RecordDigester {
    /// Reads a line, and parses it into a tree if it is an object.
    pub fn read<'l>(&mut self, line: &'l [u8], nesting: &mut Nesting) -> (Line, Option<Tree<'l>>) {
        read_tree(line, &mut self.spare, nesting)
    }

    /// The digest of the record in a line, and its projection. `tree` is the line's tree if the line is an object. Returns `None` if the line
    /// can't be parsed, which does not happen for a line that was read as an event.
    pub fn digest<'l>(
        &mut self,
        line: &'l [u8],
        tree: Option<Tree<'l>>,
        nesting: &mut Nesting,
    ) -> Option<(RecordDigest, Tree<'l>)> {
        let mut uses = CallUses::default();
        let tree = match tree {
            Some(mut tree) => {
                project_line(&mut tree, &mut uses);
                tree
            }
            None => project_record(&Event::record(&record_row(line, nesting)?, line), &mut uses, &[])?,
        };
        self.references.clear();
        let digest = self.digester.digest(&tree, &mut self.references);
        let answer =
            |reference: &Option<Reference>| reference.and_then(|reference| u32::try_from(reference.place).ok());
        let compared = self.references.iter().map(answer).collect();
        Some((RecordDigest { digest, uses: uses.list, compared }, tree))
    }

    /// Takes back the memory of a tree for reuse.
    pub fn recycle(&mut self, tree: Tree<'_>) {
        tree.leave_to(&mut self.spare);
    }
}

/// Notes which calls a record opens and answers. The call that an answer belongs to is known only once the records before it are.
#[derive(Default)]
struct CallUses {
    list: Vec<CallUse>,
    answers: u32,
}

impl CountCalls for CallUses {
    fn open(&mut self, id: Option<Text<'_>>, call: Reference) {
        let opened = |id: Text<'_>| CallUse::Opened { id: call_id(&id), part: call.part };
        self.list.extend(id.map(opened));
    }

    fn answer(&mut self, id: Option<Text<'_>>) -> Option<Reference> {
        self.list.push(CallUse::Answered { id: call_id(&id?) });
        self.answers += 1;
        Some(Reference { place: i64::from(self.answers - 1), part: 0 })
    }
}

/// The steps of a session, record by record.
#[derive(Default)]
pub struct SessionSteps {
    calls: Calls,
    prefixes: Prefixes,
    answered: Vec<Option<Reference>>,
}

impl SessionSteps {
    /// The step of the next record.
    pub fn next(&mut self, record: &RecordDigest) -> Step {
        if record.uses.is_empty() && record.compared.is_empty() {
            return self.prefixes.next(record.digest);
        }
        let place = self.prefixes.place as i64;
        self.answered.clear();
        for call in &record.uses {
            match call {
                CallUse::Opened { id, part } => self.calls.open_id(*id, Reference { place, part: *part }),
                CallUse::Answered { id } => self.answered.push(self.calls.answer_id(*id)),
            }
        }
        let answered = |at: &Option<u32>| at.and_then(|at| self.answered.get(at as usize).copied().flatten());
        self.prefixes.next(with_references(record.digest, record.compared.iter().map(answered)))
    }
}

/// Computes the digests of everything that is compared up to a place.
#[derive(Default)]
pub(super) struct Prefixes {
    /// The place of the next step.
    pub place: u64,
    prefix: u128,
}

impl Prefixes {
    /// The next step, given its key.
    pub(crate) fn next(&mut self, key: u128) -> Step {
        let (place, key) = (self.place, key.to_be_bytes());
        let mut bytes = [0; 32];
        bytes[..16].copy_from_slice(&self.prefix.to_be_bytes());
        bytes[16..].copy_from_slice(&key);
        self.prefix = hash(&bytes);
        self.place += 1;
        Step { place, key, prefix: self.prefix.to_be_bytes() }
    }
}
