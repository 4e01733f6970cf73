//! The hash of a state (`docs/run-format.md` section 9): of its status, its logical time, and the sum of its entries' hashes.
//!
//! A sum does not depend on the order of its terms, so an event costs only the entries that it changes, however many there are, and
//! another thread than the folding one can hash them.

use hashbrown::HashMap;

use super::canonical::MAX_DIGITS;
use super::entry::{Claim, EntrySink, Slot, slots, write_entry, write_task_entry};
use super::error::{ErrorCode, RunError};
use super::state::{CallStatus, Counter, RunStatus, State};
use super::text::Text;
use crate::hash::{Hash, as_text, sha256, to_hex};

/// A sum of hashes, each a big-endian number of 256 bits, modulo 2^256.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Accumulator {
    /// The least significant first.
    limbs: [u64; 4],
}

impl Accumulator {
    /// Adds a hash.
    pub fn add(&mut self, hash: &Hash) {
        let mut carry = false;
        for (limb, added) in self.limbs.iter_mut().zip(limbs(hash)) {
            let (sum, over) = limb.overflowing_add(added);
            let (sum, again) = sum.overflowing_add(carry.into());
            (*limb, carry) = (sum, over | again);
        }
    }

    /// Subtracts a hash that was added.
    pub fn subtract(&mut self, hash: &Hash) {
        let mut borrow = false;
        for (limb, taken) in self.limbs.iter_mut().zip(limbs(hash)) {
            let (rest, under) = limb.overflowing_sub(taken);
            let (rest, again) = rest.overflowing_sub(borrow.into());
            (*limb, borrow) = (rest, under | again);
        }
    }

    /// The sum as 32 bytes, big-endian.
    pub fn to_bytes(self) -> Hash {
        let mut bytes = Hash::default();
        for (chunk, limb) in bytes.rchunks_exact_mut(8).zip(self.limbs) {
            chunk.copy_from_slice(&limb.to_be_bytes());
        }
        bytes
    }

    /// The hash of a state whose entries have this sum.
    pub fn state_hash(&self, status: RunStatus, logical_time: u64) -> Hash {
        let mut digits = [0; MAX_DIGITS];
        let time = super::canonical::digits(&mut digits, logical_time);
        let sum = to_hex(&self.to_bytes());
        sha256([b"state/1\n", status.as_str().as_bytes(), b"\n", time, b"\n", &sum])
    }
}

/// The numbers that a hash consists of, the least significant first.
fn limbs(hash: &Hash) -> impl Iterator<Item = u64> {
    hash.rchunks_exact(8).map(|chunk| chunk.iter().fold(0, |limb, &byte| limb << 8 | u64::from(byte)))
}

/// What happened to the entry in a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It is new; see [`EntrySink::add`].
    Add,
    /// It is another; see [`EntrySink::replace`].
    Replace,
    /// It is another, for the last time; see [`EntrySink::finalize`].
    Finalize,
    /// It was removed; see [`EntrySink::remove`].
    Remove,
}

/// Updates the sum of a state's entries with their changes.
///
/// The hash of each entry that may still change is kept, so that no entry is hashed twice.
#[derive(Clone, Debug, Default)]
pub struct StateHasher {
    sum: Accumulator,
    nodes: Vec<Hash>,
    tasks: Vec<Hash>,
    pending: Vec<Hash>,
    workers: Vec<Hash>,
    open_calls: HashMap<u32, Hash>,
    single: [Hash; 3 + Counter::ALL.len()],
    /// Whether the last SnapshotCreated named another hash than that of the state before it.
    last_was_false: bool,
    entry: Vec<u8>,
}

impl StateHasher {
    /// The hasher of a state, whose entries are all hashed once.
    pub fn of(state: &State) -> Self {
        let mut hasher = StateHasher::default();
        for slot in slots(state) {
            match slot {
                // Closed calls change no more, and most calls are closed.
                Slot::Call(call) if state.calls().get(call).status != CallStatus::Open => {
                    hasher.count(|entry| write_entry(entry, state, slot));
                }
                _ => hasher.add(state, slot),
            }
        }
        for (at, task) in state.tasks().iter() {
            if state.nodes()[task.node as usize].task != Some(at) {
                hasher.count(|entry| write_task_entry(entry, state, task));
            }
        }
        hasher
    }

    /// Adds an entry that will not change.
    fn count(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        self.entry.clear();
        write(&mut self.entry);
        self.sum.add(&sha256([&self.entry]));
    }

    /// The sum of the entries' hashes.
    pub fn sum(&self) -> &Accumulator {
        &self.sum
    }

    /// The hash of the state whose entries these are. None before RunCreated.
    pub fn state_hash(&self, state: &State) -> Option<Hash> {
        Some(self.sum.state_hash(state.run()?.status, state.logical_time()?))
    }

    /// Takes a change of an entry, given as its canonical JSON.
    pub fn take(&mut self, change: Change, slot: Slot, entry: &[u8]) {
        if matches!(change, Change::Replace | Change::Finalize | Change::Remove) {
            let hash = *self.remembered(slot);
            self.sum.subtract(&hash);
        }
        if change != Change::Remove {
            let hash = sha256([entry]);
            self.sum.add(&hash);
            *self.remembered(slot) = hash;
        }
        if let (Change::Finalize | Change::Remove, Slot::Call(call)) = (change, slot) {
            self.open_calls.remove(&call);
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
        self.take(change, slot, &entry);
        self.entry = entry;
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
        self.take(Change::Remove, slot, &[]);
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

/// The hash of a state, from nothing. None before RunCreated.
pub fn state_hash(state: &State) -> Option<Hash> {
    StateHasher::of(state).state_hash(state)
}

fn place(hashes: &mut Vec<Hash>, at: u32) -> &mut Hash {
    if hashes.len() <= at as usize {
        hashes.resize(at as usize + 1, Hash::default());
    }
    &mut hashes[at as usize]
}

#[cfg(test)]
mod tests;
