//! Detects changes to a file: a digest of each of its blocks is computed while the file is scanned, and compared later on all cores.
//!
//! The digest (XXH3, 128 bits) detects accidental changes. It does not protect against forgery: a process that can write the file can
//! write its digest too.

use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use twox_hash::XxHash3_128;

use super::segments::{Segments, Threads};
use super::source::LineSource;
use crate::task::Cancellation;
use crate::task::Worker;

/// Size of a read in bytes.
const READ_BYTES: usize = 256 << 10;

/// A block of a file. It begins where the block before it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Block {
    /// Its end, as an offset in the file.
    pub end: u64,
    /// The digest of its bytes.
    pub digest: u128,
}

/// A digest that is being computed.
#[derive(Clone)]
pub(crate) struct Digest(XxHash3_128);

impl Default for Digest {
    fn default() -> Self {
        Digest(XxHash3_128::new())
    }
}

impl Digest {
    /// The digest of `bytes`.
    pub(crate) fn of(bytes: &[u8]) -> u128 {
        XxHash3_128::oneshot(bytes)
    }

    /// Appends bytes.
    pub(crate) fn add(&mut self, bytes: &[u8]) {
        self.0.write(bytes);
    }

    /// The digest of all bytes added so far.
    pub(crate) fn value(&self) -> u128 {
        self.0.finish_128()
    }
}

/// Whether the file begins with these blocks.
pub(crate) fn begins_with(source: &Arc<LineSource>, blocks: &[Block], threads: Threads) -> bool {
    let begins = std::iter::once(0).chain(blocks.iter().map(|block| block.end));
    let ranges: Vec<_> = begins.zip(blocks).map(|(begin, block)| begin..block.end).collect();
    if ranges.iter().any(|range| range.is_empty() || range.end > source.size()) {
        return false;
    }
    let make = || Digester { source: source.clone(), buffer: Vec::new(), cancellation: Cancellation::current() };
    let mut digests = Segments::new(ranges, threads, make);
    blocks.iter().all(|block| digests.next_output().flatten() == Some(block.digest))
}

/// Computes the digests of ranges of a file.
struct Digester {
    source: Arc<LineSource>,
    buffer: Vec<u8>,
    cancellation: Cancellation,
}

impl Worker for Digester {
    type Job = Range<u64>;
    /// `None` if the range can't be read, or the work is cancelled.
    type Output = Option<u128>;

    fn work(&mut self, range: Range<u64>) -> Option<u128> {
        self.buffer.resize(READ_BYTES, 0);
        let mut digest = Digest::default();
        let mut at = range.start;
        while at < range.end {
            self.cancellation.check().ok()?;
            let wanted = usize::try_from(range.end - at).map_or(READ_BYTES, |rest| rest.min(READ_BYTES));
            match self.source.read_at(&mut self.buffer[..wanted], at) {
                Err(_) | Ok(0) => return None,
                Ok(count) => {
                    digest.add(&self.buffer[..count]);
                    at += count as u64;
                }
            }
        }
        Some(digest.value())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn source_of(content: &[u8]) -> Arc<LineSource> {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(content).unwrap();
        Arc::new(LineSource::open(file.path()).unwrap())
    }

    fn blocks_of(content: &[u8], ends: &[usize]) -> Vec<Block> {
        let begins = std::iter::once(0).chain(ends.iter().copied());
        begins
            .zip(ends)
            .map(|(begin, &end)| Block { end: end as u64, digest: Digest::of(&content[begin..end]) })
            .collect()
    }

    #[test]
    fn digest_detects_any_changed_byte() {
        let content: Vec<u8> = (0..3_000_000u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        let blocks = blocks_of(&content, &[1, 700_000, 700_100, 2_900_000]);
        assert!(begins_with(&source_of(&content), &blocks, Threads::All));
        assert!(begins_with(&source_of(&content[..2_900_000]), &blocks, Threads::All));
        assert!(!begins_with(&source_of(&content[..2_899_999]), &blocks, Threads::All));
        for at in [0, 1, 699_999, 700_000, 700_050, 700_100, 2_899_999] {
            let mut changed = content.clone();
            changed[at] ^= 1;
            assert!(!begins_with(&source_of(&changed), &blocks, Threads::All), "{at}");
        }
        let mut behind = content;
        behind[2_900_000] ^= 1;
        assert!(begins_with(&source_of(&behind), &blocks, Threads::All));
    }

    #[test]
    fn inconsistent_blocks_never_match_a_file() {
        let content = b"0123456789";
        let source = source_of(content);
        assert!(begins_with(&source, &[], Threads::All));
        for ends in [&[5u64, 5][..], &[5, 3], &[11], &[u64::MAX]] {
            let blocks: Vec<_> = ends.iter().map(|&end| Block { end, digest: Digest::of(b"") }).collect();
            assert!(!begins_with(&source, &blocks, Threads::All), "{ends:?}");
        }
    }

    #[test]
    fn digest_does_not_depend_on_how_input_is_split() {
        let mut digest_of_parts = Digest::default();
        b"some bytes of a file".chunks(3).for_each(|part| digest_of_parts.add(part));
        assert_eq!(digest_of_parts.value(), Digest::of(b"some bytes of a file"));
    }
}
