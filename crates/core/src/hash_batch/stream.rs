//! Hashes a message whose bytes arrive in pieces, together with other messages.

use super::{BLOCK_BYTES, HashBatch, INITIAL, Message, hash_messages};
use crate::hash::Hash;

/// The SHA-256 of a message that is not complete yet.
#[derive(Clone, Debug)]
pub struct HashStream {
    words: [u32; 8],
    /// The bytes after the last whole block.
    rest: Vec<u8>,
    bytes: u64,
}

impl Default for HashStream {
    fn default() -> Self {
        HashStream { words: INITIAL, rest: Vec::with_capacity(BLOCK_BYTES), bytes: 0 }
    }
}

impl HashStream {
    /// Appends bytes.
    pub fn append(&mut self, bytes: &[u8]) {
        self.append_beside(&HashBatch::default(), &mut Vec::new(), bytes);
    }

    /// Appends bytes, and hashes the messages of a batch at the same time, as [`HashBatch::hash_into`] does.
    pub fn append_beside(&mut self, batch: &HashBatch, hashes: &mut Vec<Hash>, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        let bytes = self.fill(bytes);
        let (blocks, rest) = bytes.as_chunks::<BLOCK_BYTES>();
        self.compress(batch, hashes, blocks);
        self.rest.extend_from_slice(rest);
    }

    /// The hash of all bytes.
    pub fn finish(mut self) -> Hash {
        let bits = self.bytes * 8;
        self.rest.push(0x80);
        let end = (self.rest.len() + size_of_val(&bits)).next_multiple_of(BLOCK_BYTES);
        self.rest.resize(end - size_of_val(&bits), 0);
        self.rest.extend_from_slice(&bits.to_be_bytes());
        let rest = std::mem::take(&mut self.rest);
        self.compress(&HashBatch::default(), &mut Vec::new(), rest.as_chunks().0);
        hash_of(&self.words)
    }

    /// Adds bytes to the block that was begun, until it is complete. Returns the bytes after it.
    fn fill<'b>(&mut self, bytes: &'b [u8]) -> &'b [u8] {
        if self.rest.is_empty() {
            return bytes;
        }
        let (filling, bytes) = bytes.split_at(bytes.len().min(BLOCK_BYTES - self.rest.len()));
        self.rest.extend_from_slice(filling);
        if self.rest.len() == BLOCK_BYTES {
            let block = std::mem::take(&mut self.rest);
            self.compress(&HashBatch::default(), &mut Vec::new(), block.as_chunks().0);
            self.rest = block;
            self.rest.clear();
        }
        bytes
    }

    /// Hashes blocks of the stream as one more message of the batch, which stays in its lane while the others
    /// take turns in the other lane.
    fn compress(&mut self, batch: &HashBatch, hashes: &mut Vec<Hash>, blocks: &[[u8; BLOCK_BYTES]]) {
        hashes.clear();
        hashes.resize(batch.count() + 1, Hash::default());
        let stream = Message { index: batch.count(), words: self.words, blocks };
        hash_messages(std::iter::once(stream).chain(batch.messages()), hashes);
        if let Some(hash) = hashes.pop() {
            self.words = words_of(&hash);
        }
    }
}

fn hash_of(words: &[u32; 8]) -> Hash {
    let mut hash = Hash::default();
    let (bytes, _) = hash.as_chunks_mut();
    for (bytes, word) in bytes.iter_mut().zip(words) {
        *bytes = word.to_be_bytes();
    }
    hash
}

fn words_of(hash: &Hash) -> [u32; 8] {
    let mut words = INITIAL;
    let (bytes, _) = hash.as_chunks();
    for (word, bytes) in words.iter_mut().zip(bytes) {
        *word = u32::from_be_bytes(*bytes);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::sha256;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn neither_pieces_nor_what_is_beside_them_matter(
            pieces in prop::collection::vec(
                (prop::collection::vec(any::<u8>(), 0..300), prop::collection::vec(prop::collection::vec(any::<u8>(), 0..200), 0..5)),
                0..8,
            ),
        ) {
            let (mut stream, mut whole, mut hashes) = (HashStream::default(), Vec::new(), Vec::new());
            for (piece, messages) in &pieces {
                let mut batch = HashBatch::default();
                messages.iter().for_each(|message| batch.push([&message[..]]));
                stream.append_beside(&batch, &mut hashes, piece);
                let expected: Vec<Hash> = messages.iter().map(|message| sha256([&message[..]])).collect();
                prop_assert_eq!(&hashes, &expected);
                whole.extend_from_slice(piece);
            }
            prop_assert_eq!(stream.finish(), sha256([&whole[..]]));
        }
    }
}
