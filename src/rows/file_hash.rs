//! The hash of a file that is read in parts.

use crate::hash::Hash;
use crate::hash_batch::stream::HashStream;
use crate::jsonl::source::LineSource;

/// Maximum number of bytes read at a time.
const READ_BYTES: u64 = 256 << 10;

/// The hash of a file, computed from its beginning on.
#[derive(Default)]
pub struct FileHash {
    stream: HashStream,
    hashed: u64,
    buffer: Vec<u8>,
}

impl FileHash {
    /// Adds the bytes up to offset `end`.
    pub fn add(&mut self, source: &LineSource, end: u64) {
        let wanted = end.saturating_sub(self.hashed).min(READ_BYTES) as usize;
        self.buffer.resize(wanted.max(self.buffer.len()), 0);
        while self.hashed < end {
            let wanted = usize::try_from(end - self.hashed).unwrap_or(usize::MAX).min(self.buffer.len());
            match source.read_at(&mut self.buffer[..wanted], self.hashed) {
                Ok(count) if count > 0 => {
                    self.stream.append(&self.buffer[..count]);
                    self.hashed += count as u64;
                }
                // The reader of the file's lines reports the error.
                _ => return,
            }
        }
    }

    /// Adds the rest of the file, and returns its size and its hash.
    pub fn finish(mut self, source: &LineSource) -> (u64, Hash) {
        self.add(source, source.size());
        (self.hashed, self.stream.finish())
    }

    /// The stream to which the caller must append these bytes; `None` if they are not the next ones of the
    /// file.
    pub(super) fn next(&mut self, offset: u64, bytes: &[u8]) -> Option<&mut HashStream> {
        if self.hashed != offset {
            return None;
        }
        self.hashed += bytes.len() as u64;
        Some(&mut self.stream)
    }
}
