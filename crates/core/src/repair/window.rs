//! A part of a text in memory, which moves on with its reader.

use crate::lines::{LineSource, ReadError};

/// Number of bytes that are read at a time.
const CHUNK_BYTES: usize = 256 << 10;

/// Maximum length of a line that is kept whole.
pub(super) const MAX_KEPT_BYTES: usize = if cfg!(test) { 1 << 20 } else { 24 << 20 };

/// A part of a text.
pub(super) struct Window<'s> {
    source: &'s LineSource,
    /// The first `filled` bytes are those of the text from `base` on.
    buffer: Vec<u8>,
    filled: usize,
    base: u64,
    at_end: bool,
}

/// A line, or the beginning of one that is not kept.
pub(super) enum Line<'w> {
    /// The line without its `\n`, and the offset of the next line.
    Whole(&'w [u8], u64),
    TooLong,
    /// The text ends here.
    End,
}

impl<'s> Window<'s> {
    pub(super) fn new(source: &'s LineSource) -> Self {
        Window { source, buffer: Vec::new(), filled: 0, base: 0, at_end: false }
    }

    /// Some bytes from `offset` on; none at the end of the text.
    pub(super) fn bytes(&mut self, offset: u64) -> Result<&[u8], ReadError> {
        if !(self.base..self.base + self.filled as u64).contains(&offset) {
            self.move_to(offset);
            self.fill(CHUNK_BYTES)?;
        }
        let start = (offset - self.base) as usize;
        Ok(&self.buffer[start.min(self.filled)..self.filled])
    }

    /// The line that begins at `offset`.
    pub(super) fn line(&mut self, offset: u64) -> Result<Line<'_>, ReadError> {
        self.bytes(offset)?;
        let mut searched = (offset - self.base) as usize;
        loop {
            let start = (offset - self.base) as usize;
            if let Some(length) = memchr::memchr(b'\n', &self.buffer[searched..self.filled]) {
                let end = searched + length;
                return Ok(Line::Whole(&self.buffer[start..end], self.base + end as u64 + 1));
            }
            let length = self.filled - start;
            if self.at_end {
                let line = &self.buffer[start..self.filled];
                return Ok(if line.is_empty() { Line::End } else { Line::Whole(line, offset + length as u64) });
            }
            if length > MAX_KEPT_BYTES {
                return Ok(Line::TooLong);
            }
            self.move_to(offset);
            searched = self.filled;
            self.fill((length * 2).max(CHUNK_BYTES))?;
        }
    }

    /// Makes `offset` the first byte in memory.
    fn move_to(&mut self, offset: u64) {
        let dropped = offset.checked_sub(self.base).and_then(|dropped| usize::try_from(dropped).ok());
        match dropped.filter(|dropped| *dropped <= self.filled) {
            Some(dropped) => {
                self.buffer.copy_within(dropped..self.filled, 0);
                self.filled -= dropped;
            }
            None => (self.filled, self.at_end) = (0, false),
        }
        self.base = offset;
    }

    /// Reads until `wanted` bytes are there or the text ends.
    fn fill(&mut self, wanted: usize) -> Result<(), ReadError> {
        if self.buffer.len() < wanted {
            self.buffer.reserve_exact(wanted - self.buffer.len());
            self.buffer.resize(wanted, 0);
        }
        while self.filled < wanted && !self.at_end {
            let read = self.source.read_at(&mut self.buffer[self.filled..wanted], self.base + self.filled as u64)?;
            self.at_end = read == 0;
            self.filled += read;
        }
        Ok(())
    }
}
