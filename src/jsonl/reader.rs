//! Reading lines in order, whole lines at a time: those of a file that begin in some range of it.
//!
//! Ranges need not begin or end where lines do. Those that follow each other have each line exactly once, so a
//! file can be read in pieces by several threads.

use std::ops::Range;

#[cfg(not(test))]
use super::MAX_LINE_BYTES;
use super::source::{LineSource, ReadError};
use crate::cancellation::Cancellation;
use crate::disk::os_error::OsError;

/// Shorter in tests, which write lines that are too long.
#[cfg(test)]
const MAX_LINE_BYTES: usize = 12 << 20;

/// How much is read and handed out at a time: so little that it stays in the processor's cache while it is scanned.
const CHUNK_BYTES: usize = 256 << 10;

/// The smallest allocation, also for a file whose size is unknown.
const MIN_BUFFER_BYTES: usize = 1 << 14;

/// How much is read beyond the range, where its last line ends.
const OVERHANG_BYTES: u64 = 1 << 13;

const BOM: &[u8] = b"\xef\xbb\xbf";

/// A line that does not parse, handed out in place of a skipped one.
const PLACEHOLDER: &[u8] = b"\0";

/// Some whole lines of a file.
pub struct Chunk<'a> {
    /// The lines. The file's last may lack its `\n`, and so does the placeholder of a skipped line.
    pub bytes: &'a [u8],
    /// Where in the file they begin.
    pub offset: u64,
    /// Whether these are the file's first lines.
    pub at_start: bool,
    /// Whether this is the file's last line, and has no `\n`: it may still be written to.
    pub unterminated: bool,
}

/// Receives all bytes of the lines that are handed out or skipped, in order.
pub type ByteObserver<'a> = &'a mut dyn FnMut(&[u8]);

/// Reads the lines of one range after the other. The buffer is kept: fresh memory costs more than the reading.
///
/// Reading fails once the work that made the reader is [cancelled](Cancellation), also in the middle of a line.
pub struct LineReader {
    /// The first `filled` bytes are the file's from offset `base` on; of these, `taken` were handed out.
    buffer: Vec<u8>,
    filled: usize,
    taken: usize,
    base: u64,
    /// Lines that begin here or further on belong to another range.
    limit: u64,
    /// The line that is under way at the start of the range belongs to the one before.
    skipping: bool,
    at_end: bool,
    cancellation: Cancellation,
}

impl Default for LineReader {
    fn default() -> Self {
        Self::with(Vec::new(), Cancellation::current())
    }
}

impl LineReader {
    fn with(buffer: Vec<u8>, cancellation: Cancellation) -> Self {
        LineReader { buffer, filled: 0, taken: 0, base: 0, limit: 0, skipping: false, at_end: false, cancellation }
    }

    /// Begins with the lines that begin in `range`. Its start need not be a line's.
    pub fn begin(&mut self, range: Range<u64>) {
        // The byte before tells whether a line begins right at the start.
        let before = range.start.saturating_sub(1);
        let kept = Self::with(std::mem::take(&mut self.buffer), std::mem::take(&mut self.cancellation));
        *self = LineReader { base: before, limit: range.end, skipping: range.start > 0, ..kept };
    }

    /// Where the next line begins: once all lines are handed out, that of the next range.
    pub fn position(&self) -> u64 {
        self.base + self.taken as u64
    }

    /// Whether the file ends at the position.
    pub fn is_at_end(&self) -> bool {
        self.at_end && self.taken == self.filled
    }

    /// Finds where the range's first line begins. `None` if no line begins in the range.
    pub fn first_line(&mut self, source: &LineSource) -> Result<Option<u64>, ReadError> {
        while self.skipping {
            // Again on each call: lines behind the range belong to the reader of the next one.
            if self.at_end || self.position() >= self.limit {
                return Ok(None);
            }
            self.discard_taken();
            self.fill(source)?;
            match memchr::memchr(b'\n', &self.buffer[..self.filled]) {
                Some(newline) => {
                    self.taken = newline + 1;
                    self.skipping = false;
                }
                None => self.taken = self.filled,
            }
        }
        Ok((self.position() < self.limit).then(|| self.position()))
    }

    /// The next whole lines, or `None` when there are no more in the range. `lines_before` is for the error that names a line.
    pub fn next_chunk(
        &mut self,
        source: &LineSource,
        lines_before: u64,
        observe: ByteObserver<'_>,
    ) -> Result<Option<Chunk<'_>>, ReadError> {
        if self.first_line(source)?.is_none() {
            return Ok(None);
        }
        self.discard_taken();
        let mut searched = 0;
        let end = loop {
            if let Some(end) = self.end_of_lines(searched) {
                break end;
            }
            if self.at_end {
                break self.filled;
            }
            searched = self.filled;
            if self.filled >= CHUNK_BYTES && cannot_be_json(&self.buffer[..self.filled]) {
                return self.skip_line(source, observe, |_| Ok(()));
            }
            if self.filled > MAX_LINE_BYTES {
                let line = lines_before + 1;
                let refuse = |torn| if torn { Ok(()) } else { Err(ReadError::LineTooLong { line }) };
                return self.skip_line(source, observe, refuse);
            }
            self.fill(source)?;
        };
        if end == 0 {
            return Ok(None);
        }
        if end > MAX_LINE_BYTES {
            self.refuse_long_lines(end, lines_before)?;
        }
        self.taken = end;
        observe(&self.buffer[..end]);
        let at_start = self.base == 0;
        let skip = if at_start && self.buffer[..end].starts_with(BOM) { BOM.len() } else { 0 };
        let bytes = &self.buffer[skip..end];
        let unterminated = self.at_end && end == self.filled && !bytes.ends_with(b"\n");
        Ok(Some(Chunk { bytes, offset: self.base + skip as u64, at_start, unterminated }))
    }

    /// Where the last whole line ends that is in the buffer and begins in the range. The first `searched` bytes have no newline.
    fn end_of_lines(&self, searched: usize) -> Option<usize> {
        let filled = &self.buffer[..self.filled];
        // The line with the range's last byte is its last line.
        let last = usize::try_from(self.limit - self.base).map_or(usize::MAX, |length| length - 1);
        if last < self.filled {
            let from = last.max(searched);
            if let Some(newline) = memchr::memchr(b'\n', &filled[from..]) {
                return Some(from + newline + 1);
            }
        }
        let until = last.min(self.filled).max(searched);
        memchr::memrchr(b'\n', &filled[searched..until]).map(|newline| searched + newline + 1)
    }

    /// Skips a line without keeping it in memory, and hands out a placeholder: a line whose beginning can't be JSON, since some crashes leave
    /// a file that ends in a gigabyte of zeros, or a torn line that is too long. `allow` decides, given whether the line is torn.
    fn skip_line(
        &mut self,
        source: &LineSource,
        observe: ByteObserver<'_>,
        allow: impl FnOnce(bool) -> Result<(), ReadError>,
    ) -> Result<Option<Chunk<'_>>, ReadError> {
        let offset = self.base;
        loop {
            if let Some(newline) = memchr::memchr(b'\n', &self.buffer[..self.filled]) {
                self.taken = newline + 1;
                break;
            }
            self.taken = self.filled;
            if self.at_end {
                break;
            }
            observe(&self.buffer[..self.filled]);
            self.discard_taken();
            self.fill(source)?;
        }
        observe(&self.buffer[..self.taken]);
        let unterminated = self.at_end && self.buffer[..self.taken].last() != Some(&b'\n');
        allow(unterminated)?;
        Ok(Some(Chunk { bytes: PLACEHOLDER, offset, at_start: offset == 0, unterminated }))
    }

    /// Moves what was not handed out to the front of the buffer.
    fn discard_taken(&mut self) {
        if self.taken > 0 {
            self.buffer.copy_within(self.taken..self.filled, 0);
            self.base += self.taken as u64;
            self.filled -= self.taken;
            self.taken = 0;
        }
    }

    /// Reads until the buffer is full, what is wanted is there or the file ends. A line that fills the buffer makes it grow.
    fn fill(&mut self, source: &LineSource) -> Result<(), ReadError> {
        if self.filled == self.buffer.len() {
            self.grow(source);
        }
        let until = self.wanted().max(self.filled + MIN_BUFFER_BYTES).min(self.buffer.len());
        while self.filled < until {
            self.cancellation.check().map_err(|error| ReadError::System(OsError::new(&error, "read", None)))?;
            let offset = self.base + self.filled as u64;
            match source.read_at(&mut self.buffer[self.filled..until], offset)? {
                0 => {
                    self.at_end = true;
                    break;
                }
                count => self.filled += count,
            }
        }
        Ok(())
    }

    /// How much of the file is needed from `base` on: the rest of the range and of its last line.
    fn wanted(&self) -> usize {
        let in_range = self.limit.saturating_sub(self.base);
        if in_range <= self.filled as u64 {
            return usize::MAX;
        }
        usize::try_from(in_range.saturating_add(OVERHANG_BYTES)).unwrap_or(usize::MAX)
    }

    fn grow(&mut self, source: &LineSource) {
        let wanted = if self.buffer.is_empty() {
            // One byte more than the file has: the read that finds its end needs no second buffer.
            let all = usize::try_from(source.size()).map_or(CHUNK_BYTES, |size| size.saturating_add(1));
            all.clamp(MIN_BUFFER_BYTES, CHUNK_BYTES)
        } else {
            (self.filled * 2).clamp(CHUNK_BYTES, MAX_LINE_BYTES + 1)
        };
        self.buffer.resize(wanted, 0);
    }

    /// An error if one of the lines up to `end` is too long. Only a buffer of this size can hold such a line.
    fn refuse_long_lines(&self, end: usize, lines_before: u64) -> Result<(), ReadError> {
        let lines = super::lines::Lines::new(&self.buffer[..end]);
        for (index, (_, line)) in lines.enumerate() {
            if line.len() > MAX_LINE_BYTES {
                return Err(ReadError::LineTooLong { line: lines_before + index as u64 + 1 });
            }
        }
        Ok(())
    }
}

/// Whether a line that begins so is neither JSON nor blank.
pub fn cannot_be_json(line: &[u8]) -> bool {
    let line = line.strip_prefix(BOM).unwrap_or(line);
    let first = line.iter().find(|byte| !matches!(byte, b' ' | b'\t' | b'\r' | 0x0b | 0x0c));
    first.is_some_and(|byte| {
        byte.is_ascii() && !matches!(byte, b'{' | b'[' | b'"' | b'-' | b'0'..=b'9' | b't' | b'f' | b'n')
    })
}

#[cfg(test)]
mod tests;
