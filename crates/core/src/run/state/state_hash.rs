//! The hash of a state (`docs/run-format.md` section 9): of its status, its logical time, and the sum of its entries' hashes.
//!
//! A sum does not depend on the order of its terms. So an event costs only the entries that it changes, however many there are, and another
//! thread than the folding one can hash them.

use super::accumulator::Accumulator;
use super::entry::{Claim, EntrySink, Slot, slots, write_entry, write_task_entry};
use super::state::{CallStatus, Counter, RunStatus, State};
use super::state_sum::sum_of_entries;
use crate::hash::{Hash, HashBatch, as_text, sha256, to_hex};
use crate::json::Text;
use crate::run::format::{ErrorCode, RunError};
use hashbrown::HashMap;

/// Number of entries that are hashed together.
const GROUP_ENTRIES: usize = 64;

/// A change of the entry in a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// It is new; see [`EntrySink::add`].
    Add,
    /// It has changed; see [`EntrySink::replace`].
    Replace,
    /// It has changed for the last time; see [`EntrySink::finalize`].
    Finalize,
    /// It was removed; see [`EntrySink::remove`].
    Remove,
}

/// Keeps the sum of the hashes of a state's entries up to date.
#[derive(Clone, Debug, Default)]
pub(crate) struct StateHasher {
    sum: Accumulator,
    nodes: Vec<Hash>,
    tasks: Vec<Hash>,
    pending: Vec<Hash>,
    workers: Vec<Hash>,
    open_calls: HashMap<u32, Hash>,
    single: [Hash; 3 + Counter::ALL.len()],
    /// Whether the last SnapshotCreated claimed a wrong hash of the state before it.
    last_was_false: bool,
    entry: Vec<u8>,
}

impl StateHasher {
    /// Creates the hasher of a state, which hashes every entry once.
    pub(crate) fn of(state: &State) -> Self {
        let mut entries = Entries::default();
        for slot in slots(state) {
            // Closed calls no longer change, and most calls are closed, so their hashes are not kept.
            let is_final = matches!(slot, Slot::Call(call) if state.calls().get(call).status != CallStatus::Open);
            entries.add((!is_final).then_some(slot), |entry| write_entry(entry, state, slot));
        }
        for (at, task) in state.tasks().iter() {
            if state.nodes()[task.node as usize].task != Some(at) {
                entries.add(None, |entry| write_task_entry(entry, state, task));
            }
        }
        entries.finish()
    }

    /// The sum of the entries' hashes.
    pub(crate) fn sum(&self) -> &Accumulator {
        &self.sum
    }

    /// The hash of `state`, whose entries this hasher has summed up. Returns `None` before RunCreated.
    pub(crate) fn state_hash(&self, state: &State) -> Option<Hash> {
        Some(self.sum.state_hash(state.run()?.status, state.logical_time()?))
    }

    /// Applies a change of an entry, given its new hash, or `None` if the entry was removed.
    pub(crate) fn take(&mut self, change: Change, slot: Slot, hash: Option<&Hash>) {
        let closed_call = match (change, slot) {
            (Change::Finalize | Change::Remove, Slot::Call(call)) => Some(call),
            _ => None,
        };
        if change != Change::Add {
            let before = match closed_call {
                Some(call) => self.open_calls.remove(&call).unwrap_or_default(),
                None => *self.remembered(slot),
            };
            self.sum.subtract(&before);
        }
        let Some(hash) = hash else { return };
        self.sum.add(hash);
        if closed_call.is_none() {
            *self.remembered(slot) = *hash;
        }
    }

    fn remembered(&mut self, slot: Slot) -> &mut Hash {
        match slot {
            Slot::Node(node) => place(&mut self.nodes, node),
            Slot::Task(node) => place(&mut self.tasks, node),
            Slot::Pending(node) => place(&mut self.pending, node),
            Slot::Worker(worker) => place(&mut self.workers, worker),
            Slot::Call(call) => self.open_calls.entry(call).or_default(),
            Slot::Dag => &mut self.single[0],
            Slot::LastAssigned => &mut self.single[1],
            Slot::Snapshot => &mut self.single[2],
            Slot::Counter(counter) => &mut self.single[3 + counter as usize],
        }
    }

    fn put(&mut self, change: Change, state: &State, slot: Slot) {
        let mut entry = std::mem::take(&mut self.entry);
        entry.clear();
        write_entry(&mut entry, state, slot);
        self.take(change, slot, Some(&sha256([&entry])));
        self.entry = entry;
    }
}

/// Hashes the entries of a state in batches.
#[derive(Default)]
struct Entries {
    hasher: StateHasher,
    batch: HashBatch,
    /// For each entry of the batch its slot, or `None` if the entry no longer changes.
    slots: Vec<Option<Slot>>,
    hashes: Vec<Hash>,
}

impl Entries {
    fn add(&mut self, slot: Option<Slot>, write: impl FnOnce(&mut Vec<u8>)) {
        self.batch.write(write);
        self.slots.push(slot);
        if self.batch.count() == GROUP_ENTRIES {
            self.hash();
        }
    }

    fn hash(&mut self) {
        self.batch.hash_into(&mut self.hashes);
        self.batch.clear();
        for (slot, hash) in self.slots.drain(..).zip(&self.hashes) {
            match slot {
                Some(slot) => self.hasher.take(Change::Add, slot, Some(hash)),
                None => self.hasher.sum.add(hash),
            }
        }
    }

    fn finish(mut self) -> StateHasher {
        self.hash();
        self.hasher
    }
}

impl EntrySink for StateHasher {
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
        self.take(Change::Remove, slot, None);
    }

    fn created(&mut self, status: RunStatus, at: u64, state_hash: &Text<'_>) {
        self.last_was_false = as_text(&to_hex(&self.sum.state_hash(status, at))) != state_hash.as_json();
    }

    fn restored(&mut self, claim: Claim, state_hash: &Text<'_>) -> Result<(), RunError> {
        let Claim { status, at, is_last } = claim;
        let own = to_hex(&self.sum.state_hash(status, at));
        if as_text(&own) == state_hash.as_json() || (is_last && !self.last_was_false) {
            return Ok(());
        }
        let message = format!("What was restored is not the state: as of time {at} its hash is {}.", as_text(&own));
        Err(RunError::new(ErrorCode::StateMismatch, message).compared(as_text(&own), state_hash.to_plain()))
    }
}

impl State {
    /// Computes the hash of the state from scratch. Returns `None` before RunCreated.
    pub fn hash(&self) -> Option<Hash> {
        Some(sum_of_entries(self).state_hash(self.run()?.status, self.logical_time()?))
    }
}

fn place(hashes: &mut Vec<Hash>, at: u32) -> &mut Hash {
    if hashes.len() <= at as usize {
        hashes.resize(at as usize + 1, Hash::default());
    }
    &mut hashes[at as usize]
}

#[cfg(test)]
mod tests;
