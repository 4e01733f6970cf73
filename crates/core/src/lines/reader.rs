//! Reads whole lines of a file in order: those that begin in a given range.
//!
//! Ranges need not begin or end at the boundaries of lines. Consecutive ranges yield each line exactly once, so several threads can read a
//! file in pieces.

use std::ops::Range;

#[cfg(not(test))]
use super::source::MAX_LINE_BYTES;
use super::source::{LineSource, ReadError};
use crate::disk::{BOM, OsError};
use crate::task::Cancellation;

/// Lower in tests, which write lines that are too long.
#[cfg(test)]
const MAX_LINE_BYTES: usize = 12 << 20;

/// Number of bytes read and returned at a time: few enough to stay in the processor's cache while they are scanned.
const CHUNK_BYTES: usize = 256 << 10;

/// Minimum size of the buffer in bytes, also for a file of unknown size.
const MIN_BUFFER_BYTES: usize = 1 << 14;

/// Size of a line in bytes from which it is examined before more of it is kept: whether it is too long, or has a NUL.
const LOOK_AHEAD_BYTES: usize = if cfg!(test) { 1 << 20 } else { 16 << 20 };

/// Number of bytes read beyond the range at first, to find the end of its last line.
const OVERHANG_BYTES: u64 = 1 << 13;

/// A line that does not parse, returned in place of a skipped line.
const PLACEHOLDER: &[u8] = b"\0";

/// Some whole lines of a file.
pub struct Chunk<'a> {
    /// The lines. The file's last line may lack its `\n`; the placeholder of a skipped line always does.
    pub bytes: &'a [u8],
    /// Their offset in the file.
    pub offset: u64,
    /// Whether these are the file's first lines.
    pub at_start: bool,
    /// Whether this is the file's last line and has no `\n`: it may not be complete yet.
    pub unterminated: bool,
}

/// Reads the lines of one range after another. Reuses its buffer, since fresh memory costs more than reading.
///
/// Reading fails once the work that created the reader is [cancelled](Cancellation), even in the middle of a line.
pub struct LineReader {
    /// The first `filled` bytes are those of the file from offset `base` on; the first `taken` of them were returned.
    buffer: Vec<u8>,
    filled: usize,
    taken: usize,
    base: u64,
    /// Lines that begin at this offset or later belong to another range.
    limit: u64,
    /// The line that contains the start of the range has yet to be skipped: it belongs to the range before.
    skipping: bool,
    at_end: bool,
    skips_long_lines: bool,
    cancellation: Cancellation,
}

impl Default for LineReader {
    fn default() -> Self {
        Self::with(Vec::new(), Cancellation::current())
    }
}

impl LineReader {
    fn with(buffer: Vec<u8>, cancellation: Cancellation) -> Self {
        LineReader {
            buffer,
            filled: 0,
            taken: 0,
            base: 0,
            limit: 0,
            skipping: false,
            at_end: false,
            skips_long_lines: false,
            cancellation,
        }
    }

    /// The same reader, but a line that is too long is skipped like one that can't be JSON, and is not an error.
    pub fn skipping_long_lines(self) -> Self {
        LineReader { skips_long_lines: true, ..self }
    }

    /// Starts with the lines that begin in `range`. The start of the range need not be the beginning of a line.
    pub fn begin(&mut self, range: Range<u64>) {
        // The byte before the range shows whether a line begins right at its start.
        let before = range.start.saturating_sub(1);
        let kept = Self::with(std::mem::take(&mut self.buffer), std::mem::take(&mut self.cancellation));
        *self = LineReader {
            base: before,
            limit: range.end,
            skipping: range.start > 0,
            skips_long_lines: self.skips_long_lines,
            ..kept
        };
    }

    /// Offset of the next line; once all lines are returned, that of the first line of the next range.
    pub fn position(&self) -> u64 {
        self.base + self.taken as u64
    }

    /// Whether the file ends at the position.
    pub fn is_at_end(&self) -> bool {
        self.at_end && self.taken == self.filled
    }

    /// Finds the offset of the first line that begins in the range. Returns `None` if none does.
    pub fn first_line(&mut self, source: &LineSource) -> Result<Option<u64>, ReadError> {
        let mut has_read = false;
        while self.skipping {
            // `skipping` stays set, so that each further call returns `None` too: lines after the range belong to the reader of the next one.
            if self.at_end || self.position() >= self.limit {
                return Ok(None);
            }
            self.discard_taken();
            if std::mem::replace(&mut has_read, true) {
                self.pass_hole(source);
            }
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

    /// Returns the next whole lines, or `None` if the range has no more. `lines_before` is the number of lines before them, for errors that
    /// name a line.
    pub fn next_chunk(&mut self, source: &LineSource, lines_before: u64) -> Result<Option<Chunk<'_>>, ReadError> {
        if self.first_line(source)?.is_none() {
            return Ok(None);
        }
        self.discard_taken();
        let (mut searched, mut has_looked) = (0, false);
        let end = loop {
            if let Some(end) = self.end_of_lines(searched) {
                break end;
            }
            if self.at_end {
                break self.filled;
            }
            if self.filled >= CHUNK_BYTES && cannot_be_json(&self.buffer[..self.filled]) {
                return self.skip_line(source, |_, _| Ok(()));
            }
            if self.filled >= LOOK_AHEAD_BYTES {
                let has_nul = memchr::memchr(0, &self.buffer[searched..self.filled]).is_some();
                if has_nul || self.filled > MAX_LINE_BYTES || (!has_looked && self.will_be_refused(source)?) {
                    let (line, is_allowed) = (lines_before + 1, self.skips_long_lines);
                    return self.skip_line(source, |torn, length| {
                        if torn || is_allowed || length <= MAX_LINE_BYTES as u64 {
                            Ok(())
                        } else {
                            Err(ReadError::LineTooLong { line })
                        }
                    });
                }
                has_looked = true;
            }
            searched = self.filled;
            self.fill(source)?;
        };
        if end == 0 {
            return Ok(None);
        }
        if end > MAX_LINE_BYTES {
            self.refuse_long_lines(end, lines_before)?;
        }
        self.taken = end;
        let at_start = self.base == 0;
        let skip = if at_start && self.buffer[..end].starts_with(BOM) { BOM.len() } else { 0 };
        let bytes = &self.buffer[skip..end];
        let unterminated = self.at_end && end == self.filled && !bytes.ends_with(b"\n");
        Ok(Some(Chunk { bytes, offset: self.base + skip as u64, at_start, unterminated }))
    }

    /// The end, in the buffer, of the last whole line there that begins in the range. The first `searched` bytes contain no newline.
    fn end_of_lines(&self, searched: usize) -> Option<usize> {
        let filled = &self.buffer[..self.filled];
        // The line that contains the last byte of the range is its last line.
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

    /// Skips a line without keeping it in memory, and returns a placeholder. For a line that can't be JSON, since some crashes leave a file that
    /// ends in a gigabyte of zeros, and for a line that is too long. `allow` is called with whether the line is torn, and its length without `\n`;
    /// its error is returned.
    fn skip_line(
        &mut self,
        source: &LineSource,
        allow: impl FnOnce(bool, u64) -> Result<(), ReadError>,
    ) -> Result<Option<Chunk<'_>>, ReadError> {
        let offset = self.base;
        let unterminated = self.pass_line(source)?;
        allow(unterminated, self.position() - offset - u64::from(!unterminated))?;
        Ok(Some(Chunk { bytes: PLACEHOLDER, offset, at_start: offset == 0, unterminated }))
    }

    /// Passes a line piece by piece. Returns whether it is torn.
    fn pass_line(&mut self, source: &LineSource) -> Result<bool, ReadError> {
        loop {
            let newline = memchr::memchr(b'\n', &self.buffer[..self.filled]);
            self.taken = newline.map_or(self.filled, |newline| newline + 1);
            if newline.is_some() || self.at_end {
                return Ok(newline.is_none());
            }
            self.pass_hole(source);
            self.fill(source)?;
        }
    }

    /// Whether the line that begins at `base` is too long, or has a NUL further on. Reads on without keeping anything.
    fn will_be_refused(&mut self, source: &LineSource) -> Result<bool, ReadError> {
        let limit = self.base.saturating_add(MAX_LINE_BYTES as u64);
        if source.size() <= limit {
            return Ok(false);
        }
        let (mut at, mut block) = (self.base + self.filled as u64, vec![0; CHUNK_BYTES]);
        while at <= limit {
            self.check_cancellation()?;
            let count = source.read_at(&mut block, at)?;
            match memchr::memchr2(b'\n', 0, &block[..count]) {
                Some(end) => return Ok(block[end] == 0 || at + end as u64 > limit),
                None if count == 0 => return Ok(false),
                None => at += count as u64,
            }
        }
        Ok(true)
    }

    /// Discards the returned bytes, which must be all. Passes over the hole behind them, if there is one.
    fn pass_hole(&mut self, source: &LineSource) {
        self.discard_taken();
        self.base = source.next_data(self.base);
    }

    /// Discards the returned bytes: moves the others to the front of the buffer.
    fn discard_taken(&mut self) {
        if self.taken > 0 {
            self.buffer.copy_within(self.taken..self.filled, 0);
            self.base += self.taken as u64;
            self.filled -= self.taken;
            self.taken = 0;
        }
    }

    /// Reads until the buffer is full, the wanted bytes are read, or the file ends. Enlarges the buffer if a line fills it.
    fn fill(&mut self, source: &LineSource) -> Result<(), ReadError> {
        if self.filled == self.buffer.len() {
            self.grow(source);
        }
        let until = self.wanted().max(self.filled + MIN_BUFFER_BYTES).min(self.buffer.len());
        while self.filled < until {
            self.check_cancellation()?;
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

    fn check_cancellation(&self) -> Result<(), ReadError> {
        self.cancellation.check().map_err(|error| ReadError::System(OsError::new(&error, "read", None)))
    }

    /// Number of bytes needed from `base` on: the rest of the range and of its last line.
    fn wanted(&self) -> usize {
        let in_range = self.limit.saturating_sub(self.base);
        if in_range <= self.filled as u64 {
            return usize::MAX;
        }
        usize::try_from(in_range.saturating_add(OVERHANG_BYTES)).unwrap_or(usize::MAX)
    }

    fn grow(&mut self, source: &LineSource) {
        let wanted = if self.buffer.is_empty() {
            // One byte more than the file's size, so that the read that detects its end needs no second buffer.
            let all = usize::try_from(source.size()).map_or(CHUNK_BYTES, |size| size.saturating_add(1));
            all.clamp(MIN_BUFFER_BYTES, CHUNK_BYTES)
        } else {
            (self.filled * 2).clamp(CHUNK_BYTES, MAX_LINE_BYTES + 1)
        };
        self.buffer.resize(wanted, 0);
    }

    /// Returns an error if one of the lines up to `end` is too long. Only called if the buffer is large enough to hold such a line.
    fn refuse_long_lines(&self, end: usize, lines_before: u64) -> Result<(), ReadError> {
        let lines = crate::lines::lines::Lines::new(&self.buffer[..end]);
        for (index, (_, line)) in lines.enumerate() {
            if line.len() > MAX_LINE_BYTES {
                return Err(ReadError::LineTooLong { line: lines_before + index as u64 + 1 });
            }
        }
        Ok(())
    }
}

/// Whether a line with this beginning is neither JSON nor blank.
#[inline]
pub(crate) fn cannot_be_json(line: &[u8]) -> bool {
    let line = line.strip_prefix(BOM).unwrap_or(line);
    let first = line.iter().find(|byte| !matches!(byte, b' ' | b'\t' | b'\r' | 0x0b | 0x0c));
    first.is_some_and(|byte| {
        byte.is_ascii() && !matches!(byte, b'{' | b'[' | b'"' | b'-' | b'0'..=b'9' | b't' | b'f' | b'n')
    })
}

#[cfg(test)]
mod tests;
