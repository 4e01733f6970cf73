//! The hashes of a source and of its records, computed on another thread while the records are converted.

use std::ops::Range;

use sha2::{Digest as _, Sha256};

use super::Stop;
use super::spool::Spool;
use crate::hash::Hash;
use crate::task::{Pipeline, Worker};

/// Number of bytes that are hashed at a time.
const BATCH_BYTES: usize = 512 << 10;

/// The most batches that are under way.
const ROOM: usize = 3;

/// Bytes to hash.
#[derive(Default)]
struct Batch {
    bytes: Vec<u8>,
    /// Where records are, or parts of one. The second value says whether the record ends there.
    records: Vec<(Range<usize>, bool)>,
    /// Whether the bytes are the next ones of the source.
    is_source: bool,
}

#[derive(Default)]
struct Hasher {
    source: Sha256,
    /// The beginning of a record that goes on in the next batch.
    record: Sha256,
}

impl Worker for Hasher {
    type Job = Batch;
    /// The batch, emptied, and the hashes of the records that end in it.
    type Output = (Batch, Vec<Hash>);

    fn work(&mut self, mut batch: Batch) -> Self::Output {
        if batch.is_source {
            self.source.update(&batch.bytes);
        }
        let mut hashes = Vec::with_capacity(batch.records.len());
        for (range, is_end) in batch.records.drain(..) {
            self.record.update(&batch.bytes[range]);
            if is_end {
                hashes.push(self.record.finalize_reset().into());
            }
        }
        batch.bytes.clear();
        (batch, hashes)
    }
}

/// Hashes what it is given, in order.
pub(super) struct Hashes {
    batch: Batch,
    pipeline: Pipeline<Hasher>,
    spare: Vec<Batch>,
    done: Spool,
}

/// What was hashed.
#[derive(Default)]
pub(super) struct Hashed {
    /// The hash of the source.
    pub source: Hash,
    /// The hashes of the records, one after the other.
    pub records: Spool,
}

impl Hashes {
    pub(super) fn new() -> Self {
        let pipeline = Pipeline::serial(Hasher::default(), ROOM);
        Hashes { batch: Batch::default(), pipeline, spare: Vec::new(), done: Spool::default() }
    }

    /// Bytes of the source that belong to no record.
    pub(super) fn gap(&mut self, bytes: &[u8]) -> Result<(), Stop> {
        self.add(bytes, true, None)
    }

    /// Bytes of the source that belong to a record, which ends there if `is_end` is set.
    pub(super) fn record(&mut self, bytes: &[u8], is_end: bool) -> Result<(), Stop> {
        self.add(bytes, true, Some(is_end))
    }

    /// Bytes of a record that are known as bytes of the source already.
    pub(super) fn record_again(&mut self, bytes: &[u8], is_end: bool) -> Result<(), Stop> {
        self.add(bytes, false, Some(is_end))
    }

    fn add(&mut self, mut bytes: &[u8], is_source: bool, record: Option<bool>) -> Result<(), Stop> {
        if self.batch.is_source != is_source {
            self.hand_over()?;
            self.batch.is_source = is_source;
        }
        loop {
            let (now, later) = bytes.split_at(bytes.len().min(BATCH_BYTES.saturating_sub(self.batch.bytes.len())));
            let start = self.batch.bytes.len();
            self.batch.bytes.extend_from_slice(now);
            if let Some(is_end) = record {
                self.batch.records.push((start..start + now.len(), is_end && later.is_empty()));
            }
            if self.batch.bytes.len() >= BATCH_BYTES {
                self.hand_over()?;
            }
            if later.is_empty() {
                return Ok(());
            }
            bytes = later;
        }
    }

    fn hand_over(&mut self) -> Result<(), Stop> {
        if self.batch.bytes.is_empty() && self.batch.records.is_empty() {
            return Ok(());
        }
        if self.pipeline.is_full() {
            self.take_next()?;
        }
        while let Some((_, (batch, hashes))) = self.pipeline.ready_output() {
            self.take(batch, &hashes)?;
        }
        let next = Batch { is_source: self.batch.is_source, ..self.spare.pop().unwrap_or_default() };
        self.pipeline.push(std::mem::replace(&mut self.batch, next));
        Ok(())
    }

    /// Waits for the next batch. Returns whether there was one.
    fn take_next(&mut self) -> Result<bool, Stop> {
        let Some((_, (batch, hashes))) = self.pipeline.next_output() else { return Ok(false) };
        self.take(batch, &hashes)?;
        Ok(true)
    }

    fn take(&mut self, batch: Batch, hashes: &[Hash]) -> Result<(), Stop> {
        self.spare.push(batch);
        self.done.append(hashes.as_flattened())
    }

    /// Waits until everything is hashed.
    pub(super) fn finish(mut self) -> Result<Hashed, Stop> {
        self.hand_over()?;
        while self.take_next()? {}
        let hasher = self.pipeline.into_worker().map(|worker| worker.source).unwrap_or_default();
        Ok(Hashed { source: hasher.finalize().into(), records: self.done })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::sha256;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_record_and_the_source_have_their_hashes(
            parts in proptest::collection::vec((0..3 * BATCH_BYTES, any::<bool>()), 1..6),
        ) {
            let (mut hashes, mut source, mut expected) = (Hashes::new(), Vec::new(), Vec::new());
            for (index, (length, is_record)) in parts.into_iter().enumerate() {
                let bytes = vec![index as u8; length];
                source.extend_from_slice(&bytes);
                if is_record {
                    let (begin, rest) = bytes.split_at(length / 3);
                    hashes.record(begin, false).unwrap();
                    hashes.record(rest, true).unwrap();
                    expected.push(sha256([&bytes]));
                } else {
                    hashes.gap(&bytes).unwrap();
                }
            }
            hashes.record_again(b"again", true).unwrap();
            expected.push(sha256([b"again"]));
            let hashed = hashes.finish().unwrap();
            prop_assert_eq!(hashed.source, sha256([&source]));
            prop_assert_eq!(hashed.records.read(0, hashed.records.size() as usize).unwrap(), expected.as_flattened());
        }
    }
}
