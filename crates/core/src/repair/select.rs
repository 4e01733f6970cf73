//! Decides which records a repaired session has: each once, and only such as a strict replay reads.

use std::borrow::Cow;
use std::collections::HashSet;

use super::record::{Event, event_of, has_version};
use super::search::FoundRecord;
use crate::hash::sha256;
use crate::json::{Nesting, Span, decode};
use crate::session::fold::{History, KeyedItem};
use crate::session::format::{CheckpointChange, CheckpointFields};

/// What becomes of a record.
#[derive(Debug, PartialEq)]
pub(super) enum Fate {
    /// It is a line of the new file.
    Kept,
    /// It is a line of the new file, as a rewind by this number of items.
    Recounted(u64),
    /// It is the first line of the new file.
    Start,
    /// It is kept if the session has no item that strict replays read.
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
        match event_of(&record.envelope, record.text, &mut self.nesting, &mut self.history) {
            Event::Start if std::mem::replace(&mut self.has_start, true) => {
                Fate::Refused("another session_start".into())
            }
            Event::Start => Fate::Start,
            Event::Checkpoint(fields) => self.checkpoint(&fields, record.text),
            Event::Other => Fate::Kept,
            Event::BadCut(count) => Fate::Recounted(count),
            Event::Lenient => Fate::Lenient,
            Event::Unfit(reason) => Fate::Refused(reason),
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
