//! Hashing beside other work: a large file's bytes are hashed on a thread of their own, a small one's here and now. Who redacts has
//! them looked at for prefilter as well.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, channel, sync_channel};
use std::thread;

use sha2::{Digest as _, Sha256};

use super::error::{BundleCode, BundleError};
use super::redact::prefilter::Prefilter;
use super::redact::stream_prefilter::StreamPrefilter;
use crate::hash::Hash;

/// How much is handed to the thread at a time.
const BLOCK_BYTES: usize = 256 << 10;

/// How many blocks may wait: memory is bounded.
const WAITING: usize = 8;

enum Job {
    Block(Vec<u8>),
    End,
}

/// What the bytes of a file tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hashed {
    /// Their hash.
    pub sha256: Hash,
    /// Where prefilter are among them, in order; `None` if they were not looked for, or are too many.
    pub marked: Option<Vec<u64>>,
}

/// Goes through the bytes of one file after the other.
struct Scan {
    sha256: Sha256,
    stream_prefilter: Option<StreamPrefilter>,
}

impl Scan {
    fn new(prefilter: Option<Arc<Prefilter>>) -> Self {
        Scan { sha256: Sha256::new(), stream_prefilter: prefilter.map(StreamPrefilter::new) }
    }

    fn update(&mut self, bytes: &[u8]) {
        self.sha256.update(bytes);
        if let Some(stream_prefilter) = &mut self.stream_prefilter {
            stream_prefilter.look_at(bytes);
        }
    }

    fn finish(&mut self) -> Hashed {
        let marked = self.stream_prefilter.as_mut().and_then(StreamPrefilter::finish);
        Hashed { sha256: self.sha256.finalize_reset().into(), marked }
    }
}

/// Hashes one file after the other.
pub struct FileHasher {
    block: Vec<u8>,
    prefilter: Option<Arc<Prefilter>>,
    /// None until there is a large file, or where the system has no thread to give.
    thread: Option<HashThread>,
    inline: Scan,
    handed_over: bool,
}

struct HashThread {
    jobs: SyncSender<Job>,
    hashes: Receiver<Hashed>,
    spares: Receiver<Vec<u8>>,
}

impl Default for FileHasher {
    fn default() -> Self {
        FileHasher::new(None)
    }
}

impl FileHasher {
    /// Looks for these prefilter as well.
    pub fn new(prefilter: Option<Arc<Prefilter>>) -> Self {
        let inline = Scan::new(prefilter.clone());
        FileHasher { block: Vec::with_capacity(BLOCK_BYTES), prefilter, thread: None, inline, handed_over: false }
    }

    /// Adds bytes to the file.
    pub fn update(&mut self, mut bytes: &[u8]) -> Result<(), BundleError> {
        while !bytes.is_empty() {
            let (now, later) = bytes.split_at(bytes.len().min(BLOCK_BYTES - self.block.len()));
            self.block.extend_from_slice(now);
            bytes = later;
            if self.block.len() == BLOCK_BYTES {
                self.hand_over()?;
            }
        }
        Ok(())
    }

    /// The hash of the file, and what was seen; what is added next is another one.
    pub fn finish(&mut self) -> Result<Hashed, BundleError> {
        if !std::mem::take(&mut self.handed_over) {
            self.inline.update(&self.block);
            self.block.clear();
            return Ok(self.inline.finish());
        }
        self.hand_over()?;
        self.handed_over = false;
        let thread = self.thread.as_ref().ok_or_else(gone)?;
        thread.jobs.send(Job::End).map_err(|_| gone())?;
        thread.hashes.recv().map_err(|_| gone())
    }

    fn hand_over(&mut self) -> Result<(), BundleError> {
        if self.thread.is_none() {
            self.thread = HashThread::new(self.prefilter.clone());
        }
        let Some(thread) = &self.thread else {
            self.inline.update(&self.block);
            self.block.clear();
            return Ok(());
        };
        let spare = match thread.spares.try_recv() {
            Ok(spare) => spare,
            Err(TryRecvError::Empty | TryRecvError::Disconnected) => Vec::with_capacity(BLOCK_BYTES),
        };
        let block = std::mem::replace(&mut self.block, spare);
        self.handed_over = true;
        thread.jobs.send(Job::Block(block)).map_err(|_| gone())
    }
}

impl HashThread {
    /// It ends when it is dropped.
    fn new(prefilter: Option<Arc<Prefilter>>) -> Option<Self> {
        let (jobs, work) = sync_channel::<Job>(WAITING);
        let (result, hashes) = channel();
        let (spare, spares) = channel();
        let run = move || {
            let mut scan = Scan::new(prefilter);
            for job in work {
                match job {
                    Job::Block(mut block) => {
                        scan.update(&block);
                        block.clear();
                        // A receiver that no longer waits is no reason to stop.
                        let _ = spare.send(block);
                    }
                    Job::End => {
                        let _ = result.send(scan.finish());
                    }
                }
            }
        };
        thread::Builder::new().name("session-tape-hash".into()).spawn(run).ok()?;
        Some(HashThread { jobs, hashes, spares })
    }
}

#[cold]
fn gone() -> BundleError {
    BundleError::new(BundleCode::SystemError, "The thread that hashes files ended unexpectedly")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bundle::redact::{RedactOptions, RuleSet};
    use crate::hash::sha256;

    #[test]
    fn files_of_any_size_have_their_hashes_whatever_came_before() {
        let mut hasher = FileHasher::default();
        let bytes: Vec<u8> = (0..3_000_000u32).map(|n| (n * 7 % 251) as u8).collect();
        for size in [0, 1, BLOCK_BYTES - 1, BLOCK_BYTES, BLOCK_BYTES + 1, 0, 2_999_999, 5, 10 * BLOCK_BYTES] {
            for piece in bytes[..size].chunks(70_001) {
                hasher.update(piece).unwrap();
            }
            let hashed = hasher.finish().unwrap();
            assert_eq!((hashed.sha256, hashed.marked), (sha256([&bytes[..size]]), None), "{size}");
        }
    }
    #[test]
    fn marks_are_found_in_small_files_and_in_large_ones() {
        let prefilter = RuleSet::new(&RedactOptions::default()).unwrap().prefilter();
        let mut hasher = FileHasher::new(prefilter);
        for size in [100, 3 * BLOCK_BYTES, 200, BLOCK_BYTES + 2] {
            let mut bytes = vec![b'.'; size];
            let places = [0, 50, size - 4];
            places.iter().for_each(|at| bytes[*at..*at + 4].copy_from_slice(b"AKIA"));
            hasher.update(&bytes).unwrap();
            let hashed = hasher.finish().unwrap();
            assert_eq!(hashed.marked, Some(places.map(|at| at as u64).to_vec()), "{size}");
            assert_eq!(hashed.sha256, sha256([&bytes]));
        }
    }
}
