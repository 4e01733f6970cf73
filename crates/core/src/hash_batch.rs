//! Hashes many messages together.
//!
//! Each round of SHA-256 depends on the one before, so a single message leaves most of a processor's SHA unit idle. On a processor that
//! has such a unit, the rounds of several messages are interleaved; on others, messages are hashed one after the other.

#[cfg(target_arch = "x86_64")]
mod lanes;
mod stream;

use sha2::block_api::compress256;

use crate::hash::Hash;
#[cfg(target_arch = "x86_64")]
use lanes::{LANES, LaneState, Lanes};

/// Size of a SHA-256 block in bytes.
const BLOCK_BYTES: usize = 64;

/// The initial hash value of SHA-256.
const INITIAL: [u32; 8] =
    [0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19];

/// Messages to be hashed with SHA-256.
#[derive(Clone, Debug, Default)]
pub struct HashBatch {
    /// The messages, each padded to whole blocks.
    padded: Vec<u8>,
    /// The end of each message in `padded`, in blocks.
    ends: Vec<usize>,
}

impl HashBatch {
    /// Adds a message: the concatenation of `parts`.
    #[inline]
    pub fn push<const PARTS: usize>(&mut self, parts: [&[u8]; PARTS]) {
        self.write(|message| parts.iter().for_each(|part| message.extend_from_slice(part)));
    }

    /// Adds a message. `append` appends it to the buffer that it is given, and must not change the buffer otherwise.
    #[inline]
    pub fn write(&mut self, append: impl FnOnce(&mut Vec<u8>)) {
        let start = self.padded.len();
        append(&mut self.padded);
        let bits = (self.padded.len() - start) as u64 * 8;
        self.padded.push(0x80);
        let end = (self.padded.len() + size_of_val(&bits)).next_multiple_of(BLOCK_BYTES);
        self.padded.resize(end - size_of_val(&bits), 0);
        self.padded.extend_from_slice(&bits.to_be_bytes());
        self.ends.push(end / BLOCK_BYTES);
    }

    /// Number of messages.
    pub fn count(&self) -> usize {
        self.ends.len()
    }

    /// Removes all messages and keeps the allocated memory.
    pub fn clear(&mut self) {
        self.padded.clear();
        self.ends.clear();
    }

    /// Hashes all messages. Replaces the content of `hashes` with their hashes, in the order of the messages.
    pub fn hash_into(&self, hashes: &mut Vec<Hash>) {
        hashes.clear();
        hashes.resize(self.count(), Hash::default());
        hash_messages(self.messages(), hashes);
    }

    fn messages(&self) -> impl Iterator<Item = Message<'_>> {
        let (blocks, _) = self.padded.as_chunks::<BLOCK_BYTES>();
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        let message = move |(index, (start, &end))| Message { index, words: INITIAL, blocks: &blocks[start..end] };
        starts.zip(&self.ends).enumerate().map(message)
    }
}

/// Hashes messages, and stores each hash in `hashes` at the index of its message.
fn hash_messages<'b>(messages: impl Iterator<Item = Message<'b>>, hashes: &mut [Hash]) {
    #[cfg(target_arch = "x86_64")]
    let messages = in_lanes(messages, hashes);
    messages.for_each(|message| message.finish(hashes));
}

/// Hashes messages in lanes if the processor can, and returns those that remain.
#[cfg(target_arch = "x86_64")]
fn in_lanes<'b, M: Iterator<Item = Message<'b>>>(mut messages: M, hashes: &mut [Hash]) -> M {
    if hashes.len() >= LANES
        && let Some(lanes) = Lanes::detect()
    {
        hash_in_lanes(lanes, &mut messages, hashes);
    }
    messages
}

/// A message that is being hashed.
#[derive(Clone, Copy)]
struct Message<'b> {
    index: usize,
    words: [u32; 8],
    /// The blocks that are not hashed yet.
    blocks: &'b [[u8; BLOCK_BYTES]],
}

impl Message<'_> {
    /// Hashes the remaining blocks and stores the hash.
    fn finish(mut self, hashes: &mut [Hash]) {
        compress256(&mut self.words, self.blocks);
        self.store(hashes);
    }

    fn store(&self, hashes: &mut [Hash]) {
        let (bytes, _) = hashes[self.index].as_chunks_mut();
        for (bytes, word) in bytes.iter_mut().zip(self.words) {
            *bytes = word.to_be_bytes();
        }
    }
}

/// Hashes messages, several at a time, while there are enough for all lanes.
#[cfg(target_arch = "x86_64")]
fn hash_in_lanes<'b>(lanes: Lanes, messages: &mut impl Iterator<Item = Message<'b>>, hashes: &mut [Hash]) {
    let mut current: [Option<Message<'b>>; LANES] = std::array::from_fn(|_| messages.next());
    let state_of =
        |message: &Option<Message<'_>>| LaneState::from(message.as_ref().map_or(INITIAL, |message| message.words));
    let mut states = current.each_ref().map(state_of);
    while let [Some(first), Some(second)] = &mut current {
        let common = first.blocks.len().min(second.blocks.len());
        let next = |message: &mut Message<'b>| {
            let (next, rest) = message.blocks.split_at(common);
            message.blocks = rest;
            next
        };
        lanes.compress(&mut states, [next(first), next(second)]);
        for (lane, state) in current.iter_mut().zip(&mut states) {
            if let Some(message) = lane.take_if(|message| message.blocks.is_empty()) {
                Message { words: (*state).into(), ..message }.store(hashes);
                *lane = messages.next();
                *state = state_of(lane);
            }
        }
    }
    for (message, state) in current.into_iter().zip(states) {
        message.into_iter().for_each(|message| Message { words: state.into(), ..message }.finish(hashes));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::sha256;
    use proptest::prelude::*;

    fn hashes_of(messages: &[Vec<u8>]) -> Vec<Hash> {
        let mut batch = HashBatch::default();
        messages.iter().for_each(|message| batch.push([&message[..]]));
        let mut hashes = vec![[1; 32]; 3];
        batch.hash_into(&mut hashes);
        hashes
    }

    #[test]
    fn every_length_around_the_padding_is_hashed() {
        let messages: Vec<Vec<u8>> = (0..200).map(|length| vec![length as u8; length]).collect();
        let expected: Vec<Hash> = messages.iter().map(|message| sha256([message])).collect();
        assert_eq!(hashes_of(&messages), expected);
        for (message, hash) in messages.iter().zip(expected) {
            assert_eq!(hashes_of(std::slice::from_ref(message)), [hash]);
        }
    }

    #[test]
    fn a_cleared_batch_is_empty() {
        let (mut batch, mut hashes) = (HashBatch::default(), Vec::new());
        batch.push([b"other"]);
        batch.clear();
        assert_eq!(batch.count(), 0);
        batch.push([b"a", b"", b"bc"]);
        batch.hash_into(&mut hashes);
        assert_eq!((batch.count(), hashes), (1, vec![sha256([b"abc"])]));
    }

    proptest! {
        #[test]
        fn a_batch_has_the_hashes_of_its_messages(
            messages in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..300), 0..40),
        ) {
            let expected: Vec<Hash> = messages.iter().map(|message| sha256([message])).collect();
            prop_assert_eq!(hashes_of(&messages), expected);
        }
    }
}
pub use stream::HashStream;
