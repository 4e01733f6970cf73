//! SHA-256 of files: large files are hashed on another thread while the caller reads on, small ones inline. For an export with
//! redaction the same pass runs the prefilter.

use std::sync::Arc;

use sha2::{Digest as _, Sha256};

use crate::bundle::redact::{Prefilter, StreamPrefilter};
use crate::hash::Hash;
use crate::task::{Pipeline, Worker};

/// The unit in which bytes are handed to the other thread. Smaller files are hashed inline.
const BLOCK_BYTES: usize = 256 << 10;

/// The maximum number of blocks in progress.
const ROOM: usize = 8;

/// The result for one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hashed {
    /// The hash of the file.
    pub sha256: Hash,
    /// The offsets of the prefilter's candidates, ascending; `None` without a prefilter, or if there are too many.
    pub candidates: Option<Vec<u64>>,
}

/// The state of hash and prefilter within a file, reusable for the next file.
struct Scan {
    sha256: Sha256,
    stream_prefilter: Option<StreamPrefilter>,
}

/// A part of a file.
struct Block {
    bytes: Vec<u8>,
    is_last: bool,
}

impl Scan {
    fn new(prefilter: Option<Arc<Prefilter>>) -> Self {
        Scan { sha256: Sha256::new(), stream_prefilter: prefilter.map(StreamPrefilter::new) }
    }

    fn update(&mut self, bytes: &[u8]) {
        self.sha256.update(bytes);
        if let Some(stream_prefilter) = &mut self.stream_prefilter {
            stream_prefilter.update(bytes);
        }
    }

    fn finish(&mut self) -> Hashed {
        let candidates = self.stream_prefilter.as_mut().and_then(StreamPrefilter::finish);
        Hashed { sha256: self.sha256.finalize_reset().into(), candidates }
    }
}

impl Worker for Scan {
    type Job = Block;
    /// The empty buffer, for another block, and after the last block the result.
    type Output = (Vec<u8>, Option<Hashed>);

    fn work(&mut self, Block { mut bytes, is_last }: Block) -> Self::Output {
        self.update(&bytes);
        bytes.clear();
        (bytes, is_last.then(|| self.finish()))
    }
}

/// Hashes files, one after the other.
pub(crate) struct FileHasher {
    block: Vec<u8>,
    inline: Scan,
    large: Pipeline<Scan>,
    /// Buffers that were blocks of a large file.
    spares: Vec<Vec<u8>>,
    /// Whether the beginning of the current file was handed over.
    is_large: bool,
}

impl Default for FileHasher {
    fn default() -> Self {
        FileHasher::new(None)
    }
}

impl FileHasher {
    /// A hasher that also runs `prefilter` over every file.
    pub(crate) fn new(prefilter: Option<Arc<Prefilter>>) -> Self {
        FileHasher {
            block: Vec::with_capacity(BLOCK_BYTES),
            inline: Scan::new(prefilter.clone()),
            large: Pipeline::serial(Scan::new(prefilter), ROOM),
            spares: Vec::new(),
            is_large: false,
        }
    }

    /// Adds bytes to the current file.
    pub(crate) fn update(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let (now, later) = bytes.split_at(bytes.len().min(BLOCK_BYTES - self.block.len()));
            self.block.extend_from_slice(now);
            bytes = later;
            if self.block.len() == BLOCK_BYTES {
                self.hand_over(false);
                self.is_large = true;
            }
        }
    }

    /// Ends the current file and returns its result. The next bytes belong to another file.
    pub(crate) fn finish(&mut self) -> Hashed {
        if !std::mem::take(&mut self.is_large) {
            self.inline.update(&self.block);
            self.block.clear();
            return self.inline.finish();
        }
        self.hand_over(true);
        loop {
            let (_, (spare, hashed)) = self.large.next_output().expect("the last block has the result");
            self.spares.push(spare);
            if let Some(hashed) = hashed {
                return hashed;
            }
        }
    }

    fn hand_over(&mut self, is_last: bool) {
        let done = if self.large.is_full() { self.large.next_output() } else { self.large.ready_output() };
        self.spares.extend(done.map(|(_, (spare, _))| spare));
        let spare = self.spares.pop().unwrap_or_else(|| Vec::with_capacity(BLOCK_BYTES));
        self.large.push(Block { bytes: std::mem::replace(&mut self.block, spare), is_last });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bundle::redact::{RedactOptions, RuleSet};
    use crate::hash::sha256;

    #[test]
    fn hash_of_a_file_does_not_depend_on_earlier_files() {
        let mut hasher = FileHasher::default();
        let bytes: Vec<u8> = (0..3_000_000u32).map(|n| (n * 7 % 251) as u8).collect();
        for size in [0, 1, BLOCK_BYTES - 1, BLOCK_BYTES, BLOCK_BYTES + 1, 0, 2_999_999, 5, 10 * BLOCK_BYTES] {
            for piece in bytes[..size].chunks(70_001) {
                hasher.update(piece);
            }
            let hashed = hasher.finish();
            assert_eq!((hashed.sha256, hashed.candidates), (sha256([&bytes[..size]]), None), "{size}");
        }
    }
    #[test]
    fn candidates_are_found_in_small_and_large_files() {
        let prefilter = RuleSet::new(&RedactOptions::default()).unwrap().prefilter();
        let mut hasher = FileHasher::new(prefilter);
        for size in [100, 3 * BLOCK_BYTES, 200, BLOCK_BYTES + 2] {
            // The first candidate of a line stands for the line.
            let mut bytes = vec![b'\n'; size];
            let places = [0, 50, size - 4];
            places.iter().for_each(|at| bytes[*at..*at + 4].copy_from_slice(b"AKIA"));
            hasher.update(&bytes);
            let hashed = hasher.finish();
            assert_eq!(hashed.candidates, Some(places.map(|at| at as u64).to_vec()), "{size}");
            assert_eq!(hashed.sha256, sha256([&bytes]));
        }
    }
}
