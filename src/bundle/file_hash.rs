//! Hashing beside other work: a large file's bytes are hashed on a thread of their own, a small one's here and now.

use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, channel, sync_channel};
use std::thread;

use sha2::{Digest as _, Sha256};

use super::error::{BundleCode, BundleError};
use crate::hash::Hash;

/// How much is handed to the thread at a time.
const BLOCK_BYTES: usize = 256 << 10;

/// How many blocks may wait: memory is bounded.
const WAITING: usize = 8;

enum Job {
    Block(Vec<u8>),
    End,
}

/// Hashes one file after the other.
pub struct FileHasher {
    block: Vec<u8>,
    /// None until there is a large file, or where the system has no thread to give.
    thread: Option<HashThread>,
    inline: Sha256,
    handed_over: bool,
}

struct HashThread {
    jobs: SyncSender<Job>,
    hashes: Receiver<Hash>,
    spares: Receiver<Vec<u8>>,
}

impl Default for FileHasher {
    fn default() -> Self {
        FileHasher { block: Vec::with_capacity(BLOCK_BYTES), thread: None, inline: Sha256::new(), handed_over: false }
    }
}

impl FileHasher {
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

    /// The hash of the file; what is added next is another one.
    pub fn finish(&mut self) -> Result<Hash, BundleError> {
        if !std::mem::take(&mut self.handed_over) {
            self.inline.update(&self.block);
            self.block.clear();
            return Ok(self.inline.finalize_reset().into());
        }
        self.hand_over()?;
        self.handed_over = false;
        let thread = self.thread.as_ref().ok_or_else(gone)?;
        thread.jobs.send(Job::End).map_err(|_| gone())?;
        thread.hashes.recv().map_err(|_| gone())
    }

    fn hand_over(&mut self) -> Result<(), BundleError> {
        if self.thread.is_none() {
            self.thread = HashThread::new();
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
    fn new() -> Option<Self> {
        let (jobs, work) = sync_channel::<Job>(WAITING);
        let (result, hashes) = channel();
        let (spare, spares) = channel();
        let run = move || {
            let mut hasher = Sha256::new();
            for job in work {
                match job {
                    Job::Block(mut block) => {
                        hasher.update(&block);
                        block.clear();
                        // Nobody who waits for one any more is no reason to stop.
                        let _ = spare.send(block);
                    }
                    Job::End => {
                        let _ = result.send(hasher.finalize_reset().into());
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
    use crate::hash::sha256;

    #[test]
    fn files_of_any_size_have_their_hashes_whatever_came_before() {
        let mut hasher = FileHasher::default();
        let bytes: Vec<u8> = (0..3_000_000u32).map(|n| (n * 7 % 251) as u8).collect();
        for size in [0, 1, BLOCK_BYTES - 1, BLOCK_BYTES, BLOCK_BYTES + 1, 0, 2_999_999, 5, 10 * BLOCK_BYTES] {
            for piece in bytes[..size].chunks(70_001) {
                hasher.update(piece).unwrap();
            }
            assert_eq!(hasher.finish().unwrap(), sha256([&bytes[..size]]), "{size}");
        }
    }
}
