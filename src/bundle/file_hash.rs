//! SHA-256 of files: large files are hashed on a separate thread while the caller reads on, small ones inline. For an export with
//! redaction the same pass runs the prefilter.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, channel, sync_channel};
use std::thread;

use sha2::{Digest as _, Sha256};

use super::error::{BundleCode, BundleError};
use super::redact::prefilter::Prefilter;
use super::redact::stream_prefilter::StreamPrefilter;
use crate::hash::Hash;

/// The unit in which bytes are sent to the thread. Smaller files are hashed inline.
const BLOCK_BYTES: usize = 256 << 10;

/// The capacity of the queue to the thread, in blocks.
const MAX_QUEUED_BLOCKS: usize = 8;

enum Job {
    Block(Vec<u8>),
    End,
}

/// The result for one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hashed {
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

/// Hashes files, one after the other.
pub struct FileHasher {
    block: Vec<u8>,
    prefilter: Option<Arc<Prefilter>>,
    /// `None` before the first large file, and if the thread can't be started: then large files are hashed inline too.
    thread: Option<HashThread>,
    inline: Scan,
    /// Whether the thread has received the beginning of the current file.
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
    /// A hasher that also runs `prefilter` over every file.
    pub fn new(prefilter: Option<Arc<Prefilter>>) -> Self {
        let inline = Scan::new(prefilter.clone());
        FileHasher { block: Vec::with_capacity(BLOCK_BYTES), prefilter, thread: None, inline, handed_over: false }
    }

    /// Adds bytes to the current file.
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

    /// Ends the current file and returns its result. The next bytes belong to another file.
    pub fn finish(&mut self) -> Result<Hashed, BundleError> {
        if !std::mem::take(&mut self.handed_over) {
            self.inline.update(&self.block);
            self.block.clear();
            return Ok(self.inline.finish());
        }
        self.hand_over()?;
        self.handed_over = false;
        let thread = self.thread.as_ref().ok_or_else(thread_ended)?;
        thread.jobs.send(Job::End).map_err(|_| thread_ended())?;
        thread.hashes.recv().map_err(|_| thread_ended())
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
        thread.jobs.send(Job::Block(block)).map_err(|_| thread_ended())
    }
}

impl HashThread {
    /// Starts the thread, which ends when this is dropped. `None` if the system can't start one.
    fn new(prefilter: Option<Arc<Prefilter>>) -> Option<Self> {
        let (jobs, work) = sync_channel::<Job>(MAX_QUEUED_BLOCKS);
        let (result, hashes) = channel();
        let (spare, spares) = channel();
        let run = move || {
            let mut scan = Scan::new(prefilter);
            for job in work {
                match job {
                    Job::Block(mut block) => {
                        scan.update(&block);
                        block.clear();
                        // The receiver may be gone; that is no error.
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
fn thread_ended() -> BundleError {
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
            assert_eq!((hashed.sha256, hashed.candidates), (sha256([&bytes[..size]]), None), "{size}");
        }
    }
    #[test]
    fn candidates_are_found_in_small_and_large_files() {
        let prefilter = RuleSet::new(&RedactOptions::default()).unwrap().prefilter();
        let mut hasher = FileHasher::new(prefilter);
        for size in [100, 3 * BLOCK_BYTES, 200, BLOCK_BYTES + 2] {
            let mut bytes = vec![b'.'; size];
            let places = [0, 50, size - 4];
            places.iter().for_each(|at| bytes[*at..*at + 4].copy_from_slice(b"AKIA"));
            hasher.update(&bytes).unwrap();
            let hashed = hasher.finish().unwrap();
            assert_eq!(hashed.candidates, Some(places.map(|at| at as u64).to_vec()), "{size}");
            assert_eq!(hashed.sha256, sha256([&bytes]));
        }
    }
}
