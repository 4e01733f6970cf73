//! The hash of a file that is read part by part.

use crate::hash::Hash;
use crate::hash_batch::stream::HashStream;
use crate::jsonl::source::LineSource;

/// At most so much is read at a time.
const READ_BYTES: u64 = 256 << 10;

/// The hash of a file, from its beginning on.
#[derive(Default)]
pub struct FileHash {
    stream: HashStream,
    hashed: u64,
    buffer: Vec<u8>,
}

impl FileHash {
    /// Adds the bytes before `end`.
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
                // The reader of its lines says what is wrong.
                _ => return,
            }
        }
    }

    /// The size and the hash of the file, all of which is hashed then.
    pub fn finish(mut self, source: &LineSource) -> (u64, Hash) {
        self.add(source, source.size());
        (self.hashed, self.stream.finish())
    }

    /// The stream, if these bytes of the file are the next ones. They must be appended to it.
    pub(super) fn next(&mut self, offset: u64, bytes: &[u8]) -> Option<&mut HashStream> {
        if self.hashed != offset {
            return None;
        }
        self.hashed += bytes.len() as u64;
        Some(&mut self.stream)
    }
}
