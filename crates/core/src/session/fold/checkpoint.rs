//! Checkpoints: events about them, and the fold of these events (`docs/session-format.md` section 2, rules 19 and 20).
//!
//! Effects keep the events as they are, in file order. They are folded at the end of the replay, since what an event does depends
//! on all events with the same id before it.

use std::collections::HashMap;

use super::warnings::SHOWN_WARNINGS;
use crate::json::decode;
use crate::order;
use crate::session::format::{CheckpointChange, Message, MessagePart, Raw, inside_string, js_number};

/// A valid event about a checkpoint. Strings are JSON text.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckpointEvent {
    /// The envelope's `seq`.
    pub seq: f64,
    /// The id of the checkpoint, not empty.
    pub id: Raw,
    /// What happened to it.
    pub change: CheckpointChange<Raw>,
    /// The envelope's `ts`, if that is a string.
    pub ts: Option<Raw>,
}

/// A checkpoint after all events about it. Strings are JSON text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Checkpoint<'e> {
    /// Its id.
    pub id: &'e [u8],
    /// Its last name.
    pub name: &'e [u8],
    /// The `seq` of its creation: its watermark.
    pub sequence: f64,
    /// Whether it was deleted.
    pub deleted: bool,
    /// The `ts` of its creation, `""` if that is not a string.
    pub created_at: &'e [u8],
}

/// The result of folding events: the checkpoints, and the events that are odd.
#[derive(Debug, Default)]
pub(crate) struct Checkpoints<'e> {
    /// Deleted ones included, ascending by watermark, then in file order.
    pub all: Vec<Checkpoint<'e>>,
    /// With what they do to the checkpoint. An event takes effect anyway if it can.
    odd: Vec<(&'e CheckpointEvent, &'static str)>,
    odd_in_all: usize,
}

/// The state of an id.
#[derive(Default)]
struct Known {
    /// The index of its checkpoint in the list.
    created: Option<usize>,
    /// A deletion occurred, even if before the creation.
    deleted: bool,
}

impl<'e> Checkpoints<'e> {
    /// Folds events, which are in file order.
    pub(crate) fn of(events: &'e [CheckpointEvent]) -> Self {
        let mut checkpoints = Checkpoints::default();
        // Ids are compared by value: two JSON texts may mean the same id.
        let mut ids: HashMap<Vec<u16>, Known> = HashMap::new();
        for event in events {
            let id = inside_string(&event.id).unwrap_or_default();
            if let Some(oddity) = checkpoints.apply(event, ids.entry(decode(id).collect()).or_default()) {
                checkpoints.note(event, oddity);
            }
        }
        order::sort_by(&mut checkpoints.all, |one, other| {
            one.sequence.partial_cmp(&other.sequence).unwrap_or(std::cmp::Ordering::Equal)
        });
        checkpoints
    }

    fn apply(&mut self, event: &'e CheckpointEvent, known: &mut Known) -> Option<&'static str> {
        let checkpoint = known.created.and_then(|at| self.all.get_mut(at));
        let is_known = checkpoint.is_some();
        match (&event.change, checkpoint) {
            (CheckpointChange::Created(_), Some(_)) => return Some("duplicates"),
            (CheckpointChange::Created(name), None) => {
                known.created = Some(self.all.len());
                self.all.push(Checkpoint {
                    id: &event.id,
                    name,
                    sequence: event.seq,
                    deleted: false,
                    created_at: event.ts.as_deref().unwrap_or(b"\"\""),
                });
                return None;
            }
            (CheckpointChange::Renamed(name), Some(checkpoint)) => checkpoint.name = name,
            (CheckpointChange::Deleted, Some(checkpoint)) => checkpoint.deleted = true,
            (_, None) => {}
        }
        let was_deleted = known.deleted;
        known.deleted |= event.change == CheckpointChange::Deleted;
        if was_deleted {
            return Some("references deleted");
        }
        (!is_known).then_some("references unknown")
    }

    fn note(&mut self, event: &'e CheckpointEvent, oddity: &'static str) {
        self.odd_in_all += 1;
        if self.odd.len() < SHOWN_WARNINGS {
            self.odd.push((event, oddity));
        }
    }

    /// The warnings as users read them; the last one counts those that are not shown.
    pub(crate) fn messages(&self) -> Vec<Message<'e>> {
        let mut messages: Vec<_> = self.odd.iter().map(|(event, oddity)| message(event, oddity)).collect();
        let hidden = self.odd_in_all - self.odd.len();
        if hidden > 0 {
            messages.push(Message::text(format!("Replay: {hidden} further checkpoint warnings not shown")));
        }
        messages
    }
}

fn message<'e>(event: &'e CheckpointEvent, oddity: &'static str) -> Message<'e> {
    let (seq, event_type) = (js_number(event.seq), event.change.event_type().as_str());
    let text = format!("Sequence {seq}: {event_type} {oddity} checkpoint ");
    Message(vec![MessagePart::Text(text.into()), MessagePart::Json(&event.id)])
}

#[cfg(test)]
mod tests;
