//! The hashes of a file that is read in parts.

use sha2::{Digest as _, Sha256};
use twox_hash::XxHash3_128;

use session_tape_core::hash::Hash;
use session_tape_core::lines::LineSource;
use session_tape_core::task::Cancellation;

/// Maximum number of bytes read at a time.
const READ_BYTES: u64 = 256 << 10;

/// The hashes of a file, computed from its beginning on: a fingerprint, and if wanted the SHA-256.
#[derive(Default)]
pub struct FileHash {
    fingerprint: XxHash3_128,
    sha256: Option<Sha256>,
    hashed: u64,
    buffer: Vec<u8>,
}

/// The size and the hashes of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HashedFile {
    /// Its size in bytes.
    pub bytes: u64,
    /// Its XXH3, which shows whether it has changed. Much faster than the other hash, and not collision resistant.
    pub fingerprint: u128,
    /// Its SHA-256, if wanted.
    pub sha256: Option<Hash>,
}

impl FileHash {
    /// Also computes the SHA-256. Call this before adding bytes.
    pub fn with_sha256(self) -> Self {
        FileHash { sha256: Some(Sha256::new()), ..self }
    }

    /// Adds the bytes up to offset `end`.
    pub fn add(&mut self, source: &LineSource, end: u64) {
        let wanted = end.saturating_sub(self.hashed).min(READ_BYTES) as usize;
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.resize(wanted.max(buffer.len()), 0);
        let cancellation = Cancellation::current();
        while self.hashed < end && !cancellation.is_cancelled() {
            let wanted = usize::try_from(end - self.hashed).unwrap_or(usize::MAX).min(buffer.len());
            match source.read_at(&mut buffer[..wanted], self.hashed) {
                Ok(count) if count > 0 => {
                    self.next(self.hashed, &buffer[..count]);
                }
                // The reader of the file's lines reports the error.
                _ => break,
            }
        }
        self.buffer = buffer;
    }

    /// Adds the rest of the file, and returns its hashes.
    pub fn finish(mut self, source: &LineSource) -> HashedFile {
        self.add(source, source.size());
        let (fingerprint, sha256) = (self.fingerprint.finish_128(), self.sha256.map(|sha256| sha256.finalize().into()));
        HashedFile { bytes: self.hashed, fingerprint, sha256 }
    }

    /// Adds these bytes if they are the next ones of the file.
    pub(super) fn next(&mut self, offset: u64, bytes: &[u8]) {
        if self.hashed != offset {
            return;
        }
        self.fingerprint.write(bytes);
        self.hashed += bytes.len() as u64;
        if let Some(sha256) = &mut self.sha256 {
            sha256.update(bytes);
        }
    }
}
