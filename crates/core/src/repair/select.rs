//! Decides which records a repaired session has: each once, and only such as a strict replay reads.

use std::borrow::Cow;
use std::collections::HashSet;

use super::record::{
    Envelope, apply, body_of, has_version, is_of_later_version, is_start, misfit, misplaced, renumbered, versioned,
};
use super::search::FoundRecord;
use crate::hash::sha256;
use crate::json::{Nesting, Span, decode};
use crate::lines::MAX_LINE_BYTES;
use crate::session::fold::{History, KeyedItem};
use crate::session::format::{Body, CheckpointChange, CheckpointFields, Cut, Mode};

/// What becomes of a record.
#[derive(Debug, PartialEq)]
pub(super) enum Fate {
    /// It is a line of the new file.
    Kept,
    /// It is a line of the new file, as a rewind by this number of items.
    Recounted(u64),
    /// It is the first line of the new file.
    Start,
    /// An item that only a default replay reads: a strict one accepts no other speakers than `human`, `ai` and `tool`. It is kept if the session has no
    /// item that strict replays read.
    Lenient,
    /// It repeats the record before it.
    Duplicate,
    /// No replay reads it.
    Refused(Cow<'static, str>),
}

/// Judges the records of a text, in order.
#[derive(Default)]
pub(super) struct Selection {
    nesting: Nesting,
    history: History<KeyedItem>,
    has_start: bool,
    previous: Option<Identity>,
    created: HashSet<Vec<u16>>,
    deleted: HashSet<Vec<u16>>,
}

/// What makes two records the same.
#[derive(PartialEq)]
struct Identity {
    seq: f64,
    event_type: Vec<u8>,
    /// The payload, or the hash of a long one.
    payload: Vec<u8>,
}

/// Maximum length of a payload that is kept to be compared.
const MAX_COMPARED_BYTES: usize = 64 << 10;

impl Identity {
    fn of(record: &FoundRecord<'_>) -> Option<Self> {
        let (text, envelope) = (record.text, &record.envelope);
        let payload = envelope.payload.of(text);
        let payload = if payload.len() <= MAX_COMPARED_BYTES { payload.to_vec() } else { sha256([payload]).to_vec() };
        Some(Identity { seq: envelope.number(text)?, event_type: envelope.event_type.of(text).to_vec(), payload })
    }
}

impl Selection {
    /// Judges the next record.
    pub(super) fn decide(&mut self, record: &FoundRecord<'_>) -> Fate {
        let identity = Identity::of(record);
        if identity.is_some() && identity == self.previous {
            return Fate::Duplicate;
        }
        self.previous = identity;
        self.judge(&record.envelope, record.text)
    }

    /// Judges a record by what a replay makes of it, and applies it to the history. Its number need not be valid yet.
    fn judge(&mut self, envelope: &Envelope, line: &[u8]) -> Fate {
        let refused = |reason: &'static str| Fate::Refused(reason.into());
        if line.len() > MAX_LINE_BYTES {
            return refused("a record that is longer than any JavaScript string");
        }
        if is_of_later_version(envelope, line) {
            return refused("a record of a later version");
        }
        if let Some((line, envelope)) = versioned(line, envelope, &mut self.nesting) {
            return self.judge(&envelope, &line);
        }
        if envelope.number(line).is_none() {
            // Only the number is wrong, which the record gets anew.
            let (line, envelope) = renumbered(line, envelope, 0.0);
            return self.judge(&envelope, &line);
        }
        match body_of(line, Mode::Strict, &mut self.nesting) {
            Some(Body::SessionStart(_)) if !is_start(envelope, line) => {
                refused("a session_start without sessionId or projectHash")
            }
            Some(Body::SessionStart(_)) if std::mem::replace(&mut self.has_start, true) => {
                refused("another session_start")
            }
            Some(Body::SessionStart(_)) => Fate::Start,
            Some(Body::Malformed(known, fault)) => match body_of(line, Mode::Lenient, &mut self.nesting) {
                Some(Body::Malformed(..)) | None => Fate::Refused(misfit(known, fault)),
                Some(_) => Fate::Lenient,
            },
            Some(Body::Checkpoint(fields)) => self.checkpoint(&fields, line),
            Some(body) if !apply(&body, line, &mut self.history) => Fate::Refused(misplaced(&body)),
            // Replays warn of its `cutSeq`, which is not valid, and go by the number of items.
            Some(Body::Rewind(count, Cut::Malformed)) => Fate::Recounted(count),
            Some(_) => Fate::Kept,
            None => refused("no record"),
        }
    }

    /// Refuses events about checkpoints that do not exist, or exist already: replays warn of them, and they have no effect.
    fn checkpoint(&mut self, fields: &CheckpointFields, text: &[u8]) -> Fate {
        let id: Vec<u16> = decode(inside(fields.id, text)).collect();
        let name = fields.change.event_type().as_str();
        let is_created = self.created.contains(&id);
        let refusal = match fields.change {
            CheckpointChange::Created(_) if is_created => "of a checkpoint that exists",
            CheckpointChange::Created(_) => {
                self.created.insert(id);
                return Fate::Kept;
            }
            _ if self.deleted.contains(&id) => "of a deleted checkpoint",
            _ if !is_created => "of an unknown checkpoint",
            CheckpointChange::Deleted => {
                self.deleted.insert(id);
                return Fate::Kept;
            }
            CheckpointChange::Renamed(_) => return Fate::Kept,
        };
        Fate::Refused(format!("a {name} event {refusal}").into())
    }
}

pub(super) fn inside(id: Span, text: &[u8]) -> &[u8] {
    let id = id.of(text);
    &id[1..id.len() - 1]
}

/// Whether numbers ascend.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ascent {
    first: Option<f64>,
    last: Option<f64>,
    ascends: bool,
}

impl Default for Ascent {
    fn default() -> Self {
        Ascent { first: None, last: None, ascends: true }
    }
}

impl Ascent {
    pub(super) fn add(&mut self, number: Option<f64>) {
        match number {
            Some(number) => {
                self.ascends &= self.last.is_none_or(|last| number > last);
                self.first.get_or_insert(number);
                self.last = Some(number);
            }
            None => self.ascends = false,
        }
    }

    /// Whether the numbers ascend after that of the first record, and leave some for the records to come.
    pub(super) fn ascends_after(&self, start: Option<f64>) -> bool {
        let Some(start) = start else { return false };
        self.ascends
            && self.first.is_none_or(|first| first > start)
            && crate::session::format::has_numbers_left(self.last.unwrap_or(start), NUMBERS_LEFT)
    }

    /// The first number.
    pub(super) fn first(&self) -> Option<f64> {
        self.first
    }
}

/// One for the note about the repair, and those that resuming a session takes.
const NUMBERS_LEFT: f64 = 8.0;

/// Whether the line can stay as it is.
pub(super) fn is_as_written(record: &FoundRecord<'_>) -> bool {
    record.is_seen && !record.is_replaced && has_version(&record.envelope, record.text)
}
