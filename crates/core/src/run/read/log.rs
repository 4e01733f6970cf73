//! Reads a log of any size: whole lines, a chunk at a time, from any line on.
//!
//! Chunks own their bytes, so that they can be sent to other threads, and return their buffers for reuse. A last line without `\n` is torn
//! and not part of the log; everything before it is. If a power cut has left a hole in a line, everything from that line on is torn as
//! well: data after the hole was never acknowledged, because a flush would have written the hole first.

use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use crate::disk::{InputFile, OsError, read_up_to};
use crate::lines::Lines;
use crate::run::format::{ErrorCode, EventLine, RunError, line_too_long, not_utf8};

/// Number of bytes of a log that are read at a time: a few hundred events.
const CHUNK_BYTES: usize = 256 << 10;

/// Maximum size in bytes of a range that is read through instead of being halved again.
const NARROW_BYTES: u64 = 64 << 10;

/// The smallest unit that a disk writes, in bytes. Sectors of a grown file that were not written contain zeros.
const SECTOR_BYTES: u64 = 512;

/// Number of bytes at the beginning of a line that contain its logical time.
const BEGINNING_BYTES: usize = 48;

/// Whole lines of a log, each with its `\n`.
pub struct Chunk {
    buffer: Vec<u8>,
    length: usize,
    /// The offset of the lines in the log.
    pub offset: u64,
}

impl Chunk {
    /// The lines.
    pub fn bytes(&self) -> &[u8] {
        &self.buffer[..self.length]
    }

    /// The lines as text, up to the first one that is not UTF-8, and the error of that one.
    pub(super) fn text(&self) -> (&str, Option<RunError>) {
        let bytes = self.bytes();
        match std::str::from_utf8(bytes) {
            Ok(text) => (text, None),
            Err(error) => {
                let valid = &bytes[..error.valid_up_to()];
                let start = memchr::memrchr(b'\n', valid).map_or(0, |newline| newline + 1);
                let bad = Lines::new(&bytes[start..]).next().map_or(&[][..], |(_, line)| line);
                (std::str::from_utf8(&bytes[..start]).unwrap_or_default(), Some(not_utf8(bad)))
            }
        }
    }

    /// The lines as text, without `\n`, each with its offset in the chunk. A line that is not UTF-8 is an error, and the last item.
    #[inline]
    pub fn lines(&self) -> impl Iterator<Item = Result<(usize, &str), RunError>> {
        let (text, fault) = self.text();
        // Line ends are always character boundaries.
        let line_at =
            move |(start, line): (usize, &[u8])| (start, text.get(start..start + line.len()).unwrap_or_default());
        Lines::new(text.as_bytes()).map(move |line| Ok(line_at(line))).chain(fault.map(Err))
    }

    /// The buffer, for reuse by [`LogReader::next_chunk`].
    pub fn into_spare(self) -> Vec<u8> {
        self.buffer
    }
}

/// The bytes after the last line of a log, which are not part of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TornEnd {
    /// Number of bytes.
    pub bytes: u64,
    /// Number of complete lines among them, which follow a hole.
    pub lines: u64,
}

impl TornEnd {
    fn add(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        self.lines += memchr::memchr_iter(b'\n', bytes).count() as u64;
    }
}

/// What a log is read from.
pub(crate) trait LogInput: Read {
    /// Passes over the hole at the position, and returns its length: 0 if there is none, or if that is unknown.
    fn pass_hole(&mut self) -> io::Result<u64> {
        Ok(0)
    }
}

impl LogInput for InputFile {
    fn pass_hole(&mut self) -> io::Result<u64> {
        InputFile::pass_hole(self)
    }
}

impl<I: LogInput + ?Sized> LogInput for &mut I {
    fn pass_hole(&mut self) -> io::Result<u64> {
        (**self).pass_hole()
    }
}

impl LogInput for &[u8] {}

impl<B: AsRef<[u8]>> LogInput for io::Cursor<B> {}

/// A file in a container.
impl LogInput for dyn Read + '_ {}

/// Reads a log from front to back.
pub(crate) struct LogReader<R> {
    input: R,
    /// Bytes that were read but not returned: the beginning of a line.
    carry: Vec<u8>,
    /// The offset of `carry` in the log.
    offset: u64,
    /// Lines that begin at this offset or later are not returned: a log that keeps growing would have no end.
    end: u64,
    at_end: bool,
    torn: TornEnd,
}

impl LogReader<InputFile> {
    /// Opens the log at `path`.
    pub(crate) fn open(path: &Path) -> Result<Self, RunError> {
        Self::open_at(path, 0)
    }

    /// Opens the log at `path` at the line that begins at `offset`.
    pub(crate) fn open_at(path: &Path, offset: u64) -> Result<Self, RunError> {
        let mut file = InputFile::open(path)?;
        let end = file.metadata()?.size;
        file.seek(SeekFrom::Start(offset)).map_err(read_failed)?;
        Ok(LogReader { end, ..Self::new(file, offset) })
    }

    /// The current size of the log in bytes.
    pub(crate) fn size(&self) -> Result<u64, RunError> {
        Ok(self.input.metadata()?.size)
    }
}

fn read_failed(error: io::Error) -> RunError {
    OsError::new(&error, "read", None).into()
}

impl<R: LogInput> LogReader<R> {
    /// A reader of a log. The next byte of `input` is the first of a line, at `offset` in the log.
    pub(crate) fn new(input: R, offset: u64) -> Self {
        LogReader { input, carry: Vec::new(), offset, end: u64::MAX, at_end: false, torn: TornEnd::default() }
    }

    /// The offset in the log of the end of the lines returned so far.
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// The torn end of the log. Valid once the end was reached.
    pub(crate) fn torn(&self) -> TornEnd {
        self.torn
    }

    /// The next whole lines, or `None` at the end. `spare` is the buffer of a chunk that is no longer needed, or an empty one.
    pub(crate) fn next_chunk(&mut self, spare: Vec<u8>) -> Result<Option<Chunk>, RunError> {
        if self.offset >= self.end {
            return Ok(None);
        }
        let mut buffer = self.prepare(spare);
        let mut filled = std::mem::take(&mut self.carry).len();
        let mut searched = 0;
        loop {
            filled += self.fill(&mut buffer[filled..])?;
            if let Some(newline) = memchr::memrchr(b'\n', &buffer[searched..filled]) {
                let length = searched + newline + 1;
                if let Some(start) = line_with_hole(&buffer[..length], self.offset) {
                    return self.end_at_hole(buffer, start, filled);
                }
                self.carry.extend_from_slice(&buffer[length..filled]);
                let chunk = Chunk { buffer, length, offset: self.offset };
                self.offset += length as u64;
                return Ok(Some(chunk));
            }
            if filled > EventLine::MAX_BYTES {
                return self.skip_line(&buffer[..filled]);
            }
            if self.at_end {
                self.torn.bytes += filled as u64;
                return Ok(None);
            }
            searched = filled;
            buffer.resize((buffer.len() * 2).min(EventLine::MAX_BYTES + CHUNK_BYTES), 0);
        }
    }

    /// A buffer that begins with the bytes carried over.
    fn prepare(&mut self, spare: Vec<u8>) -> Vec<u8> {
        let mut buffer = spare;
        let wanted = CHUNK_BYTES.max(self.carry.len().next_power_of_two() * 2);
        if buffer.len() > wanted {
            // A single long line must not take memory for the rest of the log.
            buffer.truncate(wanted);
            buffer.shrink_to_fit();
        }
        if buffer.is_empty() {
            // New pages are already zero, and a short log touches few of them.
            buffer = vec![0; wanted];
        } else {
            buffer.resize(wanted, 0);
        }
        buffer[..self.carry.len()].copy_from_slice(&self.carry);
        buffer
    }

    /// Reads until the buffer is full or the log ends.
    fn fill(&mut self, buffer: &mut [u8]) -> Result<usize, RunError> {
        let mut filled = 0;
        while filled < buffer.len() && !self.at_end {
            match self.input.read(&mut buffer[filled..]).map_err(read_failed)? {
                0 => self.at_end = true,
                count => filled += count,
            }
        }
        Ok(filled)
    }

    /// Passes over a hole in the torn end of the log. Returns its length.
    fn pass_hole(&mut self) -> Result<u64, RunError> {
        let length = self.input.pass_hole().map_err(read_failed)?;
        self.torn.bytes += length;
        Ok(length)
    }

    /// Ends the log before the line with a hole, which begins at `length` in the buffer. Everything from there on is torn.
    fn end_at_hole(&mut self, buffer: Vec<u8>, length: usize, filled: usize) -> Result<Option<Chunk>, RunError> {
        self.torn.add(&buffer[length..filled]);
        let mut block = vec![0; CHUNK_BYTES];
        while !self.at_end {
            self.pass_hole()?;
            let count = self.fill(&mut block)?;
            self.torn.add(&block[..count]);
        }
        let chunk = Chunk { buffer, length, offset: self.offset };
        self.offset += length as u64;
        self.end = self.offset;
        Ok(if length > 0 { Some(chunk) } else { None })
    }

    /// Skips a line over the limit without keeping it. It is an error if it is complete and has no hole, and torn otherwise.
    fn skip_line(&mut self, beginning: &[u8]) -> Result<Option<Chunk>, RunError> {
        let mut block = vec![0; CHUNK_BYTES];
        self.torn.add(beginning);
        let mut has_hole = beginning.contains(&0);
        while !self.at_end {
            has_hole |= self.pass_hole()? > 0;
            let count = self.fill(&mut block)?;
            if memchr::memchr(b'\n', &block[..count]).is_some() && !has_hole {
                self.at_end = true;
                return Err(line_too_long(beginning));
            }
            self.torn.add(&block[..count]);
        }
        Ok(None)
    }
}

/// The start of the first line that contains zeros, if these are a hole. Lines never contain zeros when they are written. A hole begins at
/// a sector boundary, or after a line, where the file ended when that sector was last written; and it ends at a sector boundary.
fn line_with_hole(lines: &[u8], offset: u64) -> Option<usize> {
    let hole = memchr::memchr(0, lines)?;
    let end = hole + lines[hole..].iter().position(|byte| *byte != 0)?;
    let line = memchr::memrchr(b'\n', &lines[..hole]).map_or(0, |newline| newline + 1);
    let is_sector = |at: usize| (offset + at as u64).is_multiple_of(SECTOR_BYTES);
    ((line == hole || is_sector(hole)) && is_sector(end)).then_some(line)
}

/// The position of the line with a logical time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Position {
    /// The line begins at this offset.
    At(u64),
    /// The log ends before that time.
    BehindEnd,
    /// The times in the log are not in order or can't be read, so it is damaged.
    Unclear,
}

/// Finds the line of the event at `time` by bisection, because times increase from line to line. Reads little of the log.
pub(crate) fn find(log: &mut (impl LogInput + Seek), time: u64) -> Result<Position, RunError> {
    let mut start = 0;
    let mut end = log.seek(SeekFrom::End(0)).map_err(read_failed)?;
    while end - start > NARROW_BYTES {
        let middle = start + (end - start) / 2;
        match first_line_behind(log, middle, end)? {
            Some((offset, found)) if found <= time => start = offset,
            // No line between `middle` and `end` can be the one.
            _ => end = middle + 1,
        }
    }
    log.seek(SeekFrom::Start(start)).map_err(read_failed)?;
    scan_for(LogReader::new(log, start), time)
}

/// The offset and time of the first line that begins after `from` and before `end`. Returns `None` if there is no such line, or if its time
/// can't be read.
fn first_line_behind(log: &mut (impl LogInput + Seek), from: u64, end: u64) -> Result<Option<(u64, u64)>, RunError> {
    log.seek(SeekFrom::Start(from)).map_err(read_failed)?;
    let mut block = [0; 8 << 10];
    let mut at = from;
    while at < end {
        let count = read_up_to(log, &mut block).map_err(read_failed)?;
        if let Some(newline) = memchr::memchr(b'\n', &block[..count]) {
            let offset = at + newline as u64 + 1;
            log.seek(SeekFrom::Start(offset)).map_err(read_failed)?;
            let count = read_up_to(log, &mut block[..BEGINNING_BYTES]).map_err(read_failed)?;
            return Ok(EventLine::peek_time(&block[..count]).filter(|_| offset < end).map(|time| (offset, time)));
        }
        if count == 0 {
            break;
        }
        at += count as u64 + log.pass_hole().map_err(read_failed)?;
    }
    Ok(None)
}

fn scan_for(mut reader: LogReader<impl LogInput>, time: u64) -> Result<Position, RunError> {
    let mut spare = Vec::new();
    loop {
        let chunk = match reader.next_chunk(std::mem::take(&mut spare)) {
            Ok(Some(chunk)) => chunk,
            Ok(None) => return Ok(Position::BehindEnd),
            Err(error) if error.code == ErrorCode::TooLarge => return Ok(Position::Unclear),
            Err(error) => return Err(error),
        };
        for (at, line) in Lines::new(chunk.bytes()) {
            match EventLine::peek_time(line) {
                Some(found) if found < time => {}
                Some(found) if found == time => return Ok(Position::At(chunk.offset + at as u64)),
                _ => return Ok(Position::Unclear),
            }
        }
        spare = chunk.into_spare();
    }
}

#[cfg(test)]
mod tests;
