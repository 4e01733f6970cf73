//! The sum of the hashes of a state's entries, and the state hash that it yields.

use super::state::RunStatus;
use crate::hash::{Hash, sha256, to_hex};

/// A sum of hashes, each a big-endian number of 256 bits, modulo 2^256.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Accumulator {
    /// Least significant limb first.
    limbs: [u64; 4],
}

impl Accumulator {
    /// Adds a hash.
    pub(crate) fn add(&mut self, hash: &Hash) {
        let mut carry = false;
        for (limb, added) in self.limbs.iter_mut().zip(limbs(hash)) {
            let (sum, over) = limb.overflowing_add(added);
            let (sum, again) = sum.overflowing_add(carry.into());
            (*limb, carry) = (sum, over | again);
        }
    }

    /// Subtracts a hash that was added.
    pub(crate) fn subtract(&mut self, hash: &Hash) {
        let mut borrow = false;
        for (limb, taken) in self.limbs.iter_mut().zip(limbs(hash)) {
            let (rest, under) = limb.overflowing_sub(taken);
            let (rest, again) = rest.overflowing_sub(borrow.into());
            (*limb, borrow) = (rest, under | again);
        }
    }

    /// The sum as 32 bytes, big-endian.
    pub(crate) fn to_bytes(self) -> Hash {
        let mut bytes = Hash::default();
        for (chunk, limb) in bytes.rchunks_exact_mut(8).zip(self.limbs) {
            chunk.copy_from_slice(&limb.to_be_bytes());
        }
        bytes
    }

    /// The hash of a state whose entries have this sum.
    pub(crate) fn state_hash(&self, status: RunStatus, logical_time: u64) -> Hash {
        self.with_state(status, logical_time, sha256)
    }

    /// Passes the parts of what is hashed for a state whose entries have this sum to `hash`, and returns its result.
    pub(crate) fn with_state<T>(&self, status: RunStatus, logical_time: u64, hash: impl FnOnce([&[u8]; 6]) -> T) -> T {
        let mut time = itoa::Buffer::new();
        let time = time.format(logical_time).as_bytes();
        let sum = to_hex(&self.to_bytes());
        hash([b"state/1\n", status.as_str().as_bytes(), b"\n", time, b"\n", &sum])
    }
}

/// The 64-bit limbs of a hash, least significant first.
fn limbs(hash: &Hash) -> impl Iterator<Item = u64> {
    let (words, _) = hash.as_chunks();
    words.iter().rev().map(|word| u64::from_be_bytes(*word))
}
