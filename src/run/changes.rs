//! The changes of a state's entries, written down where the state is folded and hashed elsewhere.

use super::check::Check;
use super::entry::{EntrySink, NoSink, Slot, write_entry};
use super::error::{ErrorCode, RunError, event_id};
use super::event::Sealed;
use super::state::{RunStatus, State};
use super::state_hash::{Change, StateHasher};
use super::text::Text;
use crate::hash::{as_text, to_hex};

/// A sink that is told where an event ends.
pub trait Tape: EntrySink {
    /// The changes of an event are complete; the run has this status now.
    fn end_event(&mut self, status: RunStatus);
}

impl Tape for NoSink {
    #[inline]
    fn end_event(&mut self, _: RunStatus) {}
}

/// What some events changed, in their order.
#[derive(Debug, Default)]
pub struct Changes {
    /// The changed entries, one behind the other.
    entries: Vec<u8>,
    /// Each change, with where its entry ends.
    changes: Vec<(Change, Slot, usize)>,
    /// For each event, where its changes end and the run's status then.
    events: Vec<(usize, RunStatus)>,
    restored: Vec<Restored>,
}

/// What a SnapshotRestored claims about the state before it.
#[derive(Debug)]
struct Restored {
    event: usize,
    status: RunStatus,
    at: u64,
    state_hash: Text<'static>,
}

impl Changes {
    /// Forgets everything, and keeps the room for it.
    pub fn clear(&mut self) {
        self.entries.clear();
        self.changes.clear();
        self.events.clear();
        self.restored.clear();
    }

    fn put(&mut self, change: Change, state: &State, slot: Slot) {
        write_entry(&mut self.entries, state, slot);
        self.changes.push((change, slot, self.entries.len()));
    }

    /// Hashes the changes and compares the state's hash after each event with the recorded one, which `sealed` gives by the event's
    /// place among these; and what SnapshotRestored claims with the state before it.
    pub fn verify<'l>(
        &self,
        first: u64,
        sealed: impl Fn(usize) -> Option<Sealed<'l>>,
        hasher: &mut StateHasher,
        check: &mut Check,
    ) {
        let mut restored = self.restored.iter().peekable();
        let (mut done, mut start) = (0, 0);
        for (event, &(end, status)) in self.events.iter().enumerate() {
            let time = first + event as u64;
            while let Some(claim) = restored.next_if(|claim| claim.event == event) {
                check.checked += 1;
                if let Err(error) = hasher.restored(claim.status, claim.at, &claim.state_hash) {
                    check.fail(time, error.at(time));
                }
            }
            for &(change, slot, end) in &self.changes[done..end] {
                hasher.take(change, slot, &self.entries[start..end]);
                start = end;
            }
            done = end;
            let own = to_hex(&hasher.sum().state_hash(status, time));
            check.checked += 1;
            match sealed(event) {
                Some(sealed) if *sealed.state_hash == own => {}
                sealed => {
                    let found = sealed.map_or("nothing", |sealed| as_text(sealed.state_hash));
                    check.fail(time, mismatch(time, as_text(&own), found));
                }
            }
        }
    }
}

#[cold]
fn mismatch(time: u64, own: &str, found: &str) -> RunError {
    let message = format!("The state after {} is not the recorded one: its hash is {own}", event_id(time));
    RunError::new(ErrorCode::StateMismatch, message).at(time).compared(own, found)
}

impl EntrySink for Changes {
    fn add(&mut self, state: &State, slot: Slot) {
        self.put(Change::Add, state, slot);
    }

    fn replace(&mut self, state: &State, slot: Slot) {
        self.put(Change::Replace, state, slot);
    }

    fn seal(&mut self, state: &State, slot: Slot) {
        self.put(Change::Seal, state, slot);
    }

    fn remove(&mut self, slot: Slot) {
        self.changes.push((Change::Remove, slot, self.entries.len()));
    }

    fn restored(&mut self, status: RunStatus, at: u64, state_hash: &Text<'_>) -> Result<(), RunError> {
        let state_hash = state_hash.clone().into_owned();
        self.restored.push(Restored { event: self.events.len(), status, at, state_hash });
        Ok(())
    }
}

impl Tape for Changes {
    fn end_event(&mut self, status: RunStatus) {
        self.events.push((self.changes.len(), status));
    }
}
