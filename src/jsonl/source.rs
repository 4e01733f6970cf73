//! Reading a file of lines: in order, whole lines at a time, and later any part of it again.
//!
//! A small file is read once and kept; of a large one only a buffer is in memory, and what is wanted later is
//! read again. Never through a memory map: a file that is cut while it is mapped kills the process.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use super::MAX_LINE_BYTES;
use crate::os_error::OsError;

/// How much of a large file is read and scanned at a time: so little that what is found can go on its way while the next is read.
const CHUNK_BYTES: usize = 256 << 10;

/// A smaller file is read at once and kept.
const KEPT_BYTES: u64 = 1 << 20;

/// The least that is allocated for a file, also for one whose size the system does not tell.
const MIN_BUFFER_BYTES: usize = 1 << 14;

const BOM: &[u8] = b"\xef\xbb\xbf";

/// Why a file could not be read on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The system refused.
    #[error("{0}")]
    System(OsError),
    /// A line is longer than any JavaScript string.
    #[error("line {line} is longer than {MAX_LINE_BYTES} bytes, more than a JavaScript string can hold")]
    LineTooLong {
        /// The physical line, from 1.
        line: u64,
    },
    /// What was scanned is no longer there.
    #[error("the file was changed while it was being read")]
    Changed,
}

/// An open file of lines.
pub struct Source {
    /// `None` for a pipe or a device: what it gives, it gives once, so it is read whole into the buffer.
    file: Option<File>,
    size: u64,
    /// The first `filled` bytes are the file's from offset `base` on; of these, `taken` were handed out.
    buffer: Vec<u8>,
    filled: usize,
    taken: usize,
    base: u64,
    at_end: bool,
}

/// Some whole lines of a file.
pub struct Chunk<'a> {
    /// The lines. The file's last may lack its `\n`, and so does what stands in for a line that was passed over.
    pub bytes: &'a [u8],
    /// Where in the file they begin.
    pub offset: u64,
    /// Whether these are the file's first lines.
    pub at_start: bool,
}

impl Source {
    /// Opens `path` for reading.
    pub fn open(path: &Path) -> Result<Self, ReadError> {
        let file = File::open(path).map_err(|error| failed(&error, "open", Some(path)))?;
        let metadata = file.metadata().map_err(|error| failed(&error, "fstat", None))?;
        if metadata.is_file() {
            return Ok(Self::over(Some(file), metadata.len(), Vec::new(), false));
        }
        let mut content = Vec::new();
        { file }.read_to_end(&mut content).map_err(|error| failed(&error, "read", None))?;
        Ok(Self::over(None, content.len() as u64, content, true))
    }

    fn over(file: Option<File>, size: u64, buffer: Vec<u8>, at_end: bool) -> Self {
        let filled = buffer.len();
        Source { file, size, buffer, filled, taken: 0, base: 0, at_end }
    }

    /// Bytes in the file when it was opened; 0 where the system does not tell (`/proc`).
    pub fn size(&self) -> u64 {
        self.size
    }

    /// How many bytes of the file have been handed out in chunks.
    pub fn scanned(&self) -> u64 {
        self.base + self.taken as u64
    }

    /// The next whole lines, or `None` at the end. `lines_before` is for the error that names a line.
    pub fn next_chunk(&mut self, lines_before: u64) -> Result<Option<Chunk<'_>>, ReadError> {
        if self.at_end && self.taken == self.filled {
            return Ok(None);
        }
        self.discard_taken();
        let mut searched = 0;
        let end = loop {
            if self.at_end {
                break self.filled;
            }
            if let Some(newline) = memchr::memrchr(b'\n', &self.buffer[searched..self.filled]) {
                break searched + newline + 1;
            }
            searched = self.filled;
            if self.filled >= CHUNK_BYTES && is_hopeless(&self.buffer[..self.filled]) {
                return self.pass_over_line();
            }
            self.fill(lines_before)?;
        };
        if self.at_end && end > MAX_LINE_BYTES && self.file.is_none() {
            self.refuse_long_lines(lines_before)?;
        }
        self.taken = end;
        if end == 0 {
            return Ok(None);
        }
        let at_start = self.base == 0;
        let skip = if at_start && self.buffer[..end].starts_with(BOM) { BOM.len() } else { 0 };
        Ok(Some(Chunk { bytes: &self.buffer[skip..end], offset: self.base + skip as u64, at_start }))
    }

    /// Passes over a line that can't be JSON however it goes on, without holding it: what some crashes leave behind is a file that
    /// ends in a gigabyte of zeros. A stand-in is handed out for it.
    fn pass_over_line(&mut self) -> Result<Option<Chunk<'_>>, ReadError> {
        let offset = self.base;
        loop {
            if let Some(newline) = memchr::memchr(b'\n', &self.buffer[..self.filled]) {
                self.taken = newline + 1;
                break;
            }
            if self.at_end {
                self.taken = self.filled;
                break;
            }
            self.base += self.filled as u64;
            self.filled = 0;
            self.fill(0)?;
        }
        Ok(Some(Chunk { bytes: STAND_IN, offset, at_start: offset == 0 }))
    }

    /// The `length` bytes at `offset`, which were handed out before; read into `scratch` if they are no
    /// longer in memory.
    pub fn bytes_at<'a>(&'a self, offset: u64, length: usize, scratch: &'a mut Vec<u8>) -> Result<&'a [u8], ReadError> {
        match &self.file {
            Some(file) if !self.is_whole_in_memory() => {
                scratch.resize(length, 0);
                read_exact_at(file, scratch, offset).map_err(|error| match error.kind() {
                    io::ErrorKind::UnexpectedEof => ReadError::Changed,
                    _ => failed(&error, "read", None),
                })?;
                Ok(scratch)
            }
            _ => {
                let start = offset as usize;
                self.buffer.get(start..start + length).ok_or(ReadError::Changed)
            }
        }
    }

    fn is_whole_in_memory(&self) -> bool {
        self.base == 0 && self.at_end
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

    /// Reads until the buffer is full or the file ends. A line that fills the buffer makes it grow.
    fn fill(&mut self, lines_before: u64) -> Result<(), ReadError> {
        if self.filled > MAX_LINE_BYTES {
            return Err(ReadError::LineTooLong { line: lines_before + 1 });
        }
        let Some(file) = &mut self.file else { return Ok(()) };
        if self.filled == self.buffer.len() {
            let wanted = if self.buffer.is_empty() {
                // One byte more than the file has: the read that finds its end needs no second buffer.
                if self.size < KEPT_BYTES { MIN_BUFFER_BYTES.max(self.size as usize + 1) } else { CHUNK_BYTES }
            } else {
                (self.filled * 2).clamp(CHUNK_BYTES, MAX_LINE_BYTES + 1)
            };
            self.buffer.resize(wanted, 0);
        }
        while self.filled < self.buffer.len() {
            match file.read(&mut self.buffer[self.filled..]) {
                Ok(0) => {
                    self.at_end = true;
                    break;
                }
                Ok(count) => self.filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(failed(&error, "read", None)),
            }
        }
        Ok(())
    }

    /// What came through a pipe is in memory already; its long lines are refused all the same.
    fn refuse_long_lines(&self, lines_before: u64) -> Result<(), ReadError> {
        let lines = super::lines::Lines::new(&self.buffer[..self.filled]);
        for (index, (_, line)) in lines.enumerate() {
            if line.len() > MAX_LINE_BYTES {
                return Err(ReadError::LineTooLong { line: lines_before + index as u64 + 1 });
            }
        }
        Ok(())
    }
}

/// A line that does not parse.
const STAND_IN: &[u8] = b"\0";

/// Whether a line that begins so is neither JSON nor blank.
fn is_hopeless(line: &[u8]) -> bool {
    let line = line.strip_prefix(BOM).unwrap_or(line);
    let first = line.iter().find(|byte| !matches!(byte, b' ' | b'\t' | b'\r' | 0x0b | 0x0c));
    first.is_some_and(|byte| {
        byte.is_ascii() && !matches!(byte, b'{' | b'[' | b'"' | b'-' | b'0'..=b'9' | b't' | b'f' | b'n')
    })
}

fn failed(error: &io::Error, syscall: &'static str, path: Option<&Path>) -> ReadError {
    ReadError::System(OsError::new(error, syscall, path))
}

#[cfg(unix)]
fn read_exact_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, buffer, offset)
}

#[cfg(windows)]
fn read_exact_at(file: &File, mut buffer: &mut [u8], mut offset: u64) -> io::Result<()> {
    while !buffer.is_empty() {
        match std::os::windows::fs::FileExt::seek_read(file, buffer, offset)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            count => {
                buffer = &mut buffer[count..];
                offset += count as u64;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn file_of(content: &[u8]) -> tempfile::NamedTempFile {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(content).unwrap();
        file
    }

    /// Everything that is handed out, checked for being whole lines and for its offsets.
    fn read_through(content: &[u8]) -> Vec<u8> {
        let file = file_of(content);
        let mut source = Source::open(file.path()).unwrap();
        let mut seen = Vec::new();
        while let Some(chunk) = source.next_chunk(0).unwrap() {
            assert_eq!(chunk.at_start, seen.is_empty());
            assert!(chunk.bytes.ends_with(b"\n") || chunk.offset as usize + chunk.bytes.len() == content.len());
            assert_eq!(&content[chunk.offset as usize..][..chunk.bytes.len()], chunk.bytes);
            seen.extend_from_slice(chunk.bytes);
        }
        assert!(source.next_chunk(0).unwrap().is_none());
        assert_eq!(source.scanned(), content.len() as u64);
        let mut scratch = Vec::new();
        assert_eq!(source.bytes_at(0, content.len(), &mut scratch).unwrap(), content);
        seen
    }

    #[test]
    fn every_byte_is_handed_out_once_in_whole_lines() {
        let line = |length: usize| [vec![b'{'; length], vec![b'\n']].concat();
        let many: Vec<u8> = (0..3000).flat_map(|n| line(n % 1500)).collect();
        let c = CHUNK_BYTES;
        let across: Vec<u8> = [line(c - 1), line(c), line(6 * c), line(5), b"tail".to_vec()].concat();
        for content in
            [b"".to_vec(), b"\n".to_vec(), b"a".to_vec(), many, across, line(CHUNK_BYTES - 2), line(CHUNK_BYTES - 1)]
        {
            assert!(read_through(&content) == content, "{} bytes", content.len());
        }
    }

    #[test]
    fn a_line_that_is_no_json_is_passed_over_in_bounded_memory() {
        let zeros = vec![0; 5 * CHUNK_BYTES + 17];
        for (tail, lines) in [(&b""[..], 2), (b"\n", 2), (b"\nnext\nlast", 4)] {
            let content = [b"first\n", &zeros[..], tail].concat();
            let file = file_of(&content);
            let mut source = Source::open(file.path()).unwrap();
            let (mut seen, mut count) = (Vec::new(), 0);
            while let Some(chunk) = source.next_chunk(count).unwrap() {
                let at = chunk.offset as usize;
                if chunk.bytes != STAND_IN {
                    assert_eq!(&content[at..at + chunk.bytes.len()], chunk.bytes);
                }
                count += super::super::lines::Lines::new(chunk.bytes).count() as u64;
                seen.extend_from_slice(chunk.bytes);
            }
            assert_eq!(seen, [b"first\n", STAND_IN, tail.strip_prefix(b"\n").unwrap_or(tail)].concat());
            assert_eq!((count, source.scanned()), (lines, content.len() as u64));
            assert!(source.buffer.len() <= 2 * CHUNK_BYTES, "{}", source.buffer.len());
        }
    }

    #[test]
    fn a_bom_is_dropped_at_the_start_only() {
        let file = file_of(b"\xef\xbb\xbfa\n\xef\xbb\xbfb\n");
        let mut source = Source::open(file.path()).unwrap();
        let chunk = source.next_chunk(0).unwrap().unwrap();
        assert_eq!((chunk.bytes, chunk.offset), (&b"a\n\xef\xbb\xbfb\n"[..], 3));
    }

    #[test]
    fn a_file_that_was_cut_is_said_to_have_changed() {
        let content = b"0123456789\n".repeat(KEPT_BYTES as usize / 5);
        let file = file_of(&content);
        let mut source = Source::open(file.path()).unwrap();
        while source.next_chunk(0).unwrap().is_some() {}
        file.as_file().set_len(10).unwrap();
        assert_eq!(source.bytes_at(100, 10, &mut Vec::new()), Err(ReadError::Changed));
    }

    #[cfg(unix)]
    #[test]
    fn what_the_system_refuses_is_said_in_nodes_words() {
        let message = |path: &str| Source::open(Path::new(path)).err().unwrap().to_string();
        assert_eq!(message("/no/such/file"), "ENOENT: no such file or directory, open '/no/such/file'");
        assert_eq!(message("/"), "EISDIR: illegal operation on a directory, read");
    }
}
