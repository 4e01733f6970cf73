//! What a recorder knows about the file that it appends to, by which it notices that the file is not the one that it has written.
//!
//! Other programs may truncate a recording, rotate it, restore an older copy, or put another one in its place. What is appended then
//! would belong to no recording, or to another one. So before each batch the file must have at least the bytes that were in it after
//! the last one, and begin with the same line. An identical copy passes, since editors replace files by copies.

use std::io;

use crate::disk::open::File;
use crate::disk::system::{Metadata, OsError};

/// Number of bytes of the first line that are compared.
const START_BYTES: usize = 64 << 10;

/// Device and inode of a file; `None` if the system has no such numbers.
pub(crate) type FileId = Option<(u64, u64)>;

/// What is known about a file.
#[derive(Debug, Default)]
pub(crate) enum RecordedFile {
    /// Nothing: another recorder has written it.
    #[default]
    Unknown,
    /// The recorder has created it, and written nothing yet.
    Empty,
    /// The recorder has written or examined it.
    Known(Known),
}

/// A file that was written or examined.
#[derive(Debug)]
pub(crate) struct Known {
    id: FileId,
    /// The size of the file then.
    end: u64,
    /// The beginning of the first line. `None` if the file can't be read.
    start: Option<Vec<u8>>,
}

/// The reason a file is not appended to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Replaced {
    /// It is shorter than what was written to it.
    #[error("has lost a part of what was recorded to it")]
    Shorter,
    /// It begins with another line, or is not the same file and can't be read.
    #[error("is not the file that was recorded to")]
    OtherStart,
    /// Another program has appended to it while one record was being written in parts.
    #[error("was appended to by another program in the middle of a record")]
    Interrupted,
}

/// Why a file was not opened for a batch.
#[derive(Debug)]
pub enum OpenError {
    /// A system call failed.
    System(OsError),
    /// The file is not the one that was written.
    Replaced(Replaced),
}

impl From<OsError> for OpenError {
    fn from(error: OsError) -> Self {
        OpenError::System(error)
    }
}

impl RecordedFile {
    /// The offset at which the last line ends that is known to be whole.
    pub(crate) fn end(&self) -> Option<u64> {
        match self {
            RecordedFile::Known(known) => Some(known.end),
            RecordedFile::Unknown | RecordedFile::Empty => None,
        }
    }

    /// Checks the file that is at the path now. Reads it only if its inode or size is another one than before.
    pub(crate) fn check(&self, file: &File, found: &Metadata, readable: bool) -> io::Result<Result<(), Replaced>> {
        match self {
            RecordedFile::Empty if found.is_file() && found.size > 0 => Ok(Err(Replaced::OtherStart)),
            RecordedFile::Unknown | RecordedFile::Empty => Ok(Ok(())),
            RecordedFile::Known(known) => known.check(file, found, readable),
        }
    }

    /// Remembers the file as it is now, before anything was appended to it.
    pub(crate) fn examine(&mut self, file: &File, found: &Metadata) -> io::Result<()> {
        if found.is_file() && found.size > 0 {
            let start = read_start(file, START_BYTES)?;
            *self = RecordedFile::Known(Known { id: found.id(), end: found.size, start: Some(start) });
        }
        Ok(())
    }

    /// Remembers that the file was cut back to this offset.
    pub(crate) fn cut_to(&mut self, end: u64) {
        match self {
            RecordedFile::Known(known) if end > 0 => known.end = end,
            RecordedFile::Unknown if end > 0 => {}
            _ => *self = RecordedFile::Empty,
        }
    }

    /// Remembers the file as it is after `lines` were appended to it. `is_first` if nothing was in it before.
    pub(crate) fn appended(&mut self, id: FileId, end: u64, lines: &[u8], is_first: bool) {
        match self {
            RecordedFile::Known(known) => (known.id, known.end) = (id, end),
            RecordedFile::Unknown | RecordedFile::Empty => {
                let start = is_first.then(|| first_line(lines).to_vec());
                *self = RecordedFile::Known(Known { id, end, start });
            }
        }
    }
}

impl Known {
    fn check(&self, file: &File, found: &Metadata, readable: bool) -> io::Result<Result<(), Replaced>> {
        if !found.is_file() {
            return Ok(Err(Replaced::OtherStart));
        }
        if found.size < self.end {
            return Ok(Err(Replaced::Shorter));
        }
        let is_same = found.id() == self.id;
        if is_same && self.id.is_some() && found.size == self.end {
            return Ok(Ok(()));
        }
        let has_same_start = match &self.start {
            Some(start) if readable => read_start(file, start.len())? == *start,
            _ => is_same,
        };
        Ok(if has_same_start { Ok(()) } else { Err(Replaced::OtherStart) })
    }
}

/// The first line of a file with its `\n`, but at most `limit` bytes.
fn read_start(file: &File, limit: usize) -> io::Result<Vec<u8>> {
    let mut start = Vec::new();
    let mut block = [0; 4096];
    while start.len() < limit {
        let wanted = block.len().min(limit - start.len());
        let count = file.read_at(&mut block[..wanted], start.len() as u64)?;
        start.extend_from_slice(&block[..count]);
        if count == 0 || memchr::memchr(b'\n', &block[..count]).is_some() {
            break;
        }
    }
    let length = first_line(&start).len();
    start.truncate(length);
    Ok(start)
}

/// The first line with its `\n`, but at most as many bytes as are compared.
fn first_line(lines: &[u8]) -> &[u8] {
    let end = memchr::memchr(b'\n', lines).map_or(lines.len(), |newline| newline + 1);
    &lines[..end.min(START_BYTES)]
}
