//! The changes of a state's entries, recorded by the folding thread and hashed by another one.

use super::entry::{Claim, EntrySink, NoSink, Slot, write_entry};
use super::state::{RunStatus, State};
use super::state_hash::{Change, StateHasher};
use crate::hash::HashBatch;
use crate::hash::{Hash, as_text, to_hex};
use crate::json::Text;
use crate::run::format::{ErrorCode, HashedParts, RunError, event_id};
use crate::run::verify::Check;

/// A sink that is also notified at the end of each event.
pub(crate) trait Tape: EntrySink {
    /// Called when all changes of an event were reported, with the status of the run after the event.
    fn end_event(&mut self, status: RunStatus);
}

impl Tape for NoSink {
    #[inline]
    fn end_event(&mut self, _: RunStatus) {}
}

/// The changes of a range of events, in order.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    /// The changed entries. A removal has none.
    entries: HashBatch,
    changes: Vec<(Change, Slot)>,
    /// For each event, the end of its changes, and the run's status after it.
    events: Vec<(usize, RunStatus)>,
    claims: Vec<(usize, SnapshotClaim)>,
}

/// The claim of an event about the state before it.
#[derive(Debug)]
enum SnapshotClaim {
    Created { status: RunStatus, at: u64, state_hash: Text<'static> },
    Restored(Claim, Text<'static>),
}

impl SnapshotClaim {
    /// Whether the claim holds. `None` for a SnapshotCreated, whose claim is checked only when the snapshot is restored.
    fn verify(&self, hasher: &mut StateHasher) -> Option<Result<(), RunError>> {
        match self {
            SnapshotClaim::Created { status, at, state_hash } => {
                hasher.created(*status, *at, state_hash);
                None
            }
            SnapshotClaim::Restored(claim, state_hash) => Some(hasher.restored(*claim, state_hash)),
        }
    }
}

impl Changes {
    /// Removes all changes and keeps the allocated memory.
    pub(crate) fn clear(&mut self) {
        self.entries.clear();
        self.changes.clear();
        self.events.clear();
        self.claims.clear();
    }

    fn put(&mut self, change: Change, state: &State, slot: Slot) {
        self.entries.write(|entry| write_entry(entry, state, slot));
        self.changes.push((change, slot));
    }

    /// Hashes the changes, and compares the state hash after each event with the recorded one, and the claim of each SnapshotRestored with
    /// the state before it. `first` is the logical time of the first event; `parts` returns the hashed parts of an event by its index.
    pub(crate) fn verify<'l>(
        &self,
        first: u64,
        parts: impl Fn(usize) -> Option<HashedParts<'l>>,
        hasher: &mut StateHasher,
        scratch: &mut Scratch,
        check: &mut Check,
    ) {
        let mut claim_faults = self.hash_states(first, hasher, scratch).into_iter().peekable();
        for (event, hash) in scratch.hashes.iter().enumerate() {
            let (time, own) = (first + event as u64, to_hex(hash));
            check.checked += 1;
            match (claim_faults.next_if(|(of, _)| *of == event), parts(event)) {
                (Some((_, fault)), _) => check.fail(time, fault.at(time)),
                (None, Some(parts)) if *parts.state_hash == own => {}
                (None, parts) => {
                    let found = parts.map_or("nothing", |parts| as_text(parts.state_hash));
                    check.fail(time, mismatch(time, as_text(&own), found));
                }
            }
        }
    }

    /// Writes the state hash after each event to `scratch.hashes`. Returns the indices of the events that make a false claim, with the errors.
    fn hash_states(&self, first: u64, hasher: &mut StateHasher, scratch: &mut Scratch) -> Vec<(usize, RunError)> {
        let Scratch { states, hashes } = scratch;
        self.entries.hash_into(hashes);
        states.clear();
        let (mut entry_hashes, mut done) = (hashes.iter(), 0);
        let (mut claims, mut faults) = (self.claims.iter().peekable(), Vec::new());
        for (event, &(end, status)) in self.events.iter().enumerate() {
            while let Some((_, claim)) = claims.next_if(|(of, _)| *of == event) {
                faults.extend(claim.verify(hasher).and_then(Result::err).map(|fault| (event, fault)));
            }
            for &(change, slot) in &self.changes[done..end] {
                let is_entry = change != Change::Remove;
                hasher.take(change, slot, if is_entry { entry_hashes.next() } else { None });
            }
            done = end;
            hasher.sum().with_state(status, first + event as u64, |state| states.push(state));
        }
        states.hash_into(hashes);
        faults
    }
}

/// Buffers of a verification.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    states: HashBatch,
    hashes: Vec<Hash>,
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

    fn finalize(&mut self, state: &State, slot: Slot) {
        self.put(Change::Finalize, state, slot);
    }

    fn remove(&mut self, slot: Slot) {
        self.changes.push((Change::Remove, slot));
    }

    fn created(&mut self, status: RunStatus, at: u64, state_hash: &Text<'_>) {
        let state_hash = state_hash.clone().into_owned();
        self.claims.push((self.events.len(), SnapshotClaim::Created { status, at, state_hash }));
    }

    fn restored(&mut self, claim: Claim, state_hash: &Text<'_>) -> Result<(), RunError> {
        self.claims.push((self.events.len(), SnapshotClaim::Restored(claim, state_hash.clone().into_owned())));
        Ok(())
    }
}

impl Tape for Changes {
    fn end_event(&mut self, status: RunStatus) {
        self.events.push((self.changes.len(), status));
    }
}
